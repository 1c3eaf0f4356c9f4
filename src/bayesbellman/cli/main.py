"""Entry point of ``bbo``: parse, run the command, turn what goes wrong into one clear line and an exit code."""

import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, NoReturn, Protocol

from bayesbellman._version import __version__
from bayesbellman.cli.saying import say

EXTRAS = {"tyro": "cli", "rich": "cli", "matplotlib": "plots", "pyarrow": "arrow", "gymnasium": "gym", "PIL": "plots"}
"""Which extra installs a package that the core does not need."""


CODES = {"InUse": 73, "Diverged": 3}
"""Exit codes of errors that have their own; known by name, so that `--help` need not import them"""


FULL = ("RESOURCE_EXHAUSTED", "Out of memory")
"""How JAX says that a device has no room left"""
SMALLER = (
    "; what a training takes grows with --buffer-size, --ensemble-size, --batch-size, --hidden and, of seeds,"
    " --side-by-side: make one of them smaller"
)


class Command(Protocol):
    def run(self) -> None: ...


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``bbo``.

    Exit codes: 0 done, 1 output closed, 2 bad input, 3 a check, a job or a training fell short, 73 folder in use,
    130 interrupted, 143 terminated.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # an ASCII terminal shows '?', and nothing crashes
    warnings.showwarning = _show_warning
    try:
        _parse(sys.argv[1:] if arguments is None else list(arguments)).run()
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        _let_go_of(1)
        sys.exit(1)
    except KeyboardInterrupt:
        _fail("interrupted", 130)
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").split(".")[0])
        if extra is None and error.name is None:  # raised by us, in words: an environment's package
            _fail(str(error), 2)
        if extra is None:
            raise
        _fail(f"this needs {error.name}, which is not installed: pip install 'bayesbellman[{extra}]'", 2)
    except (ValueError, TypeError, OSError, MemoryError, RuntimeError) as error:
        if os.environ.get("BBO_TRACEBACK"):
            raise
        words = str(error) or type(error).__name__
        full = any(sign in words for sign in FULL) and not isinstance(error, MemoryError)  # ours say it themselves
        _fail(words.rstrip(".") + SMALLER if full else words, CODES.get(type(error).__name__, 2))
    except Exception as error:
        if type(error).__name__ != "Stopped":  # known by its name: `--help` must not wait for its module
            raise
        _fail(str(error), error.exit_code)  # pyright: ignore[reportAttributeAccessIssue]
    finally:
        try:
            if sys.stderr is not None:
                sys.stderr.flush()
        except OSError:
            _let_go_of(2)


def _let_go_of(stream: int) -> None:
    """Its reader (`| head`) has gone: nothing more can be said to it, not even by the interpreter at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)


def _parse(arguments: list[str]) -> Command:
    if arguments in (["--version"], ["-V"]):
        return _Say(f"bayesbellman {__version__}")
    if arguments[:1] == ["train"]:
        _refuse_other_names(arguments[1:])
    import tyro

    from bayesbellman.cli.check import Check
    from bayesbellman.cli.compare import Compare
    from bayesbellman.cli.demo import Demo
    from bayesbellman.cli.demo_linear import DemoLinear
    from bayesbellman.cli.doctor import Doctor
    from bayesbellman.cli.evaluate import Evaluate
    from bayesbellman.cli.evaluate_linear import EvaluateLinear
    from bayesbellman.cli.options import RULES
    from bayesbellman.cli.report import Report
    from bayesbellman.cli.reproduce import Reproduce
    from bayesbellman.cli.runs import Runs
    from bayesbellman.cli.train import Train
    from bayesbellman.cli.tune import Tune

    commands = (
        Annotated[Demo, tyro.conf.subcommand("demo")]
        | Annotated[DemoLinear, tyro.conf.subcommand("demo-linear")]
        | Annotated[EvaluateLinear, tyro.conf.subcommand("evaluate-linear")]
        | Annotated[Train, tyro.conf.subcommand("train")]
        | Annotated[Evaluate, tyro.conf.subcommand("evaluate")]
        | Annotated[Runs, tyro.conf.subcommand("runs")]
        | Annotated[Compare, tyro.conf.subcommand("compare")]
        | Annotated[Doctor, tyro.conf.subcommand("doctor")]
        | Annotated[Report, tyro.conf.subcommand("report")]
        | Annotated[Reproduce, tyro.conf.subcommand("reproduce")]
        | Annotated[Check, tyro.conf.subcommand("check")]
        | Annotated[Tune, tyro.conf.subcommand("tune")]
    )
    description = f"Bayesian Bellman operators, version {__version__}. `bbo COMMAND --help` says what a command takes."
    with RULES:
        return tyro.cli(
            commands,  # pyright: ignore[reportArgumentType, reportCallIssue]
            prog="bbo",
            description=description,
            args=arguments,
            config=(tyro.conf.OmitArgPrefixes, tyro.conf.FlagCreatePairsOff, tyro.conf.DisallowNone),
        )


def _refuse_other_names(arguments: list[str]) -> None:
    """Settings as other libraries call them, for which tyro would suggest options of other commands."""
    from bayesbellman.doors.other_names import CALLED_HERE

    for word in arguments:
        theirs = word.partition("=")[0]
        ours = CALLED_HERE.get(theirs.removeprefix("--").replace("-", "_"))
        if ours is not None and word.startswith("--"):
            raise ValueError(f"bbo train has no option {theirs}; it is called --{ours.replace('_', '-')} here")


class _Say:
    def __init__(self, text: str) -> None:
        self.text = text

    def run(self) -> None:
        print(self.text)


def _show_warning(message: Warning | str, category: type[Warning], *rest: object) -> None:
    say(f"warning: {message}")


def _fail(message: str, code: int) -> NoReturn:
    say(f"error: {message}")
    sys.exit(code)
