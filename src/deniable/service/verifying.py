"""Checks, from outside, of what a collector serves and publishes.

Anyone with a survey's file and its address can run them. Every check says that something is so, that it is not, or that
the published data do not determine it. None of them finds a collector that counts a report which nobody sent, or that
leaves out a report whose sender never looks.
"""

from __future__ import annotations

import http.client
import json
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from deniable.core.aggregate import Aggregate
from deniable.core.privacy import bound_text
from deniable.errors import CollectorError, DeniableError, MismatchError, quoted
from deniable.files import ReportReader
from deniable.files.receipts import InclusionProof, find_leaf, merkle_root, sum_digest
from deniable.files.wire import LEAF_BYTES, Rows
from deniable.service.addresses import SurveyAddress
from deniable.service.survey_page import SurveyPage, earlier_rounds, link_digits, page_hash, read_page
from deniable.survey.collection import Collection, short_id

Status = Literal["passed", "failed", "not determined"]

_TIMEOUT = 30.0
MOST = 1 << 29
"""Most bytes of an answer that are read."""


class Answered(NamedTuple):
    """Answer of a collector: HTTP status and content."""

    status: int
    content: bytes


Fetch = Callable[[str], Answered]
"""Function that returns the answer at an address."""


@dataclass(frozen=True)
class Check:
    """Result of one check.

    Parameters
    ----------
    name : str
        Subject of the check: collection, guarantee, texts, page, client, batches, receipt, sum or reports.
    status : {"passed", "failed", "not determined"}
        Result: whether the subject is as it should be.
    detail : str
        Description of what is so, what is wrong, or what would be needed.
    """

    name: str
    status: Status
    detail: str


@dataclass(frozen=True)
class Verification:
    """Result of `verify_collector`.

    Parameters
    ----------
    checks : tuple of Check
        Checks in the order in which they were made.
    """

    checks: tuple[Check, ...]

    def of(self, status: Status) -> tuple[Check, ...]:
        """Return the checks with a given status."""
        return tuple(check for check in self.checks if check.status == status)

    @property
    def consistent(self) -> bool:
        """Return whether no check failed; checks that are not determined do not count as failed."""
        return not self.of("failed")

    def require(self) -> None:
        """Raise MismatchError, which names the failed checks, unless no check failed."""
        if failed := self.of("failed"):
            raise MismatchError("; ".join(f"the check {quoted(check.name)} failed: {check.detail}" for check in failed))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        checks = [{"name": one.name, "status": one.status, "detail": one.detail} for one in self.checks]
        return {"consistent": self.consistent, "checks": checks}


def verify_collector(
    collection: Collection, url: str, *, leaves: Sequence[bytes] | None = None, fetch: Fetch | None = None
) -> Verification:
    """Check what a collector serves and publishes for a collection.

    Parameters
    ----------
    collection : Collection
        Collection, read from a file that did not come from this collector.
    url : str
        Link of the survey, or address of the collector. With the address alone, the survey's texts and page are not
        determined.
    leaves : sequence of bytes, optional
        Leaves of the caller's own reports, to be found in a batch.
    fetch : callable
        Function that returns the answer at an address.

    Returns
    -------
    Verification

    Raises
    ------
    CollectorError
        If nothing answers at this address, or another server does.
    InvalidParameterError
        If the address is not a URL, or not a survey's link.
    """
    return _Verifier(collection, SurveyAddress.read(url), fetch or _fetched).run(leaves)


class _Batch(NamedTuple):
    number: int
    n: int
    root: str | None
    digest: str | None
    opening: str | None


class _WrongError(Exception):
    """Error for a failed check; its text says how the check failed."""


class _OpenError(Exception):
    """Error for a check that is not determined; its text says why."""


class _Verifier:
    """Checks of one collection, each a method that returns a description of what is so."""

    def __init__(self, collection: Collection, address: SurveyAddress, fetch: Fetch) -> None:
        self._collection, self._address, self._fetch = collection, address, fetch
        self._api = f"{address.base}/api/v1/collections/{collection.id}"
        self._batches: list[_Batch] = []
        self._shows = {"aggregate": False, "reports": False}
        self._leaves: dict[int, Rows] = {}

    def run(self, leaves: Sequence[bytes] | None) -> Verification:
        state = self._get(f"{self._api}/state")
        if state.status not in (200, 404):
            raise CollectorError(f"no collector answers at {self._address.base}: the status is {state.status}")
        checks: list[tuple[str, Callable[[], str]]] = [
            ("collection", self._check_collection),
            ("guarantee", self._check_guarantee),
            ("texts", self._check_texts),
            ("page", self._check_page),
            ("client", self._check_client),
            ("batches", self._check_batches),
        ]
        if leaves is not None:
            checks.append(("receipt", lambda: self._check_receipts(leaves)))
        checks += [("sum", self._check_sum), ("reports", self._check_reports)]
        return Verification(tuple(_checked(name, check) for name, check in checks))

    # ---------------------------------------------------------------- the survey and its client

    def _check_collection(self) -> str:
        answer = self._get(self._api)
        if answer.status != 200:
            raise _WrongError(f"the collector has no collection {short_id(self._collection.id)}")
        served = self._read(answer.content)
        if served.id != self._collection.id:
            raise _WrongError(f"the collector answers with collection {short_id(served.id)} instead of this collection")
        return f"it serves collection {short_id(served.id)}, whose id is computed from its content"

    def _read(self, content: bytes) -> Collection:
        with tempfile.TemporaryDirectory() as folder:
            for attribute in self._collection.schema.attributes:
                if attribute.dictionary is not None:
                    words = self._get(f"{self._api}/dictionary/{attribute.name}")
                    (Path(folder) / attribute.dictionary.file).write_bytes(words.content)
            return Collection.from_json(_text(content), "the collection that is served", folder)

    def _check_guarantee(self) -> str:
        guarantee = self._collection.privacy()
        return f"epsilon = {bound_text(guarantee.epsilon)}, computed here from the mechanism's thresholds"

    def _check_texts(self) -> str:
        text, _ = self._texts()
        if not self._address.digits:
            raise _OpenError("give the whole link of the survey, with the digits after its #, to compare the texts")
        if link_digits(self._collection.id, page_hash(text)) != self._address.digits:
            raise _WrongError("the link was made for different texts or a different collection")
        return "the link was made for these texts"

    def _texts(self) -> tuple[str, SurveyPage]:
        answer = self._get(f"{self._api}/page")
        if answer.status != 200:
            raise _WrongError(f"the collector has no texts for this collection: the status is {answer.status}")
        text = _text(answer.content)
        return text, read_page(text, "the texts that are served", self._collection)

    def _check_page(self) -> str:
        from deniable.service.public import bundles
        from deniable.service.rendering import render_template

        slug = self._address.slug
        if not slug:
            raise _OpenError(
                "the link of the survey must be given to compare the survey's page with the page of this release"
            )
        answer = self._get(f"{self._address.base}/s/{slug}")
        if answer.status != 200:
            raise _OpenError(f"the collector shows no page at /s/{slug}")
        served = _text(answer.content)
        names = {name: hashed for name, (hashed, _, _) in bundles().items()}
        language = next(iter(self._texts()[1].languages))
        about = {"id": self._collection.id, "slug": slug, "earlier": earlier_rounds(self._collection)}
        if served != render_template("survey.html", **about, language=language, bundle=names):
            raise _WrongError("the page differs from the page of this release, so it may load another program")
        return "it is the page of this release, which loads the files below and nothing else"

    def _check_client(self) -> str:
        from deniable.service.public import bundles

        found = bundles()
        for name, (hashed, content, _) in found.items():
            for served in (hashed, name):
                answer = self._get(f"{self._address.base}/static/{served}")
                if answer.status != 200:
                    raise _WrongError(f"the collector has no file {served}: the collector runs a different release")
                if answer.content != content:
                    raise _WrongError(f"the file {served} differs from the file of this release")
        return f"its {len(found)} files are those of this release, byte for byte"

    # ---------------------------------------------------------------- published data

    def _check_batches(self) -> str:
        answer = self._get(f"{self._api}/batches")
        if answer.status != 200:
            raise _OpenError(f"the collector publishes no batches: the status is {answer.status}")
        said = _object(answer.content)
        try:
            if said["collection"] != self._collection.id:
                raise _WrongError(f"the batches belong to collection {short_id(str(said['collection']))}")
            self._batches = [_Batch(**one) for one in said["batches"]]
            self._shows = {name: bool(said[name]) for name in self._shows}
        except (KeyError, TypeError):
            raise _WrongError("the collector did not answer with a list of batches") from None
        rootless = 0
        for place, batch in enumerate(self._batches, 1):
            if batch.number != place:
                raise _WrongError(f"the collector does not list batch {place}")
            if not isinstance(batch.n, int) or batch.n < 1:
                raise _WrongError(f"the collector does not say how many reports batch {place} has")
            if batch.root is None:
                rootless += 1
                continue
            self._check_leaves(batch, batch.root)
        if rootless:
            raise _OpenError(
                f"{rootless} of {len(self._batches)} batches were made by a release that kept no receipts (leaves)"
            )
        n = sum(batch.n for batch in self._batches)
        return f"each of {len(self._batches)} has as many leaves as reports, {n:,} in all, and their root"

    def _check_leaves(self, batch: _Batch, root: str) -> None:
        answer = self._get(f"{self._api}/batches/{batch.number}/leaves")
        if answer.status != 200:
            raise _WrongError(
                f"batch {batch.number} states the hash of its leaves (the root), but the leaves are missing"
            )
        if len(answer.content) != batch.n * LEAF_BYTES:
            raise _WrongError(
                f"batch {batch.number} states {batch.n:,} reports, but it has {len(answer.content) // LEAF_BYTES:,} "
                "leaves"
            )
        leaves = np.frombuffer(answer.content, np.uint8).reshape(-1, LEAF_BYTES)
        if merkle_root(leaves).hex() != root:
            raise _WrongError(f"batch {batch.number} states a root that does not match its leaves")
        self._leaves[batch.number] = leaves

    def _check_receipts(self, mine: Sequence[bytes]) -> str:
        if not mine:
            raise _OpenError("no secret was kept with these reports, so these reports cannot be found in the batches")
        found = []
        for leaf in mine:
            number = next((k for k, leaves in self._leaves.items() if find_leaf(leaves, leaf) is not None), None)
            if number is not None:
                root = bytes.fromhex(self._batches[number - 1].root or "")
                if InclusionProof.of(self._leaves[number], leaf).holds(leaf, root):
                    found.append(number)
        where = ", ".join(map(str, sorted(set(found))))
        if len(found) < len(mine):
            state = _object(self._get(f"{self._api}/state").content).get("state")
            missing = f"{len(mine) - len(found)} of {len(mine)} reports are in no batch"
            if state != "closed":
                raise _OpenError(f"{missing} yet; look again after the next release")
            raise _WrongError(f"{missing}, and the survey is closed")
        return f"{'it is' if len(mine) == 1 else f'all {len(mine)} are'} counted, in batch {where}"

    def _check_sum(self) -> str:
        if not self._shows["aggregate"]:
            raise _OpenError("the collector does not publish the aggregate")
        aggregate = self._aggregate()
        if aggregate.collection != self._collection.id:
            raise _WrongError(
                f"the aggregate belongs to collection {short_id(aggregate.collection)}, not to this collection"
            )
        n = sum(batch.n for batch in self._batches)
        if aggregate.n != n:
            raise _WrongError(f"the aggregate has {aggregate.n:,} reports, but the batches have {n:,} reports")
        last = self._batches[-1] if self._batches else None
        if last is None or last.digest is None or last.opening is None:
            raise _OpenError(
                "the collector does not publish the openings of its digests, so the sum cannot be compared with the "
                "digests"
            )
        if _digest(last, self._collection.id, n, aggregate.counts) != last.digest:
            raise _WrongError("the aggregate does not match the digest to which the collector committed itself")
        return f"the aggregate has all {n:,} reports of the batches, and the digest stated before"

    def _aggregate(self) -> Aggregate:
        answer = self._get(f"{self._api}/aggregate")
        if answer.status != 200:
            raise _WrongError(
                "the collector says that it publishes the aggregate, but the aggregate is missing: the status is "
                f"{answer.status}"
            )
        return Aggregate.from_bytes(answer.content)

    def _check_reports(self) -> str:
        if not self._shows["reports"]:
            raise _OpenError("the collector does not publish the reports")
        mechanism = self._collection.mechanism
        total, n, seen = np.zeros(mechanism.state_size, dtype=np.int64), 0, set[str]()
        for batch in self._batches:
            answer = self._get(f"{self._api}/batches/{batch.number}/reports")
            if answer.status != 200:
                raise _WrongError(f"the reports of batch {batch.number} are missing")
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"batch-{batch.number}"
                path.write_bytes(answer.content)
                reader = ReportReader(path, self._collection)
                if reader.n != batch.n:
                    raise _WrongError(
                        f"batch {batch.number} states {batch.n:,} reports, but it contains {reader.n:,} reports"
                    )
                if reader.digest in seen:
                    raise _WrongError(f"the reports of batch {batch.number} are the same as in an earlier batch")
                seen.add(reader.digest)
                for reports in reader:
                    total += mechanism.aggregate(reports).counts
            n += batch.n
            if batch.digest and batch.opening and _digest(batch, self._collection.id, n, total) != batch.digest:
                raise _WrongError(
                    f"the sum of the reports up to batch {batch.number} does not match the digest that was stated "
                    "before"
                )
        if not np.array_equal(self._aggregate().counts, total):
            raise _WrongError("the aggregate is not the sum of the reports")
        return f"the aggregate is the sum of {n:,} published reports"

    # ---------------------------------------------------------------- requests

    def _get(self, address: str) -> Answered:
        return self._fetch(address)


def _checked(name: str, check: Callable[[], str]) -> Check:
    try:
        return Check(name, "passed", check())
    except _OpenError as error:
        return Check(name, "not determined", str(error))
    except _WrongError as error:
        return Check(name, "failed", str(error))
    except CollectorError:
        raise
    except DeniableError as error:
        return Check(name, "failed", str(error))


def _digest(batch: _Batch, collection: str, n: int, counts: Any) -> str:
    try:
        opening = bytes.fromhex(batch.opening or "")
    except (TypeError, ValueError):
        raise _WrongError(f"the opening of the digest of batch {batch.number} cannot be read") from None
    return sum_digest(opening, collection, n, np.asarray(counts).astype("<i8").tobytes()).hex()


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise _WrongError("the collector did not answer with UTF-8 text") from None


def _object(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise _WrongError("the collector did not answer with a JSON object")
    return found


def _fetched(address: str) -> Answered:
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT) as response:
            content: bytes = response.read(MOST + 1)
            status: int = response.status
    except urllib.error.HTTPError as error:
        with error:
            return Answered(error.code, error.read(1 << 16))
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise CollectorError(
            f"nothing answers at {address.partition('/api/')[0]}: {reason}; check the address"
        ) from None
    if len(content) > MOST:
        raise CollectorError(f"the answer of {address} must have at most {MOST:,} bytes, but it is longer")
    return Answered(status, content)
