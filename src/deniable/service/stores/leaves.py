"""Leaves of released reports, among which devices look for their own to find that a report was counted."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import NamedTuple

import numpy as np

from deniable.files.receipts import OPENING_BYTES, merkle_root, sorted_leaves, sum_digest
from deniable.files.wire import LEAF_BYTES, Rows
from deniable.service.stores.accounts import Run


class ReleasedBatch(NamedTuple):
    """Release step, as everybody may see it.

    Parameters
    ----------
    number : int
        Number of the step, from 1.
    n : int
        Number of reports in the step, which is also the number of its leaves.
    root : bytes
        Root of the tree over its leaves; empty for a step from before there were leaves.
    digest : bytes
        Digest of the sum of all steps up to this one.
    opening : bytes
        Bytes that open the digest; shown only where results are published.
    """

    number: int
    n: int
    root: bytes
    digest: bytes
    opening: bytes


class LeafTable(ABC):
    """Part of a store that keeps leaves, by release step; nobody is shown the batches inside a step."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Run]:
        """Open a transaction that only reads."""

    def released_batches(self, collection: str) -> list[ReleasedBatch]:
        """Return the release steps of a collection, in order."""
        with self._reading() as run:
            found = run(
                "SELECT n, root, digest, opening FROM releases WHERE collection = ? ORDER BY batches", collection
            )
        ends = [0, *(int(n) for n, _, _, _ in found)]
        return [
            ReleasedBatch(number, ends[number] - ends[number - 1], *(bytes(part or b"") for part in parts))
            for number, (_, *parts) in enumerate(found, 1)
        ]

    def released_leaves(self, collection: str, number: int) -> bytes | None:
        """Return the sorted leaves of a release step, one after the other, or None if there are none."""
        with self._reading() as run:
            found = run(
                "SELECT leaves FROM releases WHERE collection = ? ORDER BY batches LIMIT 1 OFFSET ?",
                *(collection, number - 1),
            )
        return bytes(found[0][0]) if found and found[0][0] is not None else None

    def _release_leaves(self, run: Run, collection: str, after: int, n: int) -> tuple[bytes, bytes]:
        """Remove n leaves from the batches after a given batch, and return them, sorted, with their root."""
        found = run("SELECT leaves FROM batches WHERE collection = ? AND number > ? ORDER BY number", collection, after)
        content = b"".join(bytes(leaves) for (leaves,) in found if leaves is not None)
        leaves = sorted_leaves(np.frombuffer(content, np.uint8).reshape(-1, LEAF_BYTES), n)
        run("UPDATE batches SET leaves = NULL WHERE collection = ? AND number > ?", collection, after)
        return leaves.tobytes(), merkle_root(leaves)


def commitment(collection: str, n: int, counts: bytes) -> tuple[bytes, bytes]:
    """Return the digest of a sum, and the opening of the digest."""
    opening = secrets.token_bytes(OPENING_BYTES)
    return sum_digest(opening, collection, n, counts), opening


def filled(leaves: Rows) -> Rows:
    """Return leaves in which a random leaf takes the place of each absent one.

    The stored leaves therefore do not tell which reports came without one.
    """
    absent = ~leaves.any(axis=1)
    if not absent.any():
        return leaves
    whole = leaves.copy()
    made = np.frombuffer(secrets.token_bytes(LEAF_BYTES * int(absent.sum())), np.uint8)
    whole[absent] = made.reshape(-1, LEAF_BYTES)
    return whole
