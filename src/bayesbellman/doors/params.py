"""scikit-learn's conventions for an estimator's parameters: they are the constructor's arguments, by name."""

import inspect
from typing import Any, TypeVar

import numpy as np

Estimator = TypeVar("Estimator", bound="Parameters")


class Parameters:
    """``get_params``, ``set_params`` and a short ``repr``, for classes that keep each argument under its own name."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments by name, as they were given."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self: Estimator, **params: Any) -> Estimator:
        """Change constructor arguments; a fitted estimator keeps its fit until the next `fit`."""
        known = self.get_params()
        for name in params:
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}")
        type(self)(**{**known, **params})  # refuses bad values before any is taken over
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        given = self.get_params().items()
        changed = (f"{k}={v!r}" for k, v in given if not np.array_equal(v, defaults[k].default))
        return f"{type(self).__name__}({', '.join(changed)})"
