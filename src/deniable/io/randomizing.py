"""From a file of answers to a file of reports: what happens on the devices, in bulk."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deniable.collection import Collection
from deniable.errors import AlreadyRandomizedError, FileFormatError, InvalidParameterError, OutputError
from deniable.io.ledger import Entry, Ledger
from deniable.io.reports import BATCH_BYTES, batch_rows, write_reports
from deniable.io.tables import AnswerReader, open_answers
from deniable.randomness import Randomness

Progress = Callable[[int, int | None], None]
"""Called with (done, total) after every batch, in rows or bytes; total is None where it is not known."""

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class RandomizeResult:
    """What `randomize_file` did.

    Parameters
    ----------
    n : int
        Number of contributors.
    output : Path
        The report file.
    digest : str
        Digest of the batch of reports (64 hex digits).
    warnings : tuple of str
        What its user must know.
    """

    n: int
    output: Path
    digest: str
    warnings: tuple[str, ...]


def randomize_file(
    collection: Collection,
    answers: PathLike,
    output: PathLike,
    rng: Randomness,
    *,
    again: bool = False,
    progress: Progress | None = None,
) -> RandomizeResult:
    """Contributors in bulk: randomise a file of answers into a report file.

    The report file appears when every row is valid and randomised. Interrupted, nothing remains and nothing is spent:
    nobody has seen a report. Running it again on the *same answers* spends epsilon again, because whoever sees both
    files sees two reports of each contributor; so that is refused unless `again`, as far as the ledger beside the
    output remembers.

    Parameters
    ----------
    collection : Collection
        What is asked and how it is randomised.
    answers : path
        CSV or Parquet, one row per contributor.
    output : path
        The report file.
    rng : Randomness
        `SecureRandomness` for contributors.
    again : bool
        Spend epsilon once more on answers that were randomised before.
    progress : callable, optional
        Called with (done, total).

    Raises
    ------
    AlreadyRandomizedError
        If these answers were randomised before for this collection, and not `again`.
    InvalidInputError
        If an answer cannot be encoded, naming row and attribute.
    FileFormatError
        If the answers or the ledger cannot be read.
    OutputError
        If the reports cannot be written.
    """
    refuse_overwriting(output, [answers])
    output = Path(output)
    with open_answers(answers, collection.schema.names) as reader:
        ledger = Ledger.beside(output)
        digest = ledger.digest(answers)
        earlier = ledger.runs(collection.id, digest)
        warnings = []
        if earlier:
            message = _spent_again(collection, Path(answers), earlier)
            if not again:
                raise AlreadyRandomizedError(f"{message}; to do it nevertheless, say so with again=True (--again)")
            warnings.append(message)
        codes = _encoded(collection, reader, progress)
        reports = (collection.randomize(block, rng) for block in _rechunked(codes, _block_rows(collection)))
        written = write_reports(output, collection, reports, rng)
    try:
        # Another run may have written the ledger in the meantime, with a key of its own if it is the first.
        current = Ledger.beside(output)
        digest = digest if current.key == ledger.key else current.digest(answers)
        current.add(Entry(collection.id, digest, output.name, written.n)).save()
    except (FileFormatError, OutputError) as error:
        warnings.append(f"the reports are written, but not recorded, so a second run would go unnoticed: {error}")
    return RandomizeResult(written.n, output, written.digest, tuple(warnings))


def read_truth(
    collection: Collection, answers: PathLike, progress: Progress | None = None
) -> dict[str, NDArray[np.int64]]:
    """Count the true answers of a file, where they are known: for a demo or a rehearsal.

    Returns
    -------
    dict of str to int64[k]
        Per attribute, how many contributors hold each category.

    Raises
    ------
    InvalidInputError
        If an answer cannot be encoded, naming row and attribute.
    FileFormatError
        If the file cannot be read.
    """
    attributes = collection.schema.attributes
    if collection.schema.is_text:
        raise InvalidParameterError("open text has no categories to count: count_texts counts given strings")
    counts = [np.zeros(attribute.k, dtype=np.int64) for attribute in attributes]
    with open_answers(answers, collection.schema.names) as reader:
        for codes in _encoded(collection, reader, progress):
            for j, attribute in enumerate(attributes):
                counts[j] += np.bincount(codes[:, j], minlength=attribute.k)
    return dict(zip(collection.schema.names, counts, strict=True))


def count_texts(collection: Collection, answers: PathLike, progress: Progress | None = None) -> Counter[str]:
    """Count the true answers of open text, each cut as the mechanism cuts it: for a rehearsal.

    Returns
    -------
    Counter of str
        How many contributors hold each string, spelled as the estimate's labels are.

    Raises
    ------
    InvalidInputError
        If an answer is missing and there is no label for that, naming its row.
    FileFormatError
        If the file cannot be read.
    """
    mechanism: Any = collection.mechanism
    counts: Counter[bytes] = Counter()
    with open_answers(answers, collection.schema.names) as reader:
        for texts in _encoded(collection, reader, progress):
            counts.update(text.encode()[: mechanism.max_bytes] for text in texts[:, 0])
    return Counter({content.decode(errors="backslashreplace"): count for content, count in counts.items()})


def with_progress(reader: AnswerReader, progress: Progress | None) -> Iterator[pa.RecordBatch]:
    """Yield a reader's batches, reporting each before it is used."""
    for batch in reader:
        if progress is not None:
            progress(reader.done, reader.total)
        yield batch


def _encoded(collection: Collection, reader: AnswerReader, progress: Progress | None) -> Iterator[NDArray[Any]]:
    for batch in with_progress(reader, progress):
        yield collection.schema.encode(batch, first_row=reader.rows - batch.num_rows + 1)


def _block_rows(collection: Collection) -> int:
    return max(1, min(batch_rows(collection.mechanism), BATCH_BYTES // (8 * len(collection.schema.attributes))))


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


def refuse_overwriting(output: PathLike, inputs: Sequence[PathLike]) -> None:
    """Raise OutputError if an output is one of its inputs, or a directory."""
    for path in inputs:
        if os.path.exists(output) and os.path.exists(path) and os.path.samefile(output, path):
            raise OutputError(f"cannot write {output}: it is the input")
    if Path(output).is_dir():
        raise OutputError(f"cannot write {output}: it is a directory")


def _spent_again(collection: Collection, answers: Path, earlier: Sequence[Entry]) -> str:
    epsilon, runs = collection.privacy().epsilon, len(earlier) + 1
    return (
        f"{answers} was randomised before for this collection (into {', '.join(entry.reports for entry in earlier)}): "
        f"whoever sees all reports sees {runs} of each contributor, "
        f"and epsilon is {runs * epsilon:g} instead of {epsilon:g}"
    )
