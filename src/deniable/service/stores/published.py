"""Results that were put on the public port: pages by collection and name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager

from deniable.service.stores.accounts import Run

REPORTS = ".reports"
"""Name of an empty page. If the page exists, reports are published as well."""


class PublishedTable(ABC):
    """Part of a store that keeps published results."""

    @abstractmethod
    def _working(self) -> AbstractContextManager[Run]:
        """Open a transaction on the lane of work."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Run]:
        """Open a transaction that only reads."""

    def publish(self, collection: str, pages: Mapping[str, str]) -> None:
        """Replace the published pages of a collection; an empty set of pages withdraws them."""
        with self._working() as run:
            run("DELETE FROM published WHERE collection = ?", collection)
            # A survey that was deleted in the meantime publishes nothing.
            if run("SELECT 1 FROM collections WHERE id = ?", collection):
                for name, page in pages.items():
                    run("INSERT INTO published VALUES (?, ?, ?)", collection, name, page)

    def published(self, collection: str) -> tuple[str, ...]:
        """Return the names of the published pages."""
        with self._reading() as run:
            found = run("SELECT name FROM published WHERE collection = ? ORDER BY name", collection)
        return tuple(name for (name,) in found if name != REPORTS)

    def shows_reports(self, collection: str) -> bool:
        """Return whether the reports of a collection are published."""
        with self._reading() as run:
            return bool(run("SELECT 1 FROM published WHERE collection = ? AND name = ?", collection, REPORTS))

    def published_page(self, collection: str, name: str) -> str | None:
        """Return a published page, or None if there is none with this name."""
        with self._reading() as run:
            found = run("SELECT page FROM published WHERE collection = ? AND name = ?", collection, name)
        return found[0][0] if found else None
