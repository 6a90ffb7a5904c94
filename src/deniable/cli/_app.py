"""The application, with the parts that all commands share: errors on one line, interruption, progress, outputs."""

from __future__ import annotations

import codecs
import contextlib
import errno
import functools
import importlib
import io
import json
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_command_from_info

from deniable.core.extensions import extensions
from deniable.errors import DeniableError, InvalidParameterError, OutputError, quoted

if TYPE_CHECKING:
    from rich.console import Console

    from deniable.core.result import Result
    from deniable.report import Page

Parameters = ParamSpec("Parameters")
Report = Callable[[int, int | None], None]
"""Callback of the library with (records done, records in all or None)."""

BAD_INPUT, INTERRUPTED = 2, 130
_QUIET_SECONDS = 1.0

COMMANDS: Mapping[str, tuple[str, str]] = {
    "schema": ("schema", "Draft the public list of questions and answers."),
    "collection": ("collection", "Create a collection: the questions and the mechanism."),
    "form": ("form", "Import a questionnaire made with XLSForm."),
    "card": ("card", "Print the cards of a design for an interview."),
    "inspect": ("inspect", "Show what a collection asks and guarantees."),
    "randomize": ("randomize", "Turn true answers into randomised reports."),
    "aggregate": ("aggregate", "Add up reports into an aggregate."),
    "merge": ("aggregate", "Add up aggregates of the same collection."),
    "estimate": ("estimate", "Print frequencies with standard errors and intervals."),
    "codebook": ("form", "Write a codebook for R, Stata or SPSS."),
    "compare": ("compare", "Compare the results of two collections."),
    "crosstab": ("crosstab", "Print how two answers are related."),
    "fit": ("fit", "Fit a regression to randomised answers."),
    "heavy-hitters": ("heavy_hitters", "Find frequent strings that were not listed in advance."),
    "learn": ("learn", "Create the next phase of a survey from earlier phases."),
    "combine": ("learn", "Print the combined estimates of all phases of a survey."),
    "plan": ("plan", "Predict how precise the results will be."),
    "programme": ("programme", "Add up what one contributor spends in many surveys."),
    "rehearse": ("rehearse", "Try a survey on simulated people."),
    "serve": ("serve", "Run a collector that receives reports from devices."),
    "survey": ("survey", "Create, open, pause, close, export and delete surveys."),
    "analyst": ("analyst", "Add and change accounts and tokens, and print the audit."),
    "send": ("send", "Randomise answers once, keep the reports, and send them."),
    "verify": ("verify", "Check what a collector serves and publishes."),
    "spending": ("spending", "Print, save or merge what one person has spent."),
    "leakage": ("leakage", "Show what a release reveals through correlation."),
    "audit": ("audit", "Test whether a client breaks its privacy promise."),
    "demo": ("demo", "Run every step on a real, sensitive survey."),
}
"""Every command of this package in the order of help: its module and the first sentence of its help, so that nothing is
imported for a list. Other packages add theirs by entry points."""


def commands() -> dict[str, tuple[str, str]]:
    """Return the module and the first sentence of every command.

    Commands that other packages add come last.
    """
    own = {name: (f"deniable.cli.{module}", sentence) for name, (module, sentence) in COMMANDS.items()}
    return {**own, **{point.name: point.load() for point in extensions("commands") if point.name not in own}}


class _Commands(dict[str, Any]):
    """Commands by name.

    Each command is imported and converted once, on first use.
    """

    def __missing__(self, name: str) -> Any:
        importlib.import_module(f"deniable.cli.{COMMANDS[name][0]}" if name in COMMANDS else commands()[name][0])
        (info,) = (one for one in app.registered_commands if one.name == name)
        self[name] = get_command_from_info(info, pretty_exceptions_short=False, rich_markup_mode=None)
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(commands())

    def __len__(self) -> int:
        return len(commands())

    def get(self, name: str, default: Any = None) -> Any:
        """Return the command with this name, or the default if there is no such command."""
        return self[name] if name in COMMANDS or name in commands() else default


_commands = _Commands()


class _Group(TyperGroup):
    """Group of all commands.

    `deniable --help` lists them without importing any.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "commands": _commands})
        self.commands = _commands

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(commands())

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, sentence) for name, (_, sentence) in commands().items()])


app = typer.Typer(
    cls=_Group,
    name="deniable",
    help="Estimate frequencies, with stated errors, from answers that were randomised before they were collected.",
    epilog="Typical order: schema, collection, randomize, aggregate, merge, estimate.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

_written: list[Path] = []


def main() -> None:
    """Run the command line.

    This is the entry point of the ``deniable`` script.
    """
    for stream in (sys.stdout, sys.stderr):
        # A label that the terminal's encoding lacks is shown as "?". It is never a reason to fail.
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(ValueError):
                stream.reconfigure(errors=_PLAIN)
    _program()()


_PLAIN = "deniable.plain"
_PLAIN_SIGNS = {
    "±": "+-",
    "“": '"',
    "”": '"',
    "…": "...",
    "─": "-",
    "\u00d7": "x",
    "≤": "<=",
    "·": "-",
    "→": "->",
    "↓": "v",
}


def _plain_signs(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that an encoding lacks: our own signs by ASCII, all others by question marks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacked = error.object[error.start : error.end]
    return "".join(_PLAIN_SIGNS.get(sign, "?") for sign in lacked), error.end


codecs.register_error(_PLAIN, _plain_signs)


@functools.cache
def _program() -> Any:
    """Return the program that has all commands.

    It is made once, because making it again would convert all used commands again.
    """
    return get_command(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        import importlib.metadata

        typer.echo(f"deniable {importlib.metadata.version('deniable')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


def check_used(context: typer.Context, where: str, used: Collection[str]) -> None:
    """Refuse options and arguments on the command line that would have no effect.

    Parameters
    ----------
    context : typer.Context
        The call of the command.
    where : str
        The case, as a message names it, for instance "with --demo".
    used : collection of str
        Names of the parameters that are used in this case. Values from the environment are never refused.

    Raises
    ------
    InvalidParameterError
        If another parameter is on the command line.
    """
    check_unused(context, where, {str(parameter.name) for parameter in context.command.params} - set(used))


def check_unused(context: typer.Context, where: str, unused: Collection[str]) -> None:
    """Refuse these options and arguments on the command line, because they would have no effect (see `check_used`)."""
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if source is not None and source.name == "COMMANDLINE" and parameter.name in unused:
            shown = parameter.metavar if parameter.param_type_name == "argument" else parameter.opts[0]
            raise InvalidParameterError(f"{shown} must be left out {where}, because it would have no effect")


def command(
    name: str, interrupted: str = "nothing was written"
) -> Callable[[Callable[Parameters, None]], Callable[Parameters, None]]:
    """Make the decorated function a command that reports a failure as one line on stderr and an exit code.

    `interrupted` is the message about the state after an interruption, used if no output is complete.
    """

    def decorate(function: Callable[Parameters, None]) -> Callable[Parameters, None]:
        @functools.wraps(function)
        def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
            _written.clear()
            with _failures(interrupted, name):
                if kwargs.get("plot") is not None:
                    # The check comes before any work, because the work may take long.
                    from deniable.report.png import require_matplotlib

                    require_matplotlib()
                function(*args, **kwargs)

        app.command(name)(run)
        return run

    return decorate


@contextlib.contextmanager
def _failures(interrupted: str, name: str) -> Iterator[None]:
    try:
        yield
    except DeniableError as error:
        _fail(error.spelled(_options(name)), BAD_INPUT)
    except KeyboardInterrupt:
        complete = ", ".join(map(str, _written))
        kept = f"{complete} is complete, nothing else was written" if _written else interrupted
        note(f"interrupted: {kept}")
        raise typer.Exit(INTERRUPTED) from None
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}", BAD_INPUT)


def _fail(message: str, code: int) -> None:
    note(f"error: {message}")
    raise typer.Exit(code) from None


def _options(name: str) -> dict[str, str]:
    """Return the options of a command, keyed by the names of their parameters in the library.

    A name is that of the option, or of the parameter of the command's function.
    """
    spelled = {str(one.name): max(one.opts, key=len) for one in _commands[name].params}
    options = {own: option for own, option in spelled.items() if option.startswith("--")}
    return options | {option.removeprefix("--").replace("-", "_"): option for option in options.values()}


def note(message: str) -> None:
    """Print a message about the run, which is not part of its result, on stderr."""
    from deniable.report.page import visible

    typer.echo(visible(message), err=True)


@contextlib.contextmanager
def writing(output: Path) -> Iterator[None]:
    """Report that an output is complete when the block ends.

    On an interruption, record whether it was complete.
    """
    before = _identity(output)
    try:
        yield
    except KeyboardInterrupt:
        if _identity(output) != before:
            _written.append(output)
        raise
    _written.append(output)
    note(f"wrote {output}")


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the inode and modification time of a file, which change if it is replaced; None without a file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def console() -> Console:
    """Return the console for results, which prints on stdout.

    It is 80 columns wide if stdout is not a terminal.
    """
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, soft_wrap=False)


def show_page(page: Page, *, verbose: bool = False, **options: Any) -> None:
    """Print a page on the console, and name the options that show the parts left out for lack of space."""
    from deniable.report import print_page
    from deniable.report.page import Hints

    hints = Hints(
        "--all lists them",
        "--json lists all",
        "--plot and --html draw them all, --json lists them all",
        "--verbose prints all of it",
    )
    print_page(console(), page, hints=hints, verbose=verbose, **options)


def print_result(
    result: Result,
    page: Page,
    as_json: bool,
    plot: Path | None = None,
    html: Path | None = None,
    *,
    verbose: bool = False,
) -> None:
    """Print a result as a page or as JSON in full precision, and write the requested files (see `save_page`)."""
    save_page(page, plot, html)
    if as_json:
        typer.echo(json.dumps(result.to_dict(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        show_page(page, verbose=verbose)


def save_page(page: Page, plot: Path | None, html: Path | None) -> None:
    """Write the requested picture (several files if it is long) and the requested HTML page."""
    if plot is not None:
        from deniable.report import picture_note, save_png

        with writing(plot):
            _, *others = save_png(page, plot)
        for other in others:
            note(f"wrote {other}")
        letters = picture_note(page)
        if letters:
            note(f"warning: {letters}")
    if html is not None:
        from deniable.report import save_html

        with writing(html):
            save_html(page, html)


def check_outputs(inputs: Sequence[Path], *outputs: Path | None) -> None:
    """Raise OutputError if a requested output cannot be written, or is one of the inputs."""
    for output in filter(None, outputs):
        check_output(output, inputs)


def check_output(output: Path, inputs: Sequence[Path] = (), *, keep: str = "", force: bool | None = None) -> None:
    """Raise OutputError if an output cannot be written, is one of the inputs, or exists and must not be lost.

    `keep` is the reason why an existing file is not overwritten without force. It is "" if the file may be overwritten.
    `force` is None for commands without --force.
    """
    directory = output.parent
    if output.is_dir():
        raise OutputError(f"cannot write {quoted(output)}: it is a directory; give the name of a file")
    if not directory.is_dir():
        raise OutputError(
            f"cannot write {quoted(output)}: there is no directory {quoted(directory)}; make this directory first"
        )
    if not os.access(directory, os.W_OK):
        raise OutputError(f"cannot write {output}: you have no permission to write in {directory}")
    if not output.exists():
        return
    if any(path.exists() and output.samefile(path) for path in inputs):
        raise OutputError(
            f"the output must not be one of the inputs, but {output} was given as an input and as the output"
        )
    if keep and not force:
        forced = "" if force is None else ", or overwrite the file with --force"
        raise OutputError(f"{output} exists: {keep}; choose another name{forced}")


@contextlib.contextmanager
def progress(doing: str, *, quiet: bool = False) -> Iterator[Report | None]:
    """Yield a function that shows progress on stderr after one second, or None if stderr is not a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(show_speed=False),
        TimeElapsedColumn(),
        console=Console(stderr=True, markup=False),
        transient=True,
    )
    task = bar.add_task(doing, total=None)
    timer = threading.Timer(_QUIET_SECONDS, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda done, total: bar.update(task, completed=done, total=total)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
