"""Kinds of options that commands share."""

from typing import Annotated, TypeVar

import tyro

T = TypeVar("T")
OrNone = Annotated[T | None, tyro.conf.arg(help_behavior_hint="")]
"""An option that is None if it is left out. Its words say what that means, "[default: ...]"; tyro's "(default: None)"
after them would say that there is none."""
