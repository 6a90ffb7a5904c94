"""Every exception that `deniable` raises on purpose.

::

    DeniableError
    ├── InvalidParameterError    a parameter outside its bound (also a ValueError)
    │   ├── AmbiguousNumbersError numbers that may be read in two ways
    │   └── DamagedStateError    an aggregate whose counters no set of reports has
    ├── InvalidInputError        an answer or a table that cannot be encoded (also a ValueError)
    │   └── UnknownCategoryError an answer that is not in the schema
    ├── PrivacyLimitError        a guarantee weaker than the contributor is willing to accept
    ├── AlreadyRandomizedError   answers or shares that were used before for the same collection
    ├── InvalidReportError       a report that the mechanism cannot have produced (also a ValueError)
    ├── MismatchError            two things that do not belong together (also a ValueError)
    │   └── DuplicateReportsError the same batch of reports added twice
    ├── EmptyAggregateError      an estimate asked of no reports at all (also a ValueError)
    ├── NoIntervalError          an interval asked of an estimate that has none
    ├── NotIdentifiedError       a question that no number of such reports answers, or not these few (also a ValueError)
    ├── TooLargeError            an enumeration beyond the stated limit (also a ValueError)
    ├── FileFormatError          a file that is damaged, foreign, or of an unknown version
    ├── OutputError              an output that cannot be written
    │   └── OutputInUseError     an output that another run is writing
    ├── StoreError               a collector's database that cannot be read or written now
    │   └── StoreInUseError      a database that another process serves
    ├── UploadError              reports that a collector did not take
    ├── CollectorError           a collector that does not answer, or another server in its place
    ├── DealingError             a deal by several helpers that failed; no share of it may be used
    ├── BrokenLawError           a mechanism that `deniable.testing` finds wrong (also an AssertionError)
    └── MissingExtraError        an optional dependency that is not installed (also an ImportError)

Messages name the argument, the rule and the value, the record and attribute if there is one, and the next step.
Three mistakes have one wording each, made by a function: `unknown_name`, `out_of_range` and `not_available`.
"""

from __future__ import annotations

import itertools
import numbers
import os
from collections import abc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_JOINERS = "\u200c\u200d"


def visible(label: str) -> str:
    r"""Return a label on one line, with control characters and direction marks written as escapes.

    Categories come from files that strangers wrote. So no label may contain commands for the terminal.

    Examples
    --------
    >>> visible("yes\n\x1b[31mno")
    'yes\\n\\x1b[31mno'
    """
    return "".join(
        character if character.isprintable() or character in _JOINERS else ascii(character)[1:-1] for character in label
    )


_SHOWN = 10
_LONGEST = 160


def quoted(value: object) -> str:
    """Return a value as text for a sentence: text in quotation marks, lists as their items, no Python notation.

    Long lists show their first ten items and how many more there are. Objects such as mechanisms are shown by `repr`,
    or by their name alone if their parameters are long.

    Examples
    --------
    >>> print(quoted("don't know"), quoted(0.5))
    “don't know” 0.5
    >>> print(quoted(["yes", "no"]))
    “yes”, “no”
    >>> print(quoted(None), quoted(True), quoted(range(100)))
    none true 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 90 more
    """
    match value:
        case str():
            return f"“{visible(value)}”"
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case numbers.Number():
            return str(value)
        case abc.Mapping():
            return _items(
                [f"{quoted(key)}: {_item(value[key])}" for key in itertools.islice(value, _SHOWN)], len(value)
            )
        case list() | tuple() | abc.Set() | range():
            return _items([_item(one) for one in itertools.islice(value, _SHOWN)], len(value))
        case os.PathLike():
            return quoted(os.fspath(value))
        case object(isoformat=_):
            return str(value)
        case object(dtype=_, ndim=0, item=item):
            return quoted(item())
        case object(dtype=_, ndim=1, tolist=_):
            return _items([_item(one) for one in value[:_SHOWN].tolist()], len(value))
    shown = repr(value)
    if len(shown) <= _LONGEST:
        return shown
    return f"{getattr(value, 'name', type(value).__name__)} (its parameters are too long to show)"


def _item(value: object) -> str:
    return f"({quoted(value)})" if isinstance(value, (list, tuple, abc.Set)) else quoted(value)


def _items(shown: list[str], size: int) -> str:
    return (", ".join(shown) or "an empty list") + (f" and {size - _SHOWN:,} more" if size > _SHOWN else "")


class DeniableError(Exception):
    """Base of every error that `deniable` raises on purpose.

    Parameters
    ----------
    message : str
        The message, with parameters spelled as in Python.
    parameters : tuple of str
        Parameters in the message that a command spells differently, such as ``target_error``, or ``anytime=True`` for a
        switch and ``model="logit"`` for a value.

    Examples
    --------
    >>> error = DeniableError("target_error must be in (0, 1)", parameters=("target_error",))
    >>> error.spelled({"target_error": "--target-error"})
    '--target-error must be in (0, 1)'
    """

    def __init__(self, message: str = "", *, parameters: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.parameters = parameters

    def spelled(self, options: Mapping[str, str]) -> str:
        """Return the message for users of a command, with these options in place of the parameters' names."""
        message = str(self)
        for parameter in self.parameters:
            name, _, value = parameter.partition("=")
            option = options.get(name)
            if option is None:
                continue
            if value:
                written = option if value == "True" else option + " " + value.strip('"')
                message = message.replace(parameter, written)
            elif "_" in name:
                message = message.replace(name, option)
            elif option != f"--{name}":
                # A single word may also be a word of the sentence.
                message = message.replace(f"{name} must", f"{option} must").replace(f"{name}=", f"{option}=")
        return message


class InvalidParameterError(DeniableError, ValueError):
    """A parameter is out of bounds, for instance ``epsilon must be > 0, got epsilon=-1.0``."""


class AmbiguousNumbersError(InvalidParameterError):
    """Numbers such as 1.500 can be read in two ways, and the decimal mark was not given.

    Parameters
    ----------
    columns : tuple of str
        Names of the columns with such numbers.
    source : str
        Name of the table in messages.
    whole : {"comma", "point"}
        Decimal mark with which the numbers are whole: with "comma", 1.500 is 1500.
    row : int, optional
        Number of the first row with such a number.
    remedy : str
        Start of the option or argument that sets the decimal mark, for messages.
    """

    def __init__(
        self, columns: tuple[str, ...], source: str, whole: str, row: int | None = None, remedy: str = "--decimal "
    ) -> None:
        self.columns, self.whole = columns, whole
        self.example, other = ("1.500", "point") if whole == "comma" else ("1,500", "comma")
        plural, where = "s" * (len(columns) > 1), "" if row is None else f", row {row}"
        mark = '"' if remedy.endswith("=") else ""
        super().__init__(
            f"decimal must be given for the column{plural} {', '.join(columns)} of {source}{where}: if {self.example} "
            f"is 1500 there, pass {remedy}{mark}{whole}{mark}; if {self.example} is one and a half, pass "
            f"{remedy}{mark}{other}{mark}"
        )


class InvalidInputError(DeniableError, ValueError):
    """An answer, a code or a table is not valid input."""


class UnknownCategoryError(InvalidInputError):
    """An answer is not among the categories that the schema declares."""


class PrivacyLimitError(DeniableError):
    """A guarantee's epsilon is larger than the contributor is willing to accept; nothing was randomised."""


class AlreadyRandomizedError(DeniableError):
    """The same answers or shares were used before for this collection. Using them again spends epsilon again."""


class InvalidReportError(DeniableError, ValueError):
    """A report has a wrong type, shape or range, so the mechanism cannot have produced it."""


class MismatchError(DeniableError, ValueError):
    """Two objects do not belong together, for instance aggregates of different mechanisms."""


class DuplicateReportsError(MismatchError):
    """The same batch of reports would be counted twice."""


class DamagedStateError(InvalidParameterError):
    """An aggregate cannot be decoded, or its counters cannot be the sum of reports."""


class EmptyAggregateError(DeniableError, ValueError):
    """An aggregate has no reports, so there is nothing to estimate."""


class NoIntervalError(DeniableError):
    """The estimate has no valid interval, for instance because it was post-processed."""


class NotIdentifiedError(DeniableError, ValueError):
    """The reports cannot answer the question, or there are too few. The message says what would help."""


class TooLargeError(DeniableError, ValueError):
    """An exact enumeration would exceed its stated limit."""


class FileFormatError(DeniableError):
    """A file is damaged, is of another kind, or has a format version that this release does not read."""


class OutputError(DeniableError):
    """An output cannot be written. Nothing was written."""


class OutputInUseError(OutputError):
    """Another run is writing the same output; the two must not overwrite each other."""


class StoreError(DeniableError):
    """A collector's database cannot be read or written now, or does not belong to this release."""


class StoreInUseError(StoreError):
    """Another process already serves this database. Only one process at a time may serve it."""


class UploadError(DeniableError):
    """A collector refused reports. The message says why, and whether to try again."""


class CollectorError(DeniableError):
    """A collector does not answer, or another server answers in its place. The message says what to check."""


class DealingError(DeniableError):
    """A deal by several helpers failed. A helper stopped, took too long, or gave shares that contradict the others."""


class BrokenLawError(DeniableError, AssertionError):
    """A mechanism violates a law of all mechanisms. The message says which law, where, and by how much."""


class MissingExtraError(DeniableError, ImportError):
    """An optional dependency is not installed. The message names the extra to install."""


def unknown_name(name: str, value: object, known: Iterable[str], hint: str = "") -> InvalidParameterError:
    """Return the error for a name that is not among the known names. A long list of names comes last.

    Examples
    --------
    >>> unknown_name("rule", "best", ["mean", "median"])
    InvalidParameterError('rule must be one of mean, median, got rule=“best”')
    """
    names, got = list(known), f"got {name}={quoted(value)}{_after(hint)}"
    message = f"{name} must be one of {', '.join(names)}, {got}"
    if len(names) > 8:
        message = f"{name} must be one of {len(names)} names, {got}. The names are {', '.join(names)}"
    return InvalidParameterError(message, parameters=(name,))


def out_of_range(name: str, rule: str, value: object, hint: str = "") -> InvalidParameterError:
    """Return the error for a number out of bounds. `rule` states the bound, such as "> 0" or "in [0, 1]".

    Examples
    --------
    >>> out_of_range("epsilon", "> 0", -1.0)
    InvalidParameterError('epsilon must be > 0, got epsilon=-1.0')
    """
    got = value if isinstance(value, str) else quoted(value)
    return InvalidParameterError(f"{name} must be {rule}, got {name}={got}{_after(hint)}", parameters=(name,))


def not_available(what: str, mechanism: str, hint: str) -> InvalidParameterError:
    """Return the error for something that a mechanism does not offer. `hint` says what to do instead.

    Examples
    --------
    >>> not_available("a cross table", "SMP", "collect again with PairSample")
    InvalidParameterError('a cross table is not available for SMP: collect again with PairSample')
    """
    return InvalidParameterError(f"{what} is not available for {mechanism}: {hint}")


def _after(hint: str) -> str:
    return f": {hint}" if hint else ""
