"""Receipts, by which a device finds in a collector's published data that its report was counted.

A device keeps 16 random bytes, its secret, and sends a *leaf* with its report: SHA-256(secret || report). The leaf says
nothing about the report to anyone who does not have the secret, and is unrelated to the report's id. A collector
publishes all leaves of a batch, sorted, and the root of the tree over them. A device looks for its own leaf in the
whole list, so that nobody learns which one it looked for.

The tree is the Merkle tree of RFC 6962, section 2.1, over the sorted leaves: a leaf's hash is SHA-256(0x00 || leaf), a
node's is SHA-256(0x01 || left || right), and the left subtree of n leaves has the largest power of two below n. So an
odd node goes up as it is and is never doubled, and no leaf can be read as a node. The root of no leaves is SHA-256 of
nothing. A leaf may occur twice: a sender may copy one that it has seen, and each report counts.
"""

from __future__ import annotations

import hashlib
import itertools
import secrets
from dataclasses import dataclass

import numpy as np

from deniable.errors import InvalidParameterError, MismatchError
from deniable.files.wire import LEAF_BYTES, Rows

SECRET_BYTES = 16
"""Bytes of a device's secret."""

OPENING_BYTES = 16
"""Number of bytes that open a digest of a sum."""

_LEAF, _NODE = b"\x00", b"\x01"


def leaf_of(secret: bytes, report: bytes) -> bytes:
    r"""Contributor: return the leaf of a report.

    Parameters
    ----------
    secret : bytes
        16 random bytes that only this device has, used for one report.
    report : bytes
        The report as it is sent.

    Returns
    -------
    bytes
        32 bytes.

    Raises
    ------
    InvalidParameterError
        If the secret does not have 16 bytes.

    Examples
    --------
    >>> leaf_of(bytes(16), b"\x07\x01").hex()[:16]
    'f58ccbd793aa3982'
    """
    if len(secret) != SECRET_BYTES:
        raise InvalidParameterError(f"secret must have {SECRET_BYTES} bytes, got {len(secret)}")
    return hashlib.sha256(secret + report).digest()


def sorted_leaves(leaves: Rows, n: int | None = None) -> Rows:
    """Return leaves in their order, filled up to n by random ones of which nobody has the secret.

    Parameters
    ----------
    leaves : uint8[m, 32]
        Leaves in any order.
    n : int, optional
        Number of reports; some may have come without a leaf.

    Returns
    -------
    uint8[max(m, n), 32]
        Leaves sorted as bytes.
    """
    absent = max(0, (n or 0) - len(leaves))
    made = np.frombuffer(secrets.token_bytes(LEAF_BYTES * absent), np.uint8).reshape(absent, LEAF_BYTES)
    whole = np.ascontiguousarray(np.concatenate([leaves, made]))
    order = np.argsort(whole.view(f"V{LEAF_BYTES}")[:, 0], kind="stable")
    return whole[order]


def merkle_root(leaves: Rows) -> bytes:
    """Return the root of the tree over sorted leaves, uint8[n, 32].

    Raises
    ------
    MismatchError
        If the leaves are not sorted.

    Examples
    --------
    >>> merkle_root(np.zeros((0, 32), np.uint8)).hex()[:16]
    'e3b0c44298fc1c14'
    """
    texts = [leaf.tobytes() for leaf in leaves]
    if any(one > other for one, other in itertools.pairwise(texts)):
        raise MismatchError(
            "leaves must be sorted, got another order. Sort the leaves, because another order could tell when each "
            "report came"
        )
    level = [hashlib.sha256(_LEAF + leaf).digest() for leaf in texts]
    if not level:
        return hashlib.sha256().digest()
    while len(level) > 1:
        level = _next_level(level)
    return level[0]


@dataclass(frozen=True)
class InclusionProof:
    """Proof that a leaf is in a published batch, for anyone who knows the batch's root (RFC 6962, section 2.1.1).

    Parameters
    ----------
    index, n : int
        Place of the leaf, from 0, and number of leaves.
    path : tuple of bytes
        Hashes of the siblings on the path from the leaf to the root, lowest first.

    Examples
    --------
    >>> leaves = sorted_leaves(np.arange(96, dtype=np.uint8).reshape(3, 32))
    >>> proof = InclusionProof.of(leaves, leaves[2].tobytes())
    >>> proof.holds(leaves[2].tobytes(), merkle_root(leaves)), proof.holds(leaves[1].tobytes(), merkle_root(leaves))
    (True, False)
    """

    index: int
    n: int
    path: tuple[bytes, ...]

    @classmethod
    def of(cls, leaves: Rows, leaf: bytes) -> InclusionProof:
        """Return the proof for a leaf.

        Raises
        ------
        MismatchError
            If the leaf is not in the batch.
        """
        place = find_leaf(leaves, leaf)
        if place is None:
            raise MismatchError(
                "leaf must be one of the leaves of the batch: take the leaf and the leaves from the same batch"
            )
        level = [hashlib.sha256(_LEAF + one.tobytes()).digest() for one in leaves]
        path, at = [], place
        while len(level) > 1:
            if at ^ 1 < len(level):
                path.append(level[at ^ 1])
            level, at = _next_level(level), at // 2
        return cls(place, len(leaves), tuple(path))

    def holds(self, leaf: bytes, root: bytes) -> bool:
        """Return whether the batch of this root holds the leaf."""
        if not 0 <= self.index < self.n:
            return False
        node, at, last, steps = hashlib.sha256(_LEAF + leaf).digest(), self.index, self.n - 1, list(self.path)
        while last:
            if at % 2 or at < last:
                if not steps:
                    return False
                beside = steps.pop(0)
                node = hashlib.sha256(_NODE + (beside + node if at % 2 else node + beside)).digest()
            at, last = at // 2, last // 2
        return not steps and node == root


def find_leaf(leaves: Rows, leaf: bytes) -> int | None:
    """Return the place of a leaf among sorted leaves, None if it is not there."""
    items = np.ascontiguousarray(leaves).tobytes()
    low, high = 0, len(leaves)
    while low < high:
        middle = (low + high) // 2
        if items[middle * LEAF_BYTES : (middle + 1) * LEAF_BYTES] < leaf:
            low = middle + 1
        else:
            high = middle
    return low if items[low * LEAF_BYTES : (low + 1) * LEAF_BYTES] == leaf else None


def sum_digest(opening: bytes, collection: str, n: int, counts: bytes) -> bytes:
    """Return the digest by which a collector is bound to a sum before it publishes the sum.

    It is SHA-256 of ``deniable sum``, the opening, the collection's id, n (8 bytes) and the counters (8 bytes each),
    numbers little endian. The opening has 16 random bytes. Without it, anyone could find a sum of few reports by
    trying.

    Examples
    --------
    >>> sum_digest(bytes(16), "00" * 32, 2, bytes(16)).hex()[:16]
    '3092c0f92e17812f'
    """
    return hashlib.sha256(
        b"deniable sum" + opening + bytes.fromhex(collection) + n.to_bytes(8, "little") + counts
    ).digest()


def _next_level(level: list[bytes]) -> list[bytes]:
    """Return the parents of nodes; one without a neighbour goes up as it is."""
    return [
        hashlib.sha256(_NODE + level[i] + level[i + 1]).digest() if i + 1 < len(level) else level[i]
        for i in range(0, len(level), 2)
    ]
