"""Ledger of what one contributor has spent in all collections, rounds and waves, on all devices.

The ledger of answers (`deniable.files.jobs.ledger`) is about files. The ledger here is about one person. An entry is
one draw, with a random name that no report contains. So ledgers of two devices can be merged, and draws are never
counted twice and never lost. Nothing in the ledger depends on an answer.

Guarantees add up exactly, as fractions. Reports from the same permanent responses are one group. T such reports have
epsilon_once + (T - 1) times the logarithm of the second stage's ratio, whatever was answered when. If the times of
change are known anyway, they have epsilon_forever for every answer that may have been used. The lesser of the two
counts.
"""

from __future__ import annotations

import contextlib
import math
import os
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from deniable.core.documents import Document, document_body, parse_document, placed, read_document
from deniable.core.privacy import bound_text
from deniable.core.thresholds import EpsilonLike, exact, exact_text, log_up
from deniable.errors import (
    DeniableError,
    FileFormatError,
    InvalidParameterError,
    PrivacyLimitError,
    out_of_range,
    quoted,
)
from deniable.files.jobs.memos import Memo, is_memoised, memoised_of, person_directory
from deniable.files.jobs.private_document import PrivateDocument
from deniable.files.jobs.spending import budget, larger_total
from deniable.survey.collection import Collection, short_id

FORMAT = "deniable person ledger"
DEVICE_FORMAT = "deniable device ledger"
"""Format of the list that a browser saves. From version 2 on, the list has the draws of its persons."""

FILE_NAME = "ledger.json"

PathLike = str | os.PathLike[str]


class MemoBudget(Document):
    """Budgets of one person's permanent responses in the JSON document.

    Parameters
    ----------
    id : str
        Name of the memo.
    forever, once, step : str
        Exact epsilon_forever, epsilon_once and epsilon of each further report; `step` is "" if that has no bound.
    rows : int
        Number of answers with a permanent response of their own; 0 if cells of a hash function have the responses.
    """

    id: str
    forever: str
    once: str
    step: str
    rows: int


class Draw(Document):
    """Draw of one person in the JSON document.

    Parameters
    ----------
    draw : str
        Random name, 32 hexadecimal digits.
    collection : str
        Id of the collection.
    epsilon : str
        Epsilon that the draw spends alone, an exact decimal or fraction; "" without a bound.
    memo : MemoBudget, optional
        Permanent responses from which the draw was made.
    """

    draw: str
    collection: str
    epsilon: str
    memo: MemoBudget | None = None


class PersonShape(Document):
    """Keys of a person's ledger in the JSON document."""

    draws: list[Draw]


class DeviceDraw(Draw):
    """Draw in a browser's list, with the number of its person."""

    person: int = 1


class DeviceShape(Document):
    """Keys of a browser's list in the JSON document."""

    responses: list[dict[str, Any]]
    spending: list[DeviceDraw]


@dataclass(frozen=True)
class PersonTotal:
    """Total of one person's draws.

    Parameters
    ----------
    draws : tuple of Draw
        All draws, oldest first.

    Examples
    --------
    >>> one = Draw(draw="00" * 16, collection="1f", epsilon="0.1")
    >>> PersonTotal((one, one.model_copy(update={"draw": "11" * 16}))).epsilon
    Fraction(1, 5)
    """

    draws: tuple[Draw, ...]

    @property
    def epsilon(self) -> Fraction | None:
        """Exact total; None if a draw has no bound."""
        if any(not draw.epsilon for draw in self.draws):
            return None
        alone = (exact(draw.epsilon) for draw in self.draws if draw.memo is None)
        groups = [self._group(memo, reports)[0] for memo, reports in self._memos()]
        bounded = [total for total in groups if total is not None]
        return sum(alone, Fraction(0)) + sum(bounded, Fraction(0)) if len(bounded) == len(groups) else None

    @property
    def times_known(self) -> bool:
        """True if the total supposes that the times at which answers changed are known anyway."""
        return any(known for _, known in (self._group(memo, reports) for memo, reports in self._memos()))

    @property
    def bound(self) -> str:
        """The total as texts write it, rounded up."""
        return _bound(self.epsilon)

    def _memos(self) -> Iterator[tuple[MemoBudget, int]]:
        counts: dict[MemoBudget, int] = {}
        for draw in self.draws:
            if draw.memo is not None:
                counts[draw.memo] = counts.get(draw.memo, 0) + 1
        yield from counts.items()

    @staticmethod
    def _group(memo: MemoBudget, reports: int) -> tuple[Fraction | None, bool]:
        """Return what these reports of one memo have spent, and whether times of change are supposed to be known."""
        if reports == 1:
            return exact(memo.once), False
        protected = exact(memo.once) + (reports - 1) * exact(memo.step) if memo.step else None
        # Two people whose answers change at the same times may change cells at different times.
        known = min(reports, memo.rows) * exact(memo.forever) if memo.rows else None
        if known is None or (protected is not None and protected <= known):
            return protected, False
        return known, True


class PersonLedger:
    """Locked file of one person's draws.

    Parameters
    ----------
    path : Path
        Path of the file, which only its owner can read. The lock file is beside it while the lock is held.

    Examples
    --------
    >>> import tempfile
    >>> from deniable import GRR, Attribute, Schema
    >>> survey = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(k=2, epsilon="0.6"))
    >>> ledger = PersonLedger(Path(tempfile.mkdtemp()) / "ledger.json")
    >>> with ledger.spending(survey, maximum=1):
    ...     ledger.total().epsilon
    Fraction(3, 5)
    >>> with ledger.spending(survey, maximum=1):
    ...     pass
    Traceback (most recent call last):
        ...
    deniable.errors.PrivacyLimitError: epsilon of all reports of this person must be <= max_epsilon=1, got epsilon = ...
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = PrivateDocument(path, FORMAT, PersonShape(draws=[]))

    def total(self) -> PersonTotal:
        """Return the total that was spent so far.

        Raises
        ------
        FileFormatError
            If the ledger is damaged.
        """
        return PersonTotal(tuple(self._read().draws))

    @contextlib.contextmanager
    def spending(
        self,
        collection: Collection,
        *,
        memo: Memo | None = None,
        maximum: EpsilonLike | None = None,
        name: str = "max_epsilon",
    ) -> Iterator[PersonTotal]:
        """Record a draw before it is made, or refuse it; yield the total that includes it.

        The entry is on the disk before the block begins. If a process is killed inside the block, the entry stays, and
        the total is too large rather than too small. An error of the file system or of this library inside the block
        removes the entry.

        Parameters
        ----------
        collection : Collection
            Collection that is answered.
        memo : Memo, optional
            Permanent responses from which the report is made, only for a memoised mechanism.
        maximum : float, Fraction, Decimal or str, optional
            Largest total to accept.
        name : str
            What messages call it.

        Raises
        ------
        PrivacyLimitError
            If the total would be larger; the message says by how much.
        InvalidParameterError
            If a memo is missing, or given to a mechanism that keeps nothing.
        FileFormatError
            If the ledger is damaged.
        OutputError
            If it cannot be written.
        """
        draw = new_draw(collection, memo)
        with self._file.held():
            draws = self._read().draws
            found = PersonTotal((*draws, draw))
            if maximum is not None:
                require(found, PersonTotal(tuple(draws)), maximum, name)
            self._write(found.draws)
        try:
            yield found
        except (OSError, DeniableError):
            # Any other exception may have come right after the reports appeared, as in the ledger of answers.
            with self._file.held():
                self._write(one for one in self._read().draws if one != draw)
            raise

    def ensure(self, collection: Collection) -> PersonTotal:
        """Record a draw that was made earlier if none of its collection is here; return the total.

        Parameters
        ----------
        collection : Collection
            Collection whose reports were drawn and kept, while the ledger may have been lost.
        """
        with self._file.held():
            draws = self._read().draws
            if not any(draw.collection == collection.id for draw in draws):
                # Nothing is known any more about how the reports were made. So the draw counts alone, at the larger of
                # both budgets.
                alone = Draw(draw=secrets.token_hex(16), collection=collection.id, epsilon=budget(collection))
                draws = [*draws, alone]
                self._write(draws)
            return PersonTotal(tuple(draws))

    def merge(self, path: PathLike) -> int:
        """Add the draws of the person's other ledger, or of a browser's saved list, and return how many were added.

        A draw that both ledgers have is counted once. Nothing is removed, and no total gets smaller.

        Parameters
        ----------
        path : path
            Person's ledger, or a list that a browser saved. From such a list the draws of the first person are taken.

        Raises
        ------
        FileFormatError
            If the file is neither, or says something else about a draw than this ledger.
        OutputError
            If this ledger cannot be written.
        """
        theirs = read_draws(path)
        with self._file.held():
            ours = {draw.draw: draw for draw in self._read().draws}
            for draw in theirs:
                if ours.get(draw.draw, draw) != draw:
                    raise FileFormatError(
                        f"{path} must agree with this ledger about every draw, but the file and the ledger have "
                        f"different entries for draw {draw.draw}; nothing was merged"
                    )
            added = [draw for draw in dict.fromkeys(theirs) if draw.draw not in ours]
            if len({draw.draw for draw in added}) < len(added):
                raise FileFormatError(
                    f"{path} must have one entry for every draw, but one draw has two entries; nothing was merged"
                )
            self._write([*ours.values(), *added])
            return len(added)

    def save(self, path: PathLike) -> None:
        """Write a copy of the ledger for another device, which its owner alone can read.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        self._write(self._read().draws, Path(path))

    def _read(self) -> PersonShape:
        shape = self._file.read()
        _check_draws(shape.draws, self.path)
        return shape

    def _write(self, draws: Iterable[Draw], path: Path | None = None) -> None:
        self._file.write(PersonShape(draws=list(draws)), path)


def person_ledger(person: str = "me") -> PersonLedger:
    """Return a person's ledger, in this user's directory that nobody else can read.

    Parameters
    ----------
    person : str
        Name of the person on this device.

    Raises
    ------
    OutputError
        If there is no such directory and it cannot be made.
    InvalidParameterError
        If the name has other characters than letters, digits, hyphens and underscores.
    """
    return PersonLedger(person_directory(person) / FILE_NAME)


def new_draw(collection: Collection, memo: Memo | None = None) -> Draw:
    """Return the entry of a draw that is about to be made.

    Raises
    ------
    InvalidParameterError
        If a memo is missing, or given to a mechanism that keeps nothing.
    """
    kind = collection.mechanism.name
    if is_memoised(collection) and memo is None:
        raise InvalidParameterError(f"memo must be given, because {kind} keeps permanent responses: pass memo")
    if memo is not None and not is_memoised(collection):
        raise InvalidParameterError(f"memo must be left out, because {kind} keeps no permanent responses")
    name = secrets.token_hex(16)
    if memo is None:
        return Draw(draw=name, collection=collection.id, epsilon=budget(collection))
    mechanism = memoised_of(collection)
    step = log_up(mechanism.second_ratio())
    kept = MemoBudget(
        id=memo.id,
        forever=exact_text(mechanism.epsilon_forever),
        once=exact_text(mechanism.epsilon_once),
        step=exact_text(step) if math.isfinite(step) else "",
        rows=mechanism.memo_rows if mechanism.kept == "answer" else 0,
    )
    return Draw(draw=name, collection=collection.id, epsilon=kept.once, memo=kept)


def require(found: PersonTotal, before: PersonTotal, maximum: EpsilonLike, name: str = "max_epsilon") -> None:
    """Raise PrivacyLimitError if a total is larger than a person accepts.

    Parameters
    ----------
    found, before : PersonTotal
        Totals with the requested draw, and without it.
    maximum : float, Fraction, Decimal or str
        Largest total.
    name : str
        What messages call it.

    Raises
    ------
    PrivacyLimitError
        If the total is larger; the message says by how much.
    InvalidParameterError
        If the maximum is not a positive number.
    """
    limit, total = exact(maximum, name), found.epsilon
    if limit <= 0:
        raise out_of_range(name, "> 0", str(maximum))
    if total is not None and total <= limit:
        return
    more = "" if total is None else f", which is {bound_text(float_above(total - limit))} too much"
    listed = ", ".join(
        f"{_bound(exact(one.epsilon) if one.epsilon else None)} in {short_id(one.collection)}" for one in before.draws
    )
    raise PrivacyLimitError(
        f"epsilon of all reports of this person must be <= {name}={maximum}, got {found.bound}{more}; spent before: "
        f"{before.bound}{f' ({listed})' if listed else ''}. No report was made: {larger_total(total, name)}",
        parameters=(name,),
    )


def read_draws(path: PathLike) -> tuple[Draw, ...]:
    """Return the draws in a person's ledger, or those of the first person in a browser's saved list.

    Raises
    ------
    FileFormatError
        If the file is neither, or damaged.
    """
    text = read_document(path)
    if f'"{DEVICE_FORMAT}"' in text[:200]:
        body, version = document_body(text, str(path), DEVICE_FORMAT, 2)
        if version < 2:
            raise FileFormatError(
                f"{path} must have format_version=2, got format_version={version}; save the list again on the survey "
                "page"
            )
        with placed(str(path)):
            shape = DeviceShape.model_validate_json(body)
        draws = [Draw(**one.model_dump(exclude={"person"})) for one in shape.spending if one.person == 1]
    else:
        draws = parse_document(text, str(path), FORMAT, PersonShape).draws
    _check_draws(draws, path)
    return tuple(draws)


def _check_draws(draws: Iterable[Draw], path: PathLike) -> None:
    """Raise FileFormatError if an entry would lower a total, or is not one of ours."""
    for draw in draws:
        memo = draw.memo
        numbers = [draw.epsilon, *(() if memo is None else (memo.forever, memo.once, memo.step))]
        try:
            amounts = [exact(number, "budget") for number in numbers if number]
        except InvalidParameterError as error:
            raise FileFormatError(f"{path} must state every budget as a number: {error}") from error
        positive = all(amount > 0 for amount in amounts)
        if not positive or (memo is not None and (memo.rows < 0 or not memo.forever or not memo.once)):
            raise FileFormatError(
                f"{path} must state a budget > 0 for every draw, but the budget of draw {draw.draw} is missing or "
                "not > 0"
            )
        if len(draw.draw) != 32 or set(draw.draw) - set("0123456789abcdef"):
            raise FileFormatError(
                f"{path} must name each draw with 32 hexadecimal digits, got draw={quoted(draw.draw)}"
            )


def float_above(value: Fraction) -> float:
    """Return the nearest float, or the next one if its shortest decimal is less than the number."""
    found = float(value)
    return found if exact(found) >= value else math.nextafter(found, math.inf)


def _bound(value: Fraction | None) -> str:
    return "an epsilon without a known bound" if value is None else f"epsilon = {bound_text(float_above(value))}"
