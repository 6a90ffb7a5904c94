"""The real data sets: their origins, how to make their files, and how to check the files.

No data set is part of the repository or of a release. `prepare` verifies the files in the directory that
``DENIABLE_DATA`` names. It makes missing files from the files of the public origin. These are downloaded, or placed by
hand in the subdirectory ``raw`` if the publisher requires a login or a click. The *content* is checked (SHA-256 after
decompression, number of rows, column names), so that a file may be compressed by another program. `data_sets.json` has
the specifications.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import importlib.resources
import io
import json
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

from deniable.core.outputs import atomic_path
from deniable.errors import DeniableError

KOSARAK_LINES = 100_000
TIMEOUT = 60
"""Seconds without an answer after which an origin counts as unreachable."""

Raw = Mapping[str, bytes]
"""The origin's files by name."""


class DataError(DeniableError):
    """A data file differs from what it should be, or its origin is unreachable."""


@dataclass(frozen=True)
class DataSet:
    """One file below ``DENIABLE_DATA``.

    Parameters
    ----------
    name : str
        File name; the suffix ``.gz`` means compressed.
    title, page, licence : str
        Title, page of publication, and licence of the publisher.
    origin : dict
        Raw file -> URL; or ``package:`` and a path inside an installed package; or None if only a person can fetch it.
    share : bool
        Whether the licence, as far as we know it, allows passing the file on.
    rows : int
        Number of records (lines, if the file has no columns).
    columns : list of str
        Column names, in their order.
    delimiter : str
        Delimiter between columns; empty if the file has none.
    sha256 : str
        Digest of the decompressed content.
    """

    name: str
    title: str
    page: str
    origin: dict[str, str | None]
    licence: str
    share: bool
    rows: int
    delimiter: str
    columns: list[str]
    sha256: str


@cache
def data_sets() -> dict[str, DataSet]:
    """Return all data sets that experiments read, by file name."""
    text = Path(__file__).with_name("data_sets.json").read_text(encoding="utf-8")
    return {name: DataSet(name, **fields) for name, fields in json.loads(text).items()}


# ---------------------------------------------------------------- checks of files


def content(path: Path) -> bytes:
    """Return a file's bytes, decompressed."""
    if path.suffix != ".gz":
        return path.read_bytes()
    try:
        return gzip.decompress(path.read_bytes())
    except (OSError, EOFError) as error:
        raise DataError(f"{path} is not a gzip file: {error}") from error


def verify(data: DataSet, found: bytes) -> None:
    """Check the content of a file.

    Raises
    ------
    DataError
        If columns, number of rows or digest differ. They are checked in this order, because the first difference tells
        most.
    """
    lines = found.decode("utf-8", "replace").splitlines()
    if data.columns:
        header = lines[0].split(data.delimiter) if lines else []
        if header != data.columns:
            raise DataError(f"{data.name}: its columns are {header}, and should be {data.columns}")
    rows = len(lines) - bool(data.columns)
    if rows != data.rows:
        raise DataError(f"{data.name}: it has {rows:,} rows, and should have {data.rows:,}")
    digest = hashlib.sha256(found).hexdigest()
    if digest != data.sha256:
        raise DataError(f"{data.name}: rows and columns are right, but the content's SHA-256 is {digest}")


# ---------------------------------------------------------------- conversion of original files


def _text(raw: bytes) -> list[str]:
    """Return the lines that are not empty."""
    return [line for line in raw.decode("utf-8").splitlines() if line.strip()]


def _csv(rows: Iterable[Iterable[str]]) -> bytes:
    return "".join(",".join(row) + "\n" for row in rows).encode()


def _headed(data: DataSet, raw: Raw) -> bytes:
    """Put a header over the lines of one raw file."""
    (only,) = raw.values()
    return _csv([data.columns, *(line.split(",") for line in _text(only))])


def _adult(data: DataSet, raw: Raw) -> bytes:
    """Put training rows before test rows; drop blanks, the remark on the first line, and the test labels' full stop."""
    lines = _text(raw["adult.data"]) + [line for line in _text(raw["adult.test"]) if not line.startswith("|")]
    return _csv([data.columns, *([cell.strip() for cell in line.rstrip(" .").split(",")] for line in lines)])


def _clave(data: DataSet, raw: Raw) -> bytes:
    """Separate the bits by commas, and drop comments."""
    (only,) = raw.values()
    wanted = len(data.columns)
    return _csv([data.columns, *(line.split()[:wanted] for line in _text(only))])


def _kosarak(_: DataSet, raw: Raw) -> bytes:
    """Keep the first lines."""
    with gzip.open(io.BytesIO(raw["kosarak.dat.gz"]), "rt", encoding="ascii") as lines:
        return "".join(line.strip() + "\n" for line in islice(lines, KOSARAK_LINES)).encode()


def _celeba(data: DataSet, raw: Raw) -> bytes:
    """Write -1 as 0; drop the count on the first line, the file names, and the blanks."""
    lines = _text(raw["list_attr_celeba.txt"])
    rows = (line.split()[-len(data.columns) :] for line in lines if ".jpg" in line)
    return _csv([data.columns, *(["1" if cell == "1" else "0" for cell in row] for row in rows)])


def _lfw(data: DataSet, raw: Raw) -> bytes:
    """Keep whether each score is positive; drop persons and image numbers."""
    rows = (line.split("\t")[-len(data.columns) :] for line in _text(raw["lfw_attributes.txt"]) if line[0] != "#")
    return _csv([data.columns, *(["1" if float(cell) > 0 else "0" for cell in row] for row in rows)])


def _selected(data: DataSet, raw: Raw) -> bytes:
    """Keep some columns of a CSV file with quoted texts."""
    (only,) = raw.values()
    rows = csv.DictReader(io.StringIO(only.decode("utf-8-sig"), newline=""))
    return _csv([data.columns, *([row[column] for column in data.columns] for row in rows)])


def _integers(_: DataSet, raw: Raw) -> bytes:
    """Write whole numbers without ".0"."""
    (only,) = raw.values()
    return _csv([cell.removesuffix(".0") for cell in line.split(",")] for line in _text(only))


def _unquoted(_: DataSet, raw: Raw) -> bytes:
    """Drop the quotes around column names."""
    (only,) = raw.values()
    return only.replace(b'"', b"").replace(b"\r\n", b"\n")


def _same(_: DataSet, raw: Raw) -> bytes:
    """Take the file as it is."""
    (only,) = raw.values()
    return only


MAKERS: dict[str, Callable[[DataSet, Raw], bytes]] = {
    "adult.csv.gz": _adult,
    "mushroom.csv": _headed,
    "nursery.csv": _headed,
    "firm_teacher_clave.csv": _clave,
    "drug_consumption.csv": _headed,
    "kosarak_first100k.dat.gz": _kosarak,
    "celeba_attr.csv.gz": _celeba,
    "lfw_attributes_sign.csv.gz": _lfw,
    "cardio_train.csv.gz": _same,
    "womens_clothing.csv": _selected,
    "brfss2015_health.csv.gz": _integers,
    "acs_employment_montana.csv": _same,
    "fair_affairs.csv": _unquoted,
}
"""(data set, raw files) -> content."""


def fetched(place: str) -> bytes:
    """Return a raw file from its URL or from an installed package.

    Raises
    ------
    DataError
        If the file cannot be fetched.
    """
    try:
        if place.startswith("package:"):
            package, _, path = place.removeprefix("package:").partition("/")
            return importlib.resources.files(package).joinpath(path).read_bytes()
        with urllib.request.urlopen(place, timeout=TIMEOUT) as answer:
            found: bytes = answer.read()
            return found
    except (OSError, ModuleNotFoundError) as error:
        raise DataError(f"{place} cannot be had: {error}") from error


def raw_files(data: DataSet, folder: Path) -> dict[str, bytes]:
    """Return the origin's files: those placed in `folder`, and the others from their publisher.

    Raises
    ------
    DataError
        If a file can neither be found nor fetched; the message says which file to place where.
    """
    found = {}
    for name, place in data.origin.items():
        path = folder / name
        if path.is_file():
            found[name] = path.read_bytes()
            continue
        by_hand = f"get {name} from {data.page} and place it in {folder}"
        if place is None:
            raise DataError(f"{data.name}: only a person can fetch it: {by_hand}")
        try:
            found[name] = fetched(place)
        except DataError as error:
            raise DataError(f"{data.name}: {error}; {by_hand}") from error
    return found


def prepare(data: DataSet, folder: Path) -> str:
    """Verify a data file, or make it from its origin's files, verify it and write it; return what was done.

    Raises
    ------
    DataError
        If an existing file is wrong (it is left alone), or a missing file cannot be made.
    """
    path = folder / data.name
    if path.is_file():
        verify(data, content(path))
        return "there, verified"
    made = MAKERS[data.name](data, raw_files(data, folder / "raw"))
    verify(data, made)
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as temporary:
        temporary.write_bytes(gzip.compress(made, 9, mtime=0) if path.suffix == ".gz" else made)
    return "made, verified"
