"""Contributor's side in Python: draw once, keep the reports, and send them until they are counted.

Each try sends the kept reports, byte for byte, with ids that follow from them. A retry by any run therefore counts
once. The id of row r of a batch is the first 16 bytes of SHA-256("deniable bulk" || its digest, 32 bytes || r, 8 bytes,
little endian).
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import random
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from deniable.core.outputs import atomic_path
from deniable.core.randomness import SecureRandomness
from deniable.core.thresholds import EpsilonLike
from deniable.errors import FileFormatError, InvalidParameterError, MismatchError, UploadError, quoted
from deniable.files import ReportReader, randomize_file
from deniable.files.formats.tables import open_answers
from deniable.files.jobs.ledger import RECOGNISED_FROM, answers_ledger
from deniable.files.jobs.memos import MemoStore, is_memoised, user_memos
from deniable.files.jobs.person import PersonTotal, person_ledger, require
from deniable.files.jobs.randomizing import OnTotal, entries_about, file_digest, last_change, read_digest
from deniable.files.jobs.spending import Spending
from deniable.files.receipts import SECRET_BYTES, leaf_of
from deniable.files.wire import (
    BINARY_TYPE,
    ID_BYTES,
    JSON_TYPE,
    LEAF_BYTES,
    MAX_BODY,
    MAX_REPORTS,
    Body,
    Rows,
    from_base64url,
    report_width,
    to_base64url,
    to_wire,
)
from deniable.service.addresses import SurveyAddress
from deniable.service.invitations import nullifier
from deniable.service.survey_page import link_digits, page_hash
from deniable.survey.collection import Collection, short_id

TRIES = 12
"""Number of tries of one body before the run ends. The same command can continue later."""

MAX_SINGLES = 50
"""Most reports of a file that are sent without a token. A household needs no token, but a panel does."""

DEFAULT_PERSON = "me"
"""Name of the person whose answers a file of one row has, unless another person is named."""

_SEED, _SEED_BYTES = ".secrets", 32
"""Suffix and size of the seed kept beside reports, from which the secrets of their leaves are made."""

_FIRST, _LONGEST, _TIMEOUT = 0.5, 60.0, 30.0
_NOT_COUNTED = 404
_AGAIN = frozenset({408, 425, 429})

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True)
class Sent:
    """Outcome of the reports that were sent.

    Parameters
    ----------
    n : int
        Number of reports.
    counted, already, invalid : int
        Number of reports that are new, that were counted before, and that are not reports of this mechanism.
    kept : Path
        File in which the reports are kept.
    drawn : bool
        True if this run drew the reports.
    spending : Spending or None
        Spending of the contributors in all collections of their answers; None for a file of reports.
    person_total : PersonTotal or None
        Total that the one person has spent; None for several people, or a file of reports.
    remarks : tuple of str
        Remarks on how the file of answers was read, if that is not usual.
    """

    n: int
    counted: int
    already: int
    invalid: int
    kept: Path
    drawn: bool
    spending: Spending | None = None
    person_total: PersonTotal | None = None
    remarks: tuple[str, ...] = ()


def send_file(
    collection: Collection,
    answers: Path,
    url: str,
    *,
    token: str | None = None,
    max_epsilon: EpsilonLike | None = None,
    person: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    on_total: OnTotal | None = None,
    progress: Progress | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Sent:
    """Contributor: send the reports of a file of answers, drawn once; or, in bulk, a file of reports.

    Answers are randomised as `deniable.files.randomize_file` does it, ledger included. The reports are kept where the
    ledger is. If they were drawn before, they are sent again and not drawn again, provided that the file still holds
    the same answers. Many answers are recognised by the ledger's keyed digest. Few answers leave nothing behind that is
    derived from them. Their file must therefore have as many rows as before, and must not have been changed since.
    Whatever happened to the file of answers, the kept file of reports can be given in its place.

    Parameters
    ----------
    collection : Collection
        Collection that is asked.
    answers : Path
        Answers (CSV or Parquet), or reports (Parquet).
    url : str
        Address of the collector, or a survey's link.
    token : str, optional
        Token of an owner or a sender of the collector, with which reports are sent in batches. Without one they are
        sent one by one, up to `MAX_SINGLES`.
    max_epsilon : float, Fraction, Decimal or str, optional
        Refuse, before anything is drawn or sent, if the contributors would have spent more in all collections of these
        answers that this user's ledger knows. Reports that were drawn earlier and kept count as well.
    person : str, optional
        Name of the one person whose answers these are. The total that this person has spent is then added up over all
        collections, whatever the files are called. By default a file of one row is that of "me", and a file of more
        rows has no person. A mechanism that keeps permanent responses needs one person.
    delimiter : str, optional
        CSV delimiter, if it is not to be found.
    decimal : {"point", "comma"}, optional
        Decimal mark, if the file does not tell.
    on_total : callable, optional
        Function that is called, before anything is drawn, with the total that the contributors will have spent.
    progress : callable, optional
        Function that is called with (reports sent, reports in all).
    sleep : callable
        Function that waits between tries.

    Raises
    ------
    UploadError
        If the collector does not take the reports, or cannot be reached.
    MismatchError
        If a link was made for another collection or other texts. If the file holds other answers than those whose
        reports were kept, or may hold others.
    PrivacyLimitError
        If the collection's epsilon, or the total of all collections of these answers, is larger than `max_epsilon`.
    InvalidParameterError
        If `max_epsilon` is not a budget, or is given for a file of reports: the ledger finds people by their answers.
    DeniableError
        If answers cannot be read or randomised.
    """
    ready = _is_reports(answers)
    if max_epsilon is not None:
        collection.privacy().require(max_epsilon)
        if ready:
            raise InvalidParameterError(
                f"max_epsilon must be left out for a file of reports such as {answers}, because the ledger cannot "
                "tell whose reports these are: give the file of answers instead",
                parameters=("max_epsilon",),
            )
    remote = Remote(url, collection, sleep, token)
    remote.check_link()
    kept, drawn = answers, False
    spending: Spending | None = None
    total: PersonTotal | None = None
    remarks: tuple[str, ...] = ()
    if not ready:
        kept = _kept(collection, answers)
        who = _person(collection, answers, person, delimiter)
        if kept.exists():
            spending = _check_same(collection, answers, kept, delimiter, decimal)
            if max_epsilon is not None and not is_memoised(collection):
                spending.require(max_epsilon, outcome=f"nothing was sent, and the reports stay in {kept}")
            if who is not None:
                total = person_ledger(who).ensure(collection)
                if max_epsilon is not None:
                    require(total, total, max_epsilon)
        else:
            # Nothing is randomised for a survey that does not take reports.
            remote.check_open()
            remote.check_invitation()
            if remote.name is not None:
                key = answers_ledger().key()
                if read_digest(collection, answers, key, delimiter=delimiter, decimal=decimal).n != 1:
                    raise _for_one(answers)
            kept.parent.mkdir(mode=0o700, exist_ok=True)
            _make_seed(kept)
            with _spending(collection, who, max_epsilon) as (total, memos):
                found = randomize_file(
                    collection,
                    answers,
                    kept,
                    SecureRandomness(),
                    # A ledger of files adds up whole budgets. Reports of one memo are added up in the person's ledger.
                    max_epsilon=max_epsilon if memos is None else None,
                    delimiter=delimiter,
                    decimal=decimal,
                    keep=True,
                    memos=memos,
                    on_total=on_total,
                )
            spending, drawn, remarks = found.spending, True, found.remarks
    reader = ReportReader(kept, collection)
    if remote.name is not None and reader.n != 1:
        raise _for_one(answers)
    if token is None and reader.n > MAX_SINGLES:
        raise UploadError(
            f"without a token, at most {MAX_SINGLES} reports can be sent, but the file has {reader.n:,} reports: run "
            f"the same command with --token-file. The reports are kept in {kept}"
        )
    counts = np.zeros(3, dtype=np.int64)
    sent = 0
    for one in bodies(reader, MAX_REPORTS if token else 1, kept_seed(kept)):
        name = remote.name
        body = one if name is None else replace(one, ids=np.frombuffer(name, np.uint8).reshape(1, ID_BYTES))
        counts += remote.post(body)
        sent += body.n
        if progress is not None:
            progress(sent, reader.n)
    counted, already, invalid = map(int, counts)
    return Sent(reader.n, counted, already, invalid, kept, drawn, spending, total, remarks)


def _person(collection: Collection, answers: Path, person: str | None, delimiter: str | None) -> str | None:
    """Return the name of the one person whose answers a file holds, or None if there are several people."""
    with open_answers(answers, collection.schema.asked, delimiter=delimiter) as reader:
        rows = 0
        for batch in reader:
            rows += batch.num_rows
            if rows > 1:
                break
    if rows == 1:
        return DEFAULT_PERSON if person is None else person
    if person is not None:
        raise InvalidParameterError(
            f"person must be left out for a file of more than one row, got person={quoted(person)}; give every person "
            "a separate file",
            parameters=("person",),
        )
    if rows > 1 and is_memoised(collection):
        raise InvalidParameterError(
            f"answers must have one row, got more rows: {collection.mechanism.name} keeps permanent responses of one "
            "person. Give every person a separate file of answers, and a name (--person)"
        )
    return None


@contextlib.contextmanager
def _spending(
    collection: Collection, person: str | None, maximum: EpsilonLike | None
) -> Iterator[tuple[PersonTotal | None, MemoStore | None]]:
    """Record the draw of one person inside the block; record nothing for several people."""
    if person is None:
        yield None, None
        return
    memos = user_memos(person) if is_memoised(collection) else None
    memo = None if memos is None else memos.memo(collection, SecureRandomness())
    with person_ledger(person).spending(collection, memo=memo, maximum=maximum) as total:
        yield total, memos


def _for_one(answers: Path) -> UploadError:
    return UploadError(
        f"{answers} must have the answers of exactly one person, because the link is for one person. Nothing was sent; "
        "give a file with one row of answers"
    )


def bodies(reader: ReportReader, most: int = MAX_REPORTS, seed: bytes | None = None) -> Iterator[Body]:
    """Yield the bodies in which a file of reports is sent, of at most this many reports each.

    Reports have leaves if `seed` is given, from which their secrets are made.
    """
    mechanism = reader.collection.mechanism
    most = max(1, min(most, (MAX_BODY - 32) // (ID_BYTES + report_width(mechanism) + LEAF_BYTES)))
    row = 0
    for reports in reader:
        rows = to_wire(mechanism, reports)
        for start in range(0, len(rows), most):
            part = rows[start : start + most]
            leaves = None if seed is None else _leaves(seed, row + start, part)
            yield Body(reader.collection.id, bulk_ids(reader.digest, row + start, len(part)), part, leaves)
        row += len(rows)


def bulk_ids(digest: str, first: int, n: int) -> Rows:
    """Return the ids of n rows of a batch from row `first` on, uint8[n, 16].

    Examples
    --------
    >>> bulk_ids("00" * 32, 0, 1).tobytes().hex()
    'fb41d5de3c65ac438f469df970e744f1'
    """
    start = b"deniable bulk" + bytes.fromhex(digest)
    ids = b"".join(
        hashlib.sha256(start + row.to_bytes(8, "little")).digest()[:ID_BYTES] for row in range(first, first + n)
    )
    return np.frombuffer(ids, np.uint8).reshape(n, ID_BYTES)


def sent_leaves(collection: Collection, answers: Path) -> list[bytes]:
    """Contributor: return the leaves of the reports that `send_file` drew for a file of answers.

    Parameters
    ----------
    collection : Collection
        Collection that was asked.
    answers : Path
        File of answers; it need not exist any more.

    Returns
    -------
    list of bytes
        A leaf for every report; empty if they were drawn by a release without receipts.

    Raises
    ------
    FileFormatError
        If no reports of this file were kept.
    """
    kept = _kept(collection, answers)
    if not kept.exists():
        raise FileFormatError(
            f"no reports of {answers} are kept here, because this user has not sent reports of these answers: give the "
            "file of answers whose reports were sent"
        )
    seed = kept_seed(kept)
    if seed is None:
        return []
    reader = ReportReader(kept, collection)
    return [leaf.tobytes() for body in bodies(reader, seed=seed) for leaf in body.all_leaves]


def kept_seed(kept: Path) -> bytes | None:
    """Return the seed of the secrets of kept reports, or None if there is none."""
    path = kept.with_suffix(_SEED)
    return path.read_bytes() if path.exists() else None


def _make_seed(kept: Path) -> None:
    """Write a new seed for reports that are about to be drawn."""
    with atomic_path(kept.with_suffix(_SEED), private=True) as temporary:
        temporary.write_bytes(secrets.token_bytes(_SEED_BYTES))


def _leaves(seed: bytes, first: int, rows: Rows) -> Rows:
    """Return the leaves of rows from `first` on; a row's secret is made from the seed and the row's number."""
    made = [
        leaf_of(
            hashlib.sha256(b"deniable receipt" + seed + (first + i).to_bytes(8, "little")).digest()[:SECRET_BYTES],
            row.tobytes(),
        )
        for i, row in enumerate(rows)
    ]
    return np.frombuffer(b"".join(made), np.uint8).reshape(-1, LEAF_BYTES)


class Remote:
    """Collector at an address, for one collection.

    Parameters
    ----------
    url : str
        Address of the collector, or a survey's link.
    collection : Collection
        Collection that the collector must have.
    sleep : callable
        Function that waits between tries.
    token : str, optional
        Token that is sent with reports.

    Raises
    ------
    InvalidParameterError
        If the address is not a URL, or a token would be sent in the clear.
    """

    def __init__(
        self,
        url: str,
        collection: Collection,
        sleep: Callable[[float], None] = time.sleep,
        token: str | None = None,
    ) -> None:
        address = SurveyAddress.read(url)
        self._api = f"{address.base}/api/v1/collections/{collection.id}"
        self._sleep = sleep
        self._collection, self._link = collection, address.digits
        self.name: bytes | None = None
        """The id that an invitation's report must have; None without an invitation."""
        if address.token:
            secret = from_base64url([address.token], ID_BYTES, "the link's token")
            self.name = nullifier(collection.id, secret.tobytes())
        parts = urlsplit(url)
        if token is not None and parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
            raise InvalidParameterError(
                f"the address must begin with https://, got {quoted(url)}: a token is sent to this address"
            )
        self._token = token

    def check_link(self) -> None:
        """Raise MismatchError if the address is a link that was made for another collection or other texts."""
        if not self._link:
            return
        page, _ = self._answer("/page", None, frozenset({"collection"}))
        if link_digits(self._collection.id, page_hash(page.decode())) != self._link:
            raise MismatchError(
                f"the link is for another collection than {short_id(self._collection.id)}, or the collector now shows "
                "other texts. No report was made or sent; ask the person who gave you the link and the collection"
            )

    def check_open(self) -> None:
        """Raise UploadError unless the survey is open, because nothing may be drawn otherwise."""
        state = self._asked("/state", None, frozenset({"state"}))["state"]
        if state != "open":
            why = "not open yet" if state == "draft" else state
            later = "; try again later" if state in ("draft", "paused") else ""
            raise UploadError(f"the survey takes no answers now, because it is {why}. No report was made{later}")

    def check_invitation(self) -> None:
        """Raise UploadError unless an invitation is given exactly if the survey needs one, and can still be used."""
        access = self._asked("/page", None, frozenset({"collection"})).get("access", "open")
        if (access == "invited") != (self.name is not None):
            wrong = (
                "the survey is for invited people, but the address has no invitation: no report was made; give the "
                "whole link of an invited person"
                if self.name is None
                else "the link has an invitation, but the survey is for everyone: no report was made; give the link "
                "that ends after 32 digits"
            )
            raise UploadError(wrong)
        if self.name is None:
            return
        content = json.dumps({"id": to_base64url(self.name)}).encode()
        request = urllib.request.Request(self._api + "/receipts", content, {"Content-Type": JSON_TYPE})
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT):
                raise UploadError("this link was used before, and a link can be used only once: no report was made")
        except urllib.error.HTTPError as error:
            if error.code != _NOT_COUNTED:
                raise UploadError(f"the collector refused: {_problem(error)} No report was made") from None
        except OSError as error:
            raise UploadError(f"the collector did not answer ({error}): no report was made; try again later") from None

    def post(self, body: Body) -> tuple[int, int, int]:
        """Send reports until they are counted, and return how many are new, counted before, and invalid."""
        outcomes = ("counted", "already", "invalid")
        said = self._answer("/reports", body.to_binary(), frozenset(outcomes), body.binary_type)[1]
        counted, already, invalid = (int(said[name]) for name in outcomes)
        return counted, already, invalid

    def _asked(self, path: str, content: bytes | None, keys: frozenset[str]) -> dict[str, Any]:
        return self._answer(path, content, keys)[1]

    def _answer(
        self, path: str, content: bytes | None, keys: frozenset[str], media_type: str = BINARY_TYPE
    ) -> tuple[bytes, dict[str, Any]]:
        """Return a collector's answer, which must have these keys.

        A network's login page also answers 200 to everything.
        """
        wait, last = _FIRST, ""
        for _ in range(TRIES):
            request = urllib.request.Request(self._api + path, content, {"Content-Type": media_type})
            if self._token is not None and content is not None:
                # A redirection does not take the header elsewhere.
                request.add_unredirected_header("Authorization", f"Bearer {self._token}")
            try:
                with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
                    said = response.read()
                found = _object(said)
                if keys <= found.keys():
                    return said, found
                last, least = "the server that answered is not a collector", 0.0
            except urllib.error.HTTPError as error:
                problem = _problem(error)
                if error.code == 422:
                    return b"", {"counted": 0, "already": 0, "invalid": 1}
                if error.code not in _AGAIN and error.code < 500:
                    raise UploadError(f"the collector refused: {problem}") from None
                last, least = problem, _retry_after(error.headers)
            except urllib.error.URLError as error:
                last, least = str(error.reason), 0.0
            except OSError as error:
                last, least = str(error), 0.0
            except http.client.HTTPException:
                last, least = "the server that answered is not a collector", 0.0
            # The full delay is random, so that devices that were turned away together do not come back together.
            self._sleep(max(least, random.uniform(0, wait)))
            wait = min(2 * wait, _LONGEST)
        raise UploadError(f"the collector did not answer in {TRIES} tries ({last}); run the same command again later")


def _object(content: bytes) -> dict[str, Any]:
    """Return the JSON object in an answer, or an empty one."""
    try:
        found = json.loads(content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _problem(error: urllib.error.HTTPError) -> str:
    try:
        said: dict[str, Any] = json.loads(error.read())
        return " ".join(filter(None, [str(said["title"]), str(said.get("detail", ""))]))
    except (ValueError, KeyError, TypeError, OSError):
        return f"status {error.code}"


def _retry_after(headers: Message) -> float:
    text = headers.get("retry-after", "")
    return min(float(text), _LONGEST) if text.isdecimal() else 0.0


def _kept(collection: Collection, answers: Path) -> Path:
    """Return the file in which the reports of a file of answers are kept, named by its path, never by its contents."""
    name = hashlib.sha256(str(answers.resolve()).encode()).hexdigest()[:16]
    return answers_ledger().path.parent / "sent" / f"{collection.id[:16]}-{name}.parquet"


def _check_same(
    collection: Collection, answers: Path, kept: Path, delimiter: str | None, decimal: str | None
) -> Spending:
    """Raise MismatchError unless a file holds the answers whose reports were kept; return what they have spent."""
    ledger = answers_ledger()
    entries = [entry for entry in ledger.entries() if entry.event == "randomized"]
    own = [entry for entry in entries if (entry.collection, entry.into) == (collection.id, str(kept.absolute()))]
    modified = last_change(answers)
    digest = read_digest(collection, answers, ledger.key(), delimiter=delimiter, decimal=decimal)
    which = digest.answers() or f"path:{answers.resolve()}"
    choices = (
        f"for the answers of other people, use a file with another name; to send the reports that were kept, give "
        f"{kept} in place of the answers"
    )
    if not own or own[-1].last != digest.n or own[-1].answers != which:
        raise MismatchError(
            f"the answers in {answers} differ from the answers of an earlier run, and the reports of that run are "
            f"kept. This run made and sent no reports; {choices}"
        )
    if own[-1].modified and own[-1].modified != modified:
        raise MismatchError(
            f"{answers} was changed after its reports were made and kept. With fewer than {RECOGNISED_FROM:,} answers, "
            "`deniable` cannot tell whether the answers are still the same, because the kept data must not reveal "
            f"answers. This run made and sent no reports; {choices} (also if the answers are the same)"
        )
    same = entries_about(tuple(entries), answers, which, file_digest(answers, ledger.key()))
    return Spending(collection, tuple(entry for entry in same if entry is not own[-1]))


def _is_reports(path: Path) -> bool:
    """Return whether a file is one of reports, also of another collection, which is then refused."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from deniable.files.formats.parquet_metadata import REPORTS

    try:
        metadata = pq.read_metadata(path).metadata or {}
    except (pa.ArrowException, OSError, ValueError):
        return False
    return REPORTS.format.encode() in metadata.get(b"deniable", b"")
