"""Kinds of options that commands share."""

from pathlib import Path
from typing import Annotated, TypeVar

from tyro.conf import FlagConversionOff, Positional, arg
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

T = TypeVar("T")
OrNone = Annotated[T | None, arg(help_behavior_hint="")]
"""An option that is None if it is left out. Its words say what that means, "[default: ...]"; tyro's "(default: None)"
after them would say that there is none."""
YesOrNo = Annotated[bool | None, FlagConversionOff, arg(help_behavior_hint="", metavar="{True,False}")]
"""One with a value, of which either may be what is chosen if it is left out"""
Flag = Annotated[bool, arg(help_behavior_hint="")]
"""One without a value; left out, it is not so"""
Names = Annotated[tuple[str, ...] | None, arg(help_behavior_hint="", metavar="NAME [NAME ...]")]
RunFolders = Annotated[tuple[Path, ...], Positional, arg(metavar="RUN [RUN ...]", help_behavior_hint="(required)")]
DataFiles = Annotated[tuple[Path, ...], Positional, arg(metavar="DATA [DATA ...]", help_behavior_hint="(required)")]
AnyFolders = Annotated[tuple[Path, ...], Positional, arg(metavar="[DIR ...]", help_behavior_hint="")]

RULES = ConstructorRegistry()
"""How values of options are read, where tyro's own way is not enough"""


def _whole(word: str) -> int:
    """Also of ``1e5``, as in Python's `learn`."""
    try:
        return int(word)
    except ValueError:
        pass
    try:
        number = float(word)
    except ValueError:
        number = float("nan")
    if not number.is_integer():  # nor are nan and infinity
        raise ValueError(f"{word!r} is no whole number")
    return int(number)


@RULES.primitive_rule
def _whole_numbers(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[int] | None:
    if info.type is not int:
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="INT",
        instance_from_str=lambda words: _whole(words[0]),
        is_instance=lambda value: type(value) is int,
        str_from_instance=lambda value: [str(value)],
    )


def _widths(words: list[str]) -> tuple[int, ...]:
    line = " ".join(words)
    if "," in line:
        apart = " ".join(line.translate(str.maketrans(",()[]", " " * 5)).split())
        raise ValueError(f"widths are written without commas: --hidden {apart}")
    return tuple(_whole(word) for word in words)


Widths = Annotated[
    OrNone[tuple[int, ...]],
    PrimitiveConstructorSpec(
        nargs="*",
        metavar="INT [INT ...]",
        instance_from_str=_widths,
        is_instance=lambda value: value is None or isinstance(value, tuple),
        str_from_instance=lambda value: ["None"] if value is None else [str(width) for width in value],
    ),
]
"""Of layers; None if left out"""
