"""Dealing by helpers in their own processes: the knowledge of each helper, and failures of a helper.

Statistical tests have fixed seeds and a false-alarm probability of 1e-6 each.
"""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.errors import DealingError, InvalidParameterError, MissingExtraError
from deniable.research.dealt.coupling.kary_jrr import KaryJRR
from deniable.research.dealt.mpc import processes
from deniable.research.dealt.mpc.plan import plan_of
from deniable.research.dealt.mpc.shuffling import shuffling_groups
from deniable.research.dealt.mpc.splitting import SplitDeal, join_pieces, split_deal
from deniable.research.dealt.quota.quota_rr import QuotaRR
from tests.research.dealt.mpc.started import jrr
from tests.research.dealt.mpc_views import DEALS
from tests.unit._goodness import p_value

FALSE_ALARM = 1e-6


# ---------------------------------------------------------------- knowledge of helpers


@pytest.fixture(scope="module")
def three() -> SplitDeal:
    return split_deal(jrr(4001), 4001)


@pytest.fixture(scope="module")
def five() -> SplitDeal:
    return split_deal(jrr(1201), 1201, 5, shuffle="network")


@pytest.mark.long
def test_signs_are_balanced(three: SplitDeal, five: SplitDeal) -> None:
    assert np.bincount(three.types()).tolist() == [2000, 2000, 1]
    assert np.bincount(five.types()).tolist() == [600, 600, 1]
    # The order differs. In the mutant, shares are handed out unshuffled, and the halves would be constant.
    assert 900 < three.types()[:2000].sum() < 1100
    assert 240 < five.types()[:600].sum() < 360


@pytest.mark.parametrize("known", [(1, 2), (1, 3), (2, 3), (3, 1)])
def test_any_two_of_three_pieces_determine_a_share(three: SplitDeal, known: tuple[int, int]) -> None:
    rows = three.pieces[[point - 1 for point in known]]
    assert (join_pieces(known, rows, three.modulus, 1) == three.types()).all()


def test_one_piece_of_three_says_nothing(three: SplitDeal) -> None:
    types = three.types()
    uniform = dict.fromkeys(range(251), 1 / 251)
    for row in three.pieces:
        for kind in (0, 1):
            assert p_value(row[types == kind].tolist(), uniform) > FALSE_ALARM
    # Mutant: the coefficients of the polynomials are bits.
    short = (types + np.random.default_rng(1).integers(0, 2, len(types))) % 251
    assert p_value(short.tolist(), uniform) < FALSE_ALARM


def test_two_pieces_of_five_say_nothing_and_three_everything(five: SplitDeal) -> None:
    types = five.types()
    for known in itertools.combinations(range(1, 6), 3):
        assert (join_pieces(known, five.pieces[[point - 1 for point in known]], 251, 2) == types).all()
    coarse = {value: len(range(value * 32, min(value * 32 + 32, 251))) / 251 for value in range(8)}
    for left, right in itertools.combinations(five.pieces, 2):
        # Two pieces are independent and uniform exactly if all their combinations are uniform.
        for factor in (1, 2, 7, 100, 250):
            combined = (left + factor * right) % 251 // 32
            for kind in (0, 1):
                assert p_value(combined[types == kind].tolist(), coarse) > FALSE_ALARM / 100
    # Mutant: polynomials of degree 1 would let two helpers read every share.
    with pytest.raises(DealingError, match="contradict"):
        join_pieces(range(1, 6), five.pieces, 251, 1)


@pytest.mark.parametrize("points", [(0, 1), (1, 251), (251, 252), (-1, 2), (1, 2.5), (1, 1, 2)])
def test_points_are_different_numbers_of_helpers(points: tuple[Any, ...]) -> None:
    with pytest.raises(DealingError, match=r"points must be different integers in 1\.\.250, got"):
        join_pieces(points, [[9]] * len(points), modulus=251, degree=1)


@pytest.mark.long
@pytest.mark.parametrize("shuffle", ["resharing", "network"])
def test_any_two_of_four_pieces_determine_a_share_and_one_says_nothing(shuffle: Any) -> None:
    """Four helpers tolerate one, as three do; a `degree` of 4 // 2 would wrongly claim to tolerate two."""
    four = split_deal(jrr(2001), 2001, 4, shuffle=shuffle)
    assert four.degree == 1
    types = four.types()
    assert np.bincount(types).tolist() == [1000, 1000, 1]
    for known in itertools.combinations(range(1, 5), 2):
        assert (join_pieces(known, four.pieces[[point - 1 for point in known]], 251, four.degree) == types).all()
    coarse = {value: len(range(value * 32, min(value * 32 + 32, 251))) / 251 for value in range(8)}
    for row in four.pieces:
        for kind in (0, 1):
            assert p_value((row[types == kind] // 32).tolist(), coarse) > FALSE_ALARM / 100
    with pytest.raises(
        DealingError,
        match=r"pieces must come from at least 2 different helpers, with one row for each helper, got points=3",
    ):
        join_pieces([3], four.pieces[2:3], 251, four.degree)


def test_a_helper_does_not_know_the_order_and_two_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[4])
    results = processes.run_helpers(plan_of(jrr(2), 2), 3, 60.0, "tests.research.dealt.mpc_views")
    written = np.array([result["pieces"] for result in results])
    first = join_pieces([1, 2, 3], written[:, :DEALS], 251, 1)
    told = written[:, DEALS:].reshape(3, DEALS, 3)
    groups = shuffling_groups(3, 1)
    assert (told[:, 0] == -1).tolist() == [[member not in group for group in groups] for member in range(3)]
    even = {(parity, value): 1 / 4 for parity in (0, 1) for value in (0, 1)}
    for known in told:
        parity = np.where(known < 0, 0, known).sum(axis=1) % 2
        assert p_value(zip(parity.tolist(), first.tolist(), strict=True), even) > FALSE_ALARM
    # Mutant: one group has all helpers. Then one helper knows every permutation, as two helpers do together.
    parity = np.maximum(told[0], told[1]).sum(axis=1) % 2
    assert (parity == first).all()


# ---------------------------------------------------------------- failures


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    helpers: list[subprocess.Popen[bytes]] = []
    start = processes._start

    def noted(*arguments: Any) -> subprocess.Popen[bytes]:
        helpers.append(start(*arguments))
        return helpers[-1]

    monkeypatch.setattr(processes, "_start", noted)
    yield helpers
    assert len(helpers) == 3
    assert all(helper.returncode is not None for helper in helpers), "a helper was left behind"


def test_killed_helper_is_an_error(started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch) -> None:
    send = processes._send

    def send_and_kill(helper: subprocess.Popen[bytes], job: dict[str, Any]) -> None:
        send(helper, job)
        if job["index"] == 1:
            helper.kill()

    monkeypatch.setattr(processes, "_send", send_and_kill)
    with pytest.raises(DealingError, match=r"^helper 2 failed \(it was killed\); no share of this deal may be used$"):
        split_deal(jrr(100), 100)


def test_helpers_that_take_too_long_are_stopped(started: list[subprocess.Popen[bytes]]) -> None:
    with pytest.raises(DealingError, match=r"^the helpers were not done after 0\.2 s: allow more time"):
        split_deal(jrr(100), 100, timeout=0.2)


def test_interrupt_stops_all_helpers(started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(processes, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        split_deal(jrr(100), 100)


def test_damaged_piece_is_noticed(three: SplitDeal) -> None:
    damaged = three.pieces.copy()
    damaged[2, 17] = (damaged[2, 17] + 1) % 251
    with pytest.raises(
        DealingError, match="the pieces of contributor 17 contradict each other, so at least one piece is damaged"
    ):
        join_pieces([1, 2, 3], damaged, 251, 1)


@pytest.mark.parametrize(("points", "rows"), [([1], 1), ([1, 1], 2), ([1, 2], 1)])
def test_too_few_pieces(points: list[int], rows: int) -> None:
    with pytest.raises(DealingError, match="pieces must come from at least 2 different helpers"):
        join_pieces(points, np.zeros((rows, 4), dtype=np.int64), 251, 1)


def test_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r'pip install "deniable\[mpc\]"'):
        split_deal(jrr(100), 100)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parties": 2}, "parties must be >= 3, got parties=2"),
        ({"parties": 6}, "parties must be <= 5, got parties=6"),
        ({"n": 1}, "n must be >= 2, got n=1"),
        ({"n": 70_000}, "n must be <= 65536, got n=70000"),
        ({"n": 99}, "n must be 100, got n=99: the deal was made for 100 contributors"),
        ({"shuffle": "riffle"}, "shuffle must be one of resharing, network, got shuffle=“riffle”"),
        ({"timeout": 0}, "timeout must be > 0, got timeout=0"),
        ({"mechanism": "QuotaRR"}, "mechanism must be QuotaRR or JRR"),
    ],
)
def test_bad_parameters(options: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"mechanism": QuotaRR(1.0, 100), "n": 100, **options}
    with pytest.raises(InvalidParameterError, match=message):
        split_deal(**arguments)


# ---------------------------------------------------------------- fields, plans, guarantee


def test_plan_of_signs() -> None:
    for mechanism in (jrr(7), KaryJRR(k=3, p=0.6, rho=-0.2, n=7)):
        plan = plan_of(mechanism, 7)
        assert (plan.n, plan.counts, plan.law) == (7, (3, 3, 1), None)
