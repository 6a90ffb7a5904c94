"""Drafts of surveys that people make in a browser: a table of texts, which no other part of the collector reads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager

from deniable.errors import StoreError, quoted
from deniable.service.stores.accounts import Run

Change = Callable[[str | None], str | None]
"""Function that makes the next text of a draft from the present text. None means that there is no draft."""


class DraftTable(ABC):
    """Part of a store that keeps drafts."""

    @abstractmethod
    def _working(self) -> AbstractContextManager[Run]:
        """Open a transaction on the lane of work."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Run]:
        """Open a transaction that only reads."""

    def draft(self, slug: str) -> str | None:
        """Return the text of a draft, or None if there is none with this name."""
        with self._reading() as run:
            found = run("SELECT draft FROM drafts WHERE slug = ?", slug)
        return found[0][0] if found else None

    def drafts(self) -> dict[str, str]:
        """Return the texts of all drafts by their names, in the order of the names."""
        with self._reading() as run:
            return dict(run("SELECT slug, draft FROM drafts ORDER BY slug"))

    def change_draft(self, slug: str, change: Change) -> None:
        """Replace the text of a draft by the result of `change`, in one transaction.

        Raises
        ------
        StoreError
            If a new draft would have the name of a survey.
        """
        with self._working() as run:
            found = run("SELECT draft FROM drafts WHERE slug = ?", slug)
            before = found[0][0] if found else None
            after = change(before)
            if after is None:
                run("DELETE FROM drafts WHERE slug = ?", slug)
                return
            if before is None and run("SELECT 1 FROM collections WHERE slug = ?", slug):
                raise StoreError(
                    f"slug must be a new name, but another survey has slug={quoted(slug)}; choose another name"
                )
            run(
                "INSERT INTO drafts VALUES (?, ?) ON CONFLICT (slug) DO UPDATE SET draft = ?",
                *(slug, after, after),
            )
