"""Randomisation of a file of answers into a file of reports, in bulk, as devices do it one by one."""

from __future__ import annotations

import contextlib
import hmac
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deniable.core.extensions import extension
from deniable.core.outputs import remove_left_over
from deniable.core.randomness import SpawningRandomness, checked_randomness
from deniable.core.thresholds import EpsilonLike
from deniable.errors import AlreadyRandomizedError, InvalidParameterError, OutputError, quoted
from deniable.files.formats.reports import BATCH_BYTES, batch_rows, write_reports
from deniable.files.formats.tables import AnswerReader, Progress, open_answers, with_progress
from deniable.files.jobs.ledger import EARLIER_FILE_NAME, AnswersDigest, Entries, Entry, answers_ledger
from deniable.files.jobs.memos import MemoStore
from deniable.files.jobs.prefetch import Prefetcher
from deniable.files.jobs.shuffling import shuffled
from deniable.files.jobs.spending import Spending, budget
from deniable.survey.collection import Collection
from deniable.survey.decimals import NumberColumns
from deniable.survey.encoding import Readings

PathLike = str | os.PathLike[str]

OnTotal = Callable[[Spending], None]
"""Function that is called with the spending of contributors in all collections of their answers."""


@dataclass(frozen=True)
class RandomizeResult:
    """Result of `randomize_file`: the number of contributors, warnings, and what the contributors have spent.

    Parameters
    ----------
    n : int
        Number of contributors.
    output : Path
        The report file.
    digest : str
        Digest of the batch of reports (64 hex digits).
    warnings : tuple of str
        Warnings for the user.
    spending : Spending
        Epsilon that the contributors have spent in this collection and earlier ones.
    remarks : tuple of str
        Notes on unusual properties of the file of answers (`AnswerReader.remarks`).
    """

    n: int
    output: Path
    digest: str
    warnings: tuple[str, ...]
    spending: Spending
    remarks: tuple[str, ...] = ()


def randomize_file(
    collection: Collection,
    answers: PathLike,
    output: PathLike,
    rng: SpawningRandomness,
    *,
    allow_repeat: bool = False,
    shares: PathLike | None = None,
    max_epsilon: EpsilonLike | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    keep: bool = False,
    memos: MemoStore | None = None,
    on_total: OnTotal | None = None,
    progress: Progress | None = None,
) -> RandomizeResult:
    """Holder of many answers: randomise a file of answers into a report file.

    The file has the reports in random order, in blocks of 2^17 answers (`deniable.files.jobs.shuffling`). By contrast,
    the reports that `Collection.randomize` returns have the order of the answers.

    The report file appears only when every row is valid and randomised. If the run is interrupted, nothing remains and
    no epsilon is spent, because nobody has seen a report.

    A second run on the *same answers* spends epsilon again, because anyone who sees both files sees two reports of each
    contributor. So a ledger of this user remembers which answers were randomised, and a second run is refused unless
    `allow_repeat` is True. The ledger recognises the answers of at least 1,000 contributors by their content, in a file
    of any name and format. If there are fewer answers, the ledger recognises only the path of their file. A digest of
    so few answers would reveal them to readers of the ledger. The run is recorded before the reports appear. The
    epsilons of all collections of the same answers add up, and the ledger states the total. A share can be used only
    once. Another ledger, which lies beside the shares, refuses a second use of a share, for any answers.

    Parameters
    ----------
    collection : Collection
        Collection with the questions and the mechanism.
    answers : path
        File of answers, CSV or Parquet, with one row for each contributor.
    output : path
        The report file.
    rng : SpawningRandomness
        `SecureRandomness` for contributors. A second source, which it spawns, draws the order of the reports.
    allow_repeat : bool
        True to spend epsilon once more on answers that were randomised before. A share can never be used again.
    shares : path, optional
        Shares from the dealer, as a file or a directory, if the mechanism needs them. Row i of the answers uses share
        i. If there are more shares than answers, the last shares remain unused.
    max_epsilon : float, Fraction, Decimal or str, optional
        Largest epsilon to accept. A collection with a larger epsilon for the whole contributor is refused before
        answers are read. A run that would lead to a larger total in all collections of the same answers is refused
        before anything is drawn.
    delimiter : str, optional
        Delimiter of the cells of CSV, if it cannot be detected (`open_answers`).
    decimal : {"point", "comma"}, optional
        Decimal mark, if the file leaves it open (`deniable.survey.decimals`).
    keep : bool
        True if the reports stay with the holder of the answers until they are sent. Only the owner can then read their
        file. If there are few answers, the ledger also remembers when their file was last changed. By default the
        reports have the permissions of a new file.
    memos : MemoStore, optional
        For a mechanism with permanent responses: store of the person whose answer is in the file. Without a store,
        every report has new permanent responses.
    on_total : callable, optional
        Function that is called before anything is drawn, with the contributors' totals after this run (`Spending`).
    progress : callable, optional
        Function that is called with (done, total).

    Raises
    ------
    AlreadyRandomizedError
        If `allow_repeat` is False, and these answers were randomised before for this collection or for the phase from
        which it was learned. Also if a share was used before.
    PrivacyLimitError
        If the collection's epsilon, or the total of all collections of these answers, is larger than `max_epsilon`.
    InvalidParameterError
        If the mechanism needs shares and none are given, or shares are given that it does not need. Also if
        `max_epsilon` is not a valid budget.
    InvalidInputError
        If an answer cannot be encoded (the message names row and attribute) or has no share, or a contributor has two
        shares.
    MismatchError
        If the shares belong to another collection or deal, or were dealt at another time.
    FileFormatError
        If the answers, the shares or a ledger cannot be read.
    OutputInUseError
        If another run is writing the same reports.
    OutputError
        If the reports or a ledger cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from deniable import GRR, Attribute, Collection, Schema, SimulationRandomness
    >>> survey = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(k=2, epsilon=2.0))
    >>> from pyarrow import table
    >>> from pyarrow.csv import write_csv
    >>> with TemporaryDirectory() as folder:
    ...     answers, reports = Path(folder) / "answers.csv", Path(folder) / "reports.parquet"
    ...     write_csv(table({"smoker": ["yes", "no", "no"] * 100}), answers)
    ...     randomize_file(survey, answers, reports, SimulationRandomness(1)).n
    300
    """
    if max_epsilon is not None:
        collection.privacy().require(max_epsilon)
    refuse_overwriting(output, [answers, *_files_of(shares)])
    output = Path(output)
    collection.check_shares(shares is not None)
    stream = None
    if shares is not None:
        stream = extension("dealing", "shares")(shares, collection)
    warnings: list[str] = []
    done: list[Spending] = []
    earlier = output.absolute().parent / EARLIER_FILE_NAME
    if earlier.exists():
        warnings.append(
            f"{earlier} is from an earlier version and no longer used. Anyone who has it can find a contributor's "
            "answer by trying all answers. Delete it, and never pass it on"
        )
    ledger, path, modified = answers_ledger(), f"path:{Path(answers).resolve()}", last_change(answers)
    key = ledger.key()
    digest, file = AnswersDigest(collection, key), file_digest(answers, key)

    def spending(entries: Entries, which: str) -> Spending:
        return Spending(collection, entries_about(entries, answers, which, file))

    def refuse(found: Spending) -> list[str]:
        messages = list(_spent_again(Path(answers), found))
        if messages and not allow_repeat:
            raise AlreadyRandomizedError(
                f"{'; '.join(messages)}. To randomise these answers again, pass allow_repeat=True",
                parameters=("allow_repeat=True",),
            )
        if max_epsilon is not None:
            found.require(max_epsilon)
        return messages

    before = ledger.entries()
    foreseen = spending(before, _foreseen(collection, answers, key, before, delimiter, decimal))
    # Reports that a killed run left unfinished belong to nobody. They are removed even if this run is refused.
    remove_left_over(output.absolute().parent)
    refuse(foreseen)
    if on_total is not None:
        on_total(foreseen)

    with (
        _opened(collection, answers, delimiter, decimal) as reader,
        Prefetcher(_numbered(reader, progress)) as batches,
        Prefetcher(_read(collection, batches, digest)) as read,
    ):

        def encoded() -> Iterator[NDArray[Any]]:
            # One thread draws the words, in the order of the answers.
            for readings in read:
                yield readings.codes(rng)

        @contextlib.contextmanager
        def recorded() -> Iterator[None]:
            which = digest.answers() or path
            entry = Entry(
                event="randomized",
                collection=collection.id,
                into=str(output.absolute()),
                last=digest.n,
                answers=which,
                file="" if which == path else file,
                epsilon=budget(collection),
                modified=modified if keep and which == path else 0,
            )

            def look(entries: Entries) -> None:
                # The ledger is checked once more: another run may have randomised the answers meanwhile, and now their
                # number is known.
                done.append(spending(entries, which))
                warnings.extend(refuse(done[0]))

            of_shares = contextlib.nullcontext() if stream is None else stream.recording(output.name)
            with ledger.recording([entry], look), of_shares:
                yield

        def reports() -> Iterator[Any]:
            for block in _rechunked(encoded(), _block_rows(collection)):
                if memos is not None:
                    yield memos.report(collection, block, rng)
                else:
                    yield collection.randomize(block, rng, None if stream is None else stream.take(len(block)))

        # The order has a source of its own, so the reports are the same as without shuffling.
        mechanism, order = collection.mechanism, checked_randomness(rng).spawn()
        with Prefetcher(shuffled(mechanism, reports(), batch_rows(mechanism), order)) as ordered:
            written = write_reports(output, collection, ordered, rng, private=keep, commit=recorded())
    if stream is not None and stream.total > written.n:
        warnings.append(f"{stream.total - written.n:,} shares were not used: the answers have {written.n:,} rows")
    return RandomizeResult(written.n, output, written.digest, tuple(warnings), done[0], reader.remarks)


def entries_about(entries: Entries, answers: PathLike, which: str, file: str) -> Entries:
    """Return the entries about the people of a file: by what they answered, by its path, or by its bytes."""
    path = f"path:{Path(answers).resolve()}"
    return tuple(entry for entry in entries if entry.answers in (which, path) or (file and entry.file == file))


def file_digest(path: PathLike, key: bytes) -> str:
    """Return a keyed digest of a file's bytes: the same people, whatever is asked of them; "" if it is not a file."""
    if not os.path.isfile(path) or not os.access(path, os.R_OK):
        return ""  # opening the file raises the error
    digest = hmac.new(key, b"file\0", "sha256")
    with open(path, "rb") as file:
        while part := file.read(1 << 16):
            digest.update(part)
    return digest.hexdigest()


def last_change(path: PathLike) -> int:
    """Return when a file was changed last, in nanoseconds and at least 1; 0 if it is not there."""
    try:
        return max(os.stat(path).st_mtime_ns, 1)
    except OSError:
        return 0


def _opened(collection: Collection, answers: PathLike, delimiter: str | None, decimal: str | None) -> AnswerReader:
    """Open the answers to a collection's questions, numbers however they are written."""
    schema = collection.schema
    return open_answers(
        answers, schema.asked, delimiter=delimiter, decimal=decimal, numbers=NumberColumns(schema.number_columns)
    )


def _foreseen(
    collection: Collection,
    answers: PathLike,
    key: bytes,
    entries: Entries,
    delimiter: str | None,
    decimal: str | None,
) -> str:
    """Return the digest of these answers for an entry, "" if no entry could be about the same answers.

    To find out, all answers must be read a second time before anything is drawn. This happens only if the ledger has an
    entry about as many answers as these may be.
    """
    known = {entry.last for entry in entries if entry.answers.startswith("hmac:")}
    with _opened(collection, answers, delimiter, decimal) as reader:
        if not known or reader.records not in (None, *known):
            return ""
    return read_digest(collection, answers, key, delimiter=delimiter, decimal=decimal).answers()


def read_digest(
    collection: Collection, answers: PathLike, key: bytes, *, delimiter: str | None = None, decimal: str | None = None
) -> AnswersDigest:
    """Return the digest of a file's answers, under the key of a ledger.

    Raises
    ------
    InvalidInputError
        If an answer cannot be encoded; the message names row and attribute.
    FileFormatError
        If the file cannot be read.
    """
    digest = AnswersDigest(collection, key)
    with (
        _opened(collection, answers, delimiter, decimal) as reader,
        Prefetcher(_numbered(reader, None)) as batches,
    ):
        for _ in _read(collection, batches, digest):
            pass
    return digest


def read_truth(
    collection: Collection,
    answers: PathLike,
    progress: Progress | None = None,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Count the true answers in a file, for a demo or a rehearsal.

    Returns
    -------
    dict of str to float64[k]
        For each column of the record, the number of contributors who hold each category. A number between two points of
        a grid counts partly for each of them, as its rounding does on average.

    Raises
    ------
    InvalidInputError
        If an answer cannot be encoded; the message names row and attribute.
    FileFormatError
        If the file cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from deniable import GRR, Attribute, Collection, Schema
    >>> survey = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(k=2, epsilon=2.0))
    >>> from pyarrow import table
    >>> from pyarrow.csv import write_csv
    >>> with TemporaryDirectory() as folder:
    ...     answers = Path(folder) / "answers.csv"
    ...     write_csv(table({"smoker": ["yes", "no", "no"]}), answers)
    ...     read_truth(survey, answers)["smoker"].tolist()
    [1.0, 2.0]
    """
    columns = collection.schema.columns
    if collection.schema.is_text:
        raise InvalidParameterError(
            "open text has no categories to count: use count_texts, which counts the strings that you name"
        )
    counts = [np.zeros(column.k) for column in columns]
    with _opened(collection, answers, delimiter, decimal) as reader:
        for readings in _read(collection, _numbered(reader, progress)):
            for j, column in enumerate(columns):
                counts[j] += np.bincount(readings.base[:, j], minlength=column.k)
            for j, thresholds in zip(readings.rounded, readings.thresholds.T, strict=True):
                upper = np.bincount(readings.base[:, j], weights=thresholds / 2.0**64, minlength=columns[j].k)
                counts[j] += np.roll(upper, 1) - upper
    return dict(zip(collection.schema.names, counts, strict=True))


def count_texts(
    collection: Collection,
    answers: PathLike,
    progress: Progress | None = None,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> Counter[str]:
    """Count the true answers of open text for a rehearsal, each cut to the length that the mechanism uses.

    Returns
    -------
    Counter of str
        Number of contributors who hold each string, in the spelling of the estimate's labels.

    Raises
    ------
    InvalidInputError
        If an answer is missing and there is no label for missing answers. The message names its row.
    FileFormatError
        If the file cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from pyarrow import table
    >>> from pyarrow.csv import write_csv
    >>> from deniable import Attribute, Collection, Schema
    >>> from deniable.oracles import HeavyHitters
    >>> survey = Collection(Schema((Attribute("page", text=True),)), HeavyHitters(epsilon=2.0))
    >>> with TemporaryDirectory() as folder:
    ...     write_csv(table({"page": ["/start", "/help", "/start"]}), Path(folder) / "pages.csv")
    ...     sorted(count_texts(survey, Path(folder) / "pages.csv").items())
    [('/help', 1), ('/start', 2)]
    """
    mechanism: Any = collection.mechanism
    counts: Counter[bytes] = Counter()
    with _opened(collection, answers, delimiter, decimal) as reader:
        for readings in _read(collection, _numbered(reader, progress)):
            counts.update(text.encode()[: mechanism.max_bytes] for text in readings.base[:, 0])
    return Counter({content.decode(errors="backslashreplace"): count for content, count in counts.items()})


def _numbered(reader: AnswerReader, progress: Progress | None) -> Generator[tuple[int, pa.RecordBatch], None, None]:
    """Yield every batch with the number of its first record."""
    for batch in with_progress(reader, progress):
        yield reader.rows - batch.num_rows + 1, batch


def _read(
    collection: Collection, batches: Iterable[tuple[int, pa.RecordBatch]], digest: AnswersDigest | None = None
) -> Generator[Readings, None, None]:
    """Yield what the answers of every batch are, taken into the digest."""
    for first_row, batch in batches:
        readings = collection.schema.read(batch, first_row)
        if digest is not None:
            digest.update(readings)
        yield readings


def _block_rows(collection: Collection) -> int:
    return max(1, min(batch_rows(collection.mechanism), BATCH_BYTES // (8 * len(collection.schema.columns))))


def _rechunked(blocks: Iterator[NDArray[Any]], rows: int) -> Iterator[NDArray[Any]]:
    """Yield the same rows in blocks of equal size, however the file was divided."""
    pending: list[NDArray[Any]] = []
    held = 0
    for block in blocks:
        start = 0
        while start < len(block):
            part = block[start : start + rows - held]
            pending.append(part)
            start, held = start + len(part), held + len(part)
            if held == rows:
                yield np.concatenate(pending)
                pending, held = [], 0
    if held:
        yield np.concatenate(pending)


def _files_of(shares: PathLike | None) -> Iterator[PathLike]:
    """Yield the file of shares, or those of a directory of shares."""
    if shares is not None:
        yield shares
        if Path(shares).is_dir():
            yield from Path(shares).iterdir()


def refuse_overwriting(output: PathLike, inputs: Sequence[PathLike]) -> None:
    """Raise OutputError if an output is one of its inputs, or a directory."""
    for path in inputs:
        if os.path.exists(output) and os.path.exists(path) and os.path.samefile(output, path):
            raise OutputError(
                f"cannot write {quoted(output)}: this file is also an input; give another name for the output"
            )
    if Path(output).is_dir():
        raise OutputError(f"cannot write {quoted(output)}: it is a directory; give the name of a file")


def _spent_again(answers: Path, found: Spending) -> Iterator[str]:
    """Yield what is wrong with randomising these answers once more: for this collection, or for two of its phases."""
    collection, same = found.collection, found.earlier
    runs = [entry for entry in same if entry.collection == collection.id]
    if earlier := [entry for entry in runs if not entry.begun]:
        yield (
            f"{answers} was randomised before for this collection (into {_names(earlier)}): "
            f"anyone who sees all reports sees {len(earlier) + 1} reports of each contributor, "
            f"so the bound for each contributor is {found.bound} instead of {Spending(collection).bound}"
        )
    if killed := [entry for entry in runs if entry.begun]:
        yield (
            f"a run that randomised {answers} for this collection was stopped just before its reports appeared (as "
            f"{_names(killed)}): if no file of reports appeared, nobody saw reports and nothing is spent twice"
        )
    before = collection.learned_from
    sources = () if before is None else (*before.earlier, before.collection)
    if earlier := [entry for entry in same if entry.collection in sources]:
        yield (
            f"{answers} was randomised before for the phase that this collection learned from (into "
            f"{_names(earlier)}): each phase needs other contributors, because a person who takes part in "
            "both phases spends the epsilons of both"
        )


def _names(entries: Sequence[Entry]) -> str:
    return ", ".join(entry.into for entry in entries)
