"""What the library warns of, and how. Errors are the built-in ones where one fits."""

import sys
import warnings
from pathlib import Path
from typing import Any

PACKAGE = str(Path(__file__).parents[1])


class RankDeficientWarning(UserWarning):
    """The data do not determine every coefficient; the answer given is the one of least norm."""


class JitterWarning(UserWarning):
    """A covariance was singular to rounding; the stated amount was added to its diagonal."""


class NotFittedError(ValueError, AttributeError):
    """An estimator was asked for something it learns from data before it was given any."""


class Diverged(RuntimeError):
    """Learning produced numbers that are not finite; what was learnt before them is kept."""

    culprit: Any = None
    """The update that did it, with its batch (`bayesbellman.control.culprit.Culprit`), if it was found"""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's code that called into the package, however deep inside we are."""
    level, frame = 1, sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
