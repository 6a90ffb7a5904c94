"""Functions that deal into a directory and hand out shares from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from deniable.core.outputs import atomic_directory, atomic_path
from deniable.core.randomness import Randomness, draw
from deniable.errors import AlreadyRandomizedError, FileFormatError, InvalidParameterError, OutputError
from deniable.files.formats.pages import check_pages
from deniable.files.formats.tables import Progress, open_parquet, parquet_errors
from deniable.files.jobs.ledger import Entries, Entry
from deniable.research.dealt.files.shares import (
    CHUNK_ROWS,
    CONTRIBUTOR,
    PathLike,
    ShareReader,
    dealer_of,
    dealt_before,
    share_ledger,
    used_before,
    write_shares,
)
from deniable.research.dealt.shares import Dealer, Shares
from deniable.survey.collection import Collection


@dataclass(frozen=True)
class DealResult:
    """Result of `deal_file`.

    Parameters
    ----------
    n : int
        Number of contributors dealt to.
    output : Path
        Directory of the deal.
    dealing : str
        Random number of this dealing, which every share carries.
    warnings : tuple of str
        Messages that the user must know.
    """

    n: int
    output: Path
    dealing: str
    warnings: tuple[str, ...]


def deal_file(
    collection: Collection,
    contributors: int,
    output: PathLike,
    rng: Randomness,
    *,
    allow_repeat: bool = False,
    dealer: Dealer | None = None,
    progress: Progress | None = None,
) -> DealResult:
    """Dealer: deal a share to each contributor, into a new directory that only its owner can read.

    The directory appears when it is complete, and not at all on any failure. A collection is dealt only once, unless
    `allow_repeat` is true. A ledger beside the directory refuses a second dealing. The dealing is entered in this
    ledger before the directory appears.

    Parameters
    ----------
    collection : Collection
        Collection whose mechanism has a dealer.
    contributors : int
        Number of contributors. The mechanism says which numbers it can deal to.
    output : path
        Directory of the deal, which must not exist.
    rng : Randomness
        `SecureRandomness` for contributors.
    allow_repeat : bool
        True to deal once more for a collection that was dealt before. Not one share of the earlier dealing may be used.
    dealer : Dealer, optional
        Dealer that deals in the mechanism's place, for instance `Helpers`.
    progress : callable, optional
        Function that is called with (done, total) contributors.

    Raises
    ------
    InvalidParameterError
        If the mechanism has no dealer, or deals to another number of contributors.
    AlreadyRandomizedError
        If the collection was dealt before, and `allow_repeat` is false.
    OutputError
        If the directory exists or cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from deniable import Attribute, Collection, Schema, SimulationRandomness, mechanism
    >>> quota = mechanism("QuotaRR", k=2, epsilon=1.0, n=10, deal_id="one")
    >>> survey = Collection(Schema((Attribute("smoker", ("yes", "no")),)), quota)
    >>> with TemporaryDirectory() as folder:
    ...     deal_file(survey, 10, Path(folder) / "deal", SimulationRandomness(1)).n
    10
    """
    mechanism, output = dealer_of(collection), Path(output)
    if output.exists():
        raise OutputError(f"{output} exists, but a deal needs a new directory: choose another name")
    ledger = share_ledger(output.absolute().parent)
    warnings: list[str] = []

    def refuse(entries: Entries) -> None:
        earlier = dealt_before(entries, collection.id)
        if earlier is not None:
            message = f"this collection was dealt before, to {earlier.last:,} contributors in {earlier.into}"
            if earlier.begun:
                message += " (interrupted: if that directory did not appear, nobody has a share of it)"
            if not allow_repeat:
                raise AlreadyRandomizedError(
                    f"{message}; make a new collection, or deal again with allow_repeat=True",
                    parameters=("allow_repeat=True",),
                )
            warnings[:] = [f"{message}: shares of the two dealings must not be used side by side"]

    refuse(ledger.entries())
    shares = (dealer or mechanism).deal(contributors, rng)
    dealing = draw(rng, 2).astype("<u8").tobytes().hex()
    entry = Entry(event="dealt", collection=collection.id, dealing=dealing, last=contributors, into=output.name)
    with atomic_directory(output, commit=ledger.recording([entry], refuse)) as temporary:
        for start in range(0, contributors, CHUNK_ROWS):
            rows = slice(start, min(start + CHUNK_ROWS, contributors))
            numbers = np.arange(rows.start + 1, rows.stop + 1, dtype=np.int64)
            path = temporary / f"shares-{start // CHUNK_ROWS + 1:06d}.parquet"
            write_shares(path, collection, dealing, numbers, shares[rows])
            if progress is not None:
                progress(rows.stop, contributors)
    return DealResult(contributors, output, dealing, tuple(warnings))


def hand_out(collection: Collection, directory: PathLike, first: int, last: int, output: PathLike) -> int:
    """Dealer: move the shares of contributors first..last out of a deal's directory, into a file for them.

    The file is complete before the shares leave the directory. Until they have left, the directory's ledger says that
    they are gone. So no share is handed out twice, even if the call is interrupted half-way. The person who passes the
    file on deletes it afterwards.

    Parameters
    ----------
    collection : Collection
        Collection that was dealt.
    directory : path
        Directory of the deal.
    first, last : int
        First and last contributor, counted from 1, both included.
    output : path
        File for the contributors, which must not exist, outside the directory.

    Returns
    -------
    int
        Number of shares in the file.

    Raises
    ------
    InvalidParameterError
        If the numbers are not a range of contributors, or a share was handed out, or never dealt.
    AlreadyRandomizedError
        If a share was used.
    OutputError
        If the file exists or cannot be written, or a ledger cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from deniable import Attribute, Collection, Schema, SimulationRandomness, mechanism
    >>> quota = mechanism("QuotaRR", k=2, epsilon=1.0, n=10, deal_id="one")
    >>> survey = Collection(Schema((Attribute("smoker", ("yes", "no")),)), quota)
    >>> from deniable.research.dealt.files import deal_file
    >>> with TemporaryDirectory() as folder:
    ...     _ = deal_file(survey, 10, Path(folder) / "deal", SimulationRandomness(1))
    ...     hand_out(survey, Path(folder) / "deal", 1, 4, Path(folder) / "first.shares")
    4
    """
    dealer_of(collection)
    directory, output = Path(directory), Path(output)
    if not 1 <= first <= last:
        raise InvalidParameterError(
            f"the range of contributors must start at 1 or later, and must not end before its start, got {first} to "
            f"{last}"
        )
    if not directory.is_dir():
        raise FileFormatError(f"there is no directory {directory}")
    if output.exists():
        raise OutputError(
            f"{output} already exists: overwriting this file would destroy somebody's shares. Choose another name"
        )
    if output.absolute().parent.resolve() == directory.resolve():
        raise OutputError(
            f"{output} must be outside {directory}, because shares that are handed out leave the deal: choose another "
            "directory"
        )
    ledger = share_ledger(directory)
    with ledger.held():
        reader = ShareReader(directory, collection)
        touched = reader.restrict(first, last)
        found = [(numbers, shares) for numbers, shares in reader.batches() if numbers[-1] >= first]
        numbers = np.concatenate([np.empty(0, np.int64), *(part for part, _ in found)])
        inside = slice(int(np.searchsorted(numbers, first)), int(np.searchsorted(numbers, last, side="right")))
        numbers = numbers[inside]
        if len(numbers) != last - first + 1:
            absent = first + int(np.flatnonzero(np.append(numbers, -1) != np.arange(len(numbers) + 1) + first)[0])
            raise InvalidParameterError(
                f"{directory} has no share for contributor {absent:,}: this share was handed out, or never dealt"
            )
        clash = used_before(ledger.entries(), collection.id, reader.dealing, numbers)
        if clash is not None:
            raise AlreadyRandomizedError(f"the share of contributor {clash[0]:,} was already used (for {clash[1]})")
        shares = Shares.joined([part for _, part in found])[inside]
        leaving = Entry(
            event="used",
            collection=collection.id,
            dealing=reader.dealing,
            first=first,
            last=last,
            into=output.name,
            begun=True,
        )
        ledger.change([leaving])
        try:
            write_shares(output, collection, reader.dealing, numbers, shares)
        except BaseException:
            if not output.exists():
                ledger.change(removed=[leaving])
            raise
        for path in touched:
            _remove(path, first, last)
        ledger.change(removed=[leaving])
    return len(numbers)


def _remove(path: Path, first: int, last: int) -> None:
    """Remove a range of contributors from a file, or the whole file if no contributor is left in it."""
    with open_parquet(path) as file, parquet_errors(path):
        check_pages(file, path, file.schema_arrow.names)
        table = file.read()
    numbers = table.column(CONTRIBUTOR).to_numpy()
    kept = table.filter(pa.array((numbers < first) | (numbers > last)))
    if not kept.num_rows:
        path.unlink()
        return
    with atomic_path(path, private=True) as temporary:
        pq.write_table(kept, temporary, compression="zstd", use_dictionary=False, write_page_checksum=True)
