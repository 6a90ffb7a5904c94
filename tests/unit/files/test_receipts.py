"""Leaves and their tree, against RFC 6962 written down as a recursion."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from deniable.errors import InvalidParameterError, InvalidReportError, MismatchError
from deniable.files.receipts import InclusionProof, find_leaf, leaf_of, merkle_root, sorted_leaves, sum_digest
from deniable.files.wire import Body, Rows, from_binary, from_json


def leaves_of(n: int) -> Rows:
    return sorted_leaves(np.random.default_rng(n).integers(0, 256, (n, 32), dtype=np.uint8))


def recursion(leaves: list[bytes]) -> bytes:
    """Return MTH of RFC 6962, section 2.1."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    split = 1
    while 2 * split < len(leaves):
        split *= 2
    return hashlib.sha256(b"\x01" + recursion(leaves[:split]) + recursion(leaves[split:])).digest()


@pytest.mark.parametrize("n", [*range(18), 100])
def test_the_root_is_that_of_the_standard(n: int) -> None:
    leaves = leaves_of(n)
    assert merkle_root(leaves) == recursion([leaf.tobytes() for leaf in leaves])


def test_an_odd_node_is_not_doubled_and_a_node_is_no_leaf() -> None:
    three = leaves_of(3)
    doubled = np.concatenate([three, three[2:]])
    assert merkle_root(three) != merkle_root(doubled)
    inner = [hashlib.sha256(b"\x00" + leaf.tobytes()).digest() for leaf in leaves_of(2)]
    node = hashlib.sha256(b"\x01" + inner[0] + inner[1]).digest()
    assert merkle_root(leaves_of(2)) == node
    assert merkle_root(np.frombuffer(node, np.uint8).reshape(1, 32)) != node


def test_leaves_in_another_order_are_refused() -> None:
    with pytest.raises(MismatchError, match="leaves must be sorted"):
        merkle_root(leaves_of(5)[::-1])


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 13, 100])
def test_a_proof_holds_for_its_leaf_and_batch_alone(n: int) -> None:
    leaves = leaves_of(n)
    root, texts = merkle_root(leaves), [leaf.tobytes() for leaf in leaves]
    forged = merkle_root(sorted_leaves(np.concatenate([leaves[1:], leaves_of(n + 200)[:1]])))
    for place, leaf in enumerate(texts):
        proof = InclusionProof.of(leaves, leaf)
        assert proof.index == place
        assert proof.holds(leaf, root)
        assert not proof.holds(leaf, forged)
        assert not proof.holds(bytes(32), root)
        assert not any(proof.holds(other, root) for other in texts if other != leaf)
        # These proofs have another place, another number of leaves, or a step too few or too many.
        wrong = [
            InclusionProof(place + 1, n, proof.path),
            InclusionProof(place, n + 200, proof.path),
            InclusionProof(place, n, (*proof.path, bytes(32))),
            *([InclusionProof(place, n, proof.path[:-1])] if proof.path else []),
        ]
        assert not any(one.holds(leaf, root) for one in wrong)
    with pytest.raises(MismatchError, match="must be one of the leaves of the batch"):
        InclusionProof.of(leaves, bytes(32))


def test_leaves_are_filled_up_by_ones_that_nobody_chose() -> None:
    mine = leaves_of(3)
    whole = sorted_leaves(mine, 10)
    assert len(whole) == 10
    assert all(find_leaf(whole, leaf.tobytes()) is not None for leaf in mine)
    assert not {leaf.tobytes() for leaf in whole} & {leaf.tobytes() for leaf in sorted_leaves(leaves_of(0), 10)}
    assert find_leaf(whole, bytes(32)) is None
    assert find_leaf(whole, b"\xff" * 32) is None


def test_a_leaf_depends_on_secret_and_report_and_a_secret_has_its_length() -> None:
    assert len({leaf_of(bytes(16), b"ab"), leaf_of(b"1" * 16, b"ab"), leaf_of(bytes(16), b"ac")}) == 3
    with pytest.raises(InvalidParameterError, match="secret must have 16 bytes, got 15"):
        leaf_of(bytes(15), b"a")


def test_a_digest_is_of_everything_that_it_states() -> None:
    one = (bytes(16), "00" * 32, 5, bytes(24))
    others = [
        (b"1" * 16, "00" * 32, 5, bytes(24)),
        (bytes(16), "01" * 32, 5, bytes(24)),
        (bytes(16), "00" * 32, 6, bytes(24)),
        (bytes(16), "00" * 32, 5, bytes(23) + b"1"),
    ]
    assert len({sum_digest(*each) for each in (one, *others)}) == 5


def test_bodies_carry_leaves_in_both_forms() -> None:
    leaves = leaves_of(3)
    body = Body("ab" * 32, np.zeros((3, 16), np.uint8), np.ones((3, 2), np.uint8), leaves)
    for read in (from_json(body.to_json()), from_binary(body.to_binary(), 2, leaves=True)):
        assert read.leaves is not None
        assert read.leaves.tolist() == leaves.tolist()
        assert read.rows.tolist() == body.rows.tolist()
    # Some reports have a leaf, and some have none.
    some = leaves.copy()
    some[1] = 0
    read = from_json(Body(body.collection, body.ids, body.rows, some).to_json())
    assert read.all_leaves.tolist() == some.tolist()
    assert from_json(Body(body.collection, body.ids, body.rows).to_json()).leaves is None
    with pytest.raises(InvalidReportError, match="leaf must have 43 characters, but it has 44"):
        from_json(body.to_json().replace(b'"leaf":"', b'"leaf":"A', 1))
    with pytest.raises(InvalidReportError, match="must have 32 bytes, and another 50 bytes for every report"):
        from_binary(body.to_binary()[:-1], 2, leaves=True)
