"""Endpoints by which anyone can check a count: batches with their roots and leaves, and what an owner has published.

A batch here is one release step, so nobody sees the drained batches inside a step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from deniable.errors import StoreError
from deniable.service.collector import Collector, SurveySnapshot
from deniable.service.exports import reports_of_steps
from deniable.service.problems import Problem

LEAVES_TYPE = "application/octet-stream"

_IMMUTABLE = "public, max-age=31536000, immutable"
_READERS = 2

Found = TypeVar("Found")


class BatchEndpoints:
    """Endpoints about counted reports."""

    def __init__(self, collector: Collector) -> None:
        self._collector, self._reading = collector, CapacityLimiter(_READERS)

    async def batches(self, request: Request) -> Response:
        """Answer with the number of reports and the root of every batch, and the digest of the sum so far.

        A root is computed over the leaves of the batch.
        """
        held, store = self._held(request), self._collector.store
        found = await self._read(partial(store.released_batches, held.row.id))
        shown = await self._read(partial(self._published, held))
        batches = [
            {
                "number": one.number,
                "n": one.n,
                "root": one.root.hex() or None,
                "digest": one.digest.hex() or None,
                "opening": one.opening.hex() or None if shown else None,
            }
            for one in found
        ]
        reports = bool(shown) and await self._read(partial(store.shows_reports, held.row.id))
        said = {"collection": held.row.id, "batches": batches, "aggregate": bool(shown), "reports": reports}
        return JSONResponse(said, headers={"Cache-Control": "no-cache"})

    async def leaves(self, request: Request) -> Response:
        """Return all leaves of a batch, sorted, 32 bytes each, so that nobody learns which leaf a reader looks for."""
        held = self._held(request)
        read = partial(self._collector.store.released_leaves, held.row.id, _number(request))
        found = await self._read(read)
        if found is None:
            raise Problem(
                "not-found",
                "there is no batch with this number, or the batch was made by a release that kept no receipts (leaves)",
            )
        return Response(found, headers={"Cache-Control": _IMMUTABLE}, media_type=LEAVES_TYPE)

    async def aggregate(self, request: Request) -> Response:
        """Return the file of the aggregate, if results are published."""
        held = self._held(request)

        def exported() -> bytes:
            if not self._published(held):
                raise Problem("not-found", "the aggregate is not published")
            return held.survey.aggregate(*self._collector.store.released(held.row.id), held.row.source).to_bytes()

        return _file(await self._read(exported))

    async def reports(self, request: Request) -> Response:
        """Return a batch of reports as a file, if reports are published."""
        held, number = self._held(request), _number(request)

        def read() -> bytes:
            if not (self._published(held) and self._collector.store.shows_reports(held.row.id)):
                raise Problem("not-found", "the reports are not published")
            files = reports_of_steps(self._collector.store, held.survey.collection, held.row.source, only=number)
            if not files:
                raise Problem("not-found", "there is no batch with this number")
            return next(iter(files.values()))

        return _file(await self._read(read))

    def _held(self, request: Request) -> SurveySnapshot:
        held = self._collector.held(request.path_params["id"])
        if held is None:
            raise Problem("unknown-collection")
        return held

    def _published(self, held: SurveySnapshot) -> bool:
        return held.row.state == "closed" and bool(self._collector.store.published(held.row.id))

    async def _read(self, read: Callable[[], Found]) -> Found:
        try:
            return await to_thread.run_sync(read, limiter=self._reading)
        except StoreError as error:
            self._collector.outages.refused(str(error))
            raise Problem("store") from None


def _number(request: Request) -> int:
    text = request.path_params["number"]
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) > 0):
        raise Problem("not-found", "the number of a batch must be 1 or more")
    return int(text)


def _file(content: bytes) -> Response:
    return Response(content, headers={"Cache-Control": "no-cache"}, media_type=LEAVES_TYPE)
