"""No random word is used for two of many contributors. All mechanisms are tested, and mutants fail by name."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import deniable as dn
from deniable.core import randomness
from deniable.core.randomness import BLOCK_WORDS, Randomness, Words, WordStream, draw
from deniable.errors import BrokenLawError
from deniable.oracles import grr, square_wave, unary_bulk
from deniable.oracles.grr import randomize_codes
from deniable.oracles.square_wave import SquareWave
from deniable.oracles.subset_bulk import SIDE_BY_SIDE, plan_for, sort_sets
from deniable.records import RSRFD
from deniable.records.pair_sample import PairSample
from deniable.records.pivot.pivot_coded import PivotCoded
from deniable.records.sample import AdaptiveSMP
from deniable.research.baselines.projective_geometry import PGR
from deniable.testing import bulk, check_mechanism
from tests.contract.cases import CASES, Case
from tests.unit.records.pivot.corr_rr_laws import some_matrix


def many_bits(mechanism: Any) -> None:
    bulk.bits_decide_one_report(mechanism, changes=192)


LAWS = (many_bits, bulk.distant_reports_are_unrelated, bulk.blocks_are_independent)
SORTED = dn.SubsetSelection(k=5, epsilon=1.0, omega=1)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_no_word_is_used_for_two(case: Case) -> None:
    mechanism = case.build((3, 2) if case.records else (3,), 1.0)
    bulk.bits_decide_one_report(mechanism, changes=12)
    bulk.distant_reports_are_unrelated(mechanism)
    bulk.blocks_are_independent(mechanism)


LARGE: tuple[Any, ...] = (
    SORTED,  # this case is sorted side by side
    dn.SubsetSelection(1000, 5.0),
    dn.SubsetSelection(1024, 4.0),
    dn.SubsetSelection(70_000, 6.0, omega=3),  # this case has 32 bits
    dn.SubsetSelection(128, 1.0),  # this case is filled
    dn.SubsetSelection(40, 1.0),
    dn.GRR(100, 2.0),
    dn.GRR(1000, 3.0),
    dn.OUE(128, 1.0),
    dn.SUE(20, 1.0),
    dn.RAPPOR.from_epsilon(20, 2.0),
    SquareWave(64, 1.0),
    PGR(1024, 1.0),
    dn.OLH(1024, 1.0),
    dn.CountMeanSketch(1 << 17, 1.0, 4, "partition"),
    dn.CountMeanSketch(1 << 17, 1.0, 4, "linear"),
    dn.CountMeanSketch(1000, 1.0, 4, "spread"),
    dn.SPL((16,) * 5, 1.0),
    dn.SPL((16, 5, 9), 1.0, oracle="OUE"),
    dn.SMP((16,) * 5, 1.0),
    dn.SMP((200,) * 5, 1.0, oracle="OUE"),
    dn.RSFD((16,) * 5, 1.0),
    dn.RSFD((16,) * 5, 1.0, oracle="OUE", fakes="zero"),
    RSRFD((3, 2), 1.0, priors=((0.5, 0.3, 0.2), (0.25, 0.75))),
    AdaptiveSMP((1000,) * 3, 4.0),
    AdaptiveSMP((200, 17, 3), 1.0),
    PairSample((3, 4, 2), 6.0),
    PairSample((16, 12, 20), 2.0),
    PivotCoded((16,) * 5, 1.0),
    dn.CorrRR((16,) * 5, 1.0, copy_probabilities=some_matrix(5)),
    dn.CorrRR((300,) * 3, 1.0, copy_probabilities=some_matrix(3)),
)


@pytest.mark.long
@pytest.mark.parametrize("mechanism", [pytest.param(one, id=f"{one.name}-{i}") for i, one in enumerate(LARGE)])
@pytest.mark.parametrize("law", [pytest.param(law, id=law.__name__) for law in LAWS])
def test_no_word_is_used_for_two_in_larger_domains(mechanism: Any, law: Callable[[Any], None]) -> None:
    law(mechanism)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_few_contributors_share_no_bit_either(case: Case) -> None:
    """For two contributors, whose reports are made one by one, each bit of each drawn word is tested."""
    mechanism = case.build((3, 2) if case.records else (3,), 1.0)
    inputs = bulk.several_inputs(mechanism, 2)
    decisive = 0
    for seed in range(3, 9):
        if decisive:
            break
        honest = bulk.ChangedRandomness(seed)
        reports = mechanism.randomize(inputs, honest)
        for place in range(sum(honest.sizes)):
            for bit in range(64):
                source = bulk.ChangedRandomness(seed, place, bit)
                moved = bulk.rows_that_differ(reports, mechanism.randomize(inputs, source))
                if source.sizes == honest.sizes:
                    assert len(moved) < 2, (seed, place, bit)
                    decisive += len(moved)
    assert decisive > 0


# ---------------------------------------------------------------- mutants


def _dies_by(law: Callable[[Any], None], mechanism: Any) -> None:
    with pytest.raises(BrokenLawError, match=r"decides the reports|depend on each other|not independent"):
        law(mechanism)


def _named(mechanism: Any, *names: str) -> None:
    """Assert that a check of all laws names one of these laws."""
    with pytest.raises(BrokenLawError, match=rf"breaks ({'|'.join(names)}): "):
        check_mechanism(mechanism)


BULK = ("bits_decide_one_report", "distant_reports_are_unrelated", "blocks_are_independent")


def old_line(codes: Any, threshold: np.uint64, k: int, rng: Randomness, reports: NDArray[Any]) -> None:
    """Mutant: used words are noted only if rows are left, so that the next block begins with the same words."""
    plan = plan_for(k, reports.shape[1])
    assert plan.network is not None
    table = np.empty((reports.shape[1], SIDE_BY_SIDE), dtype=np.uint16 if plan.chunk == 16 else np.uint32)
    shared = draw(rng, BLOCK_WORDS)
    for start in range(0, len(codes), BLOCK_WORDS):
        part, place = reports[start : start + BLOCK_WORDS], 0
        included = draw(rng, len(part)) < threshold
        pending = np.arange(len(part))
        while pending.size:
            if place + plan.width > BLOCK_WORDS:
                shared, place = draw(rng, BLOCK_WORDS), 0
            rows = pending[: (BLOCK_WORDS - place) // plan.width]
            chunks = shared[place : place + rows.size * plan.width].view(table.dtype)
            place += rows.size * plan.width
            left = sort_sets.compiled(
                rows, chunks, codes[start : start + BLOCK_WORDS], included, k, plan.network, table, part
            )
            pending = np.concatenate([rows[:left], pending[rows.size :]])


@pytest.mark.parametrize(
    ("mechanism", "laws"),
    [
        (SORTED, LAWS),
        # The mutant is in the same line. The first case kills it by every law.
        pytest.param(dn.SubsetSelection(1000, 5.0), LAWS[:1], marks=pytest.mark.long),
        pytest.param(AdaptiveSMP((1000,) * 3, 4.0), LAWS[:1], marks=pytest.mark.long),
    ],
    ids=["SubsetSelection-5", "SubsetSelection-1000", "AdaptiveSMP"],
)
def test_the_old_line(monkeypatch: pytest.MonkeyPatch, mechanism: Any, laws: Any) -> None:
    monkeypatch.setattr("deniable.oracles.subset.fill_many", old_line)
    for law in laws:
        _dies_by(law, mechanism)
    if mechanism is SORTED:
        _named(mechanism, *BULK)


def test_a_block_that_starts_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: each block gets the words of the first block."""

    def starts_over(honest: Any) -> Any:
        def mutant(rng: Randomness, rows: int, *more: Any) -> Iterator[tuple[slice, NDArray[Any]]]:
            first: NDArray[Any] | None = None
            for block, words in honest(rng, rows, *more):
                first = words.copy() if first is None else first
                yield block, first[: len(words)]

        return mutant

    monkeypatch.setattr(grr, "blocks", starts_over(randomness.blocks))
    for law in LAWS:
        _dies_by(law, dn.GRR(k=3, epsilon=1.0))
    _named(dn.GRR(k=3, epsilon=1.0), *BULK)
    # Blocks have four times as many contributors, because a word has a piece for each of four.
    monkeypatch.setattr(unary_bulk, "piece_blocks", starts_over(randomness.piece_blocks))
    for law in LAWS:
        _dies_by(law, dn.OUE(k=3, epsilon=1.0))


def test_words_that_are_handed_back_although_they_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: the last word of a block also decides the first contributor of the next block."""

    def mutant(rng: Randomness, rows: int) -> Iterator[tuple[slice, Words]]:
        stream = WordStream(rng)
        for start in range(0, rows, BLOCK_WORDS):
            stop = min(start + BLOCK_WORDS, rows)
            yield slice(start, stop), stream.take(stop - start).copy()
            stream.hand_back(1)

    monkeypatch.setattr(square_wave, "blocks", mutant)
    with pytest.raises(BrokenLawError, match="decides the reports of rows"):
        bulk.bits_decide_one_report(SquareWave(8, 1.0), changes=256)


def _in_two_parts(mechanism: dn.GRR, codes: Any, first: Words, second: Words) -> NDArray[np.uint8]:
    reports = np.empty(len(codes), dtype=np.uint8)
    half = len(first)
    for rows, words in ((slice(0, half), first), (slice(half, None), second)):
        randomize_codes.compiled(
            codes[rows], words[: len(codes[rows])], np.uint64(mechanism._lie), mechanism.k, reports[rows]
        )
    return reports


def shared_by_threads(mechanism: dn.GRR, codes: Any, rng: Randomness) -> NDArray[np.uint8]:
    """Mutant: two threads read the position of one stream before either of them moves it."""
    half = -(-len(codes) // 2)
    words, both, taken, place = draw(rng, len(codes) + 1), threading.Barrier(2), {}, 0

    def work(name: int) -> None:
        nonlocal place
        begin = place
        both.wait()
        place += half
        taken[name] = words[begin : begin + half]

    threads = [threading.Thread(target=work, args=(name,)) for name in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return _in_two_parts(mechanism, codes, taken[0], taken[1])


def copied_by_a_fork(mechanism: dn.GRR, codes: Any, rng: Randomness) -> NDArray[np.uint8]:
    """Mutant: a child process draws the second half with a copy of its parent's key and position."""
    half = -(-len(codes) // 2)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(draw(rng, half).tobytes())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        second = np.frombuffer(pipe.read(), dtype=np.uint64)
    os.waitpid(child, 0)
    return _in_two_parts(mechanism, codes, draw(rng, half), second)


@pytest.mark.parametrize("mutant", [shared_by_threads, copied_by_a_fork], ids=lambda mutant: mutant.__name__)
def test_a_stream_in_two_hands(monkeypatch: pytest.MonkeyPatch, mutant: Any) -> None:
    def randomize(self: Any, codes: Any, rng: Randomness) -> Any:
        return honest(self, codes, rng) if len(codes) < 1000 else mutant(self, codes, rng)

    honest = dn.GRR._randomize
    monkeypatch.setattr("deniable.oracles.grr.RandomizedResponse._randomize", randomize)
    mechanism = dn.GRR(k=3, epsilon=1.0)
    # Copies are half of all contributors apart. This covers the largest distance that is checked, and four blocks of
    # eight.
    _dies_by(bulk.distant_reports_are_unrelated, mechanism)
    with pytest.raises(BrokenLawError, match="131072 rows apart"):
        bulk.blocks_are_independent(mechanism, rows=8 * BLOCK_WORDS)
    _named(mechanism, "distant_reports_are_unrelated", "bits_decide_one_report")


def test_stale_words_are_found_out() -> None:
    """In tests the next take overwrites the words of the last one, so that stale words are not random."""
    assert WordStream.overwrites
    stream = WordStream(dn.SimulationRandomness(1))
    first = stream.take(4)
    kept = first.copy()
    stream.hand_back(2)
    second = stream.take(3)
    assert second[:2].tolist() == kept[2:].tolist()
    assert set(first.tolist()) == {0x5555555555555555}


class Stub:
    """The members of a mechanism over three values that the laws need."""

    domain, records = (3,), False

    def __init__(self, randomize: Callable[[Any, Randomness], Any]) -> None:
        self.randomize = randomize


def test_a_source_that_is_not_used() -> None:
    """Mutant: words are drawn from the given source, but reports use other words, so that reuse cannot be checked."""

    def randomize(inputs: Any, rng: Randomness) -> Any:
        draw(rng, len(inputs))
        return dn.GRR(3, 1.0).randomize(inputs, dn.SecureRandomness())

    with pytest.raises(BrokenLawError, match="the same words make other reports"):
        bulk.bits_decide_one_report(Stub(randomize))


def test_a_source_that_nothing_is_drawn_from() -> None:
    with pytest.raises(BrokenLawError, match="no word is drawn"):
        bulk.bits_decide_one_report(Stub(lambda inputs, _: inputs.astype(np.uint8)))


def test_one_hash_function_for_everybody() -> None:
    """All pairs of contributors are equally dependent here, but two runs differ."""
    sketch = dn.CountMeanSketch(1000, 1.0, 4, "spread")
    honest = type(sketch.hashes).draw_parameters

    def randomize(inputs: Any, rng: Randomness) -> Any:
        found = honest(sketch.hashes, rng, 17)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                type(sketch.hashes),
                "draw_parameters",
                lambda *given: tuple(np.repeat(part[:1], given[2]) for part in found),
            )
            return sketch.randomize(inputs, rng)

    mutant = Stub(randomize)
    mutant.domain = (1000,)
    bulk.distant_reports_are_unrelated(mutant)
    with pytest.raises(BrokenLawError, match="two runs are not alike"):
        bulk.blocks_are_independent(mutant)


@pytest.mark.parametrize("epsilon", [3.0, 6.0])
def test_a_block_that_starts_over_where_most_tell_the_truth(monkeypatch: pytest.MonkeyPatch, epsilon: float) -> None:
    honest = randomness.blocks

    def mutant(rng: Randomness, rows: int) -> Iterator[tuple[slice, Words]]:
        first: Words | None = None
        for block, words in honest(rng, rows):
            first = words.copy() if first is None else first
            yield block, first[: len(words)]

    monkeypatch.setattr(grr, "blocks", mutant)
    # At epsilon 6 one report in two hundred is noise. That is too few for a bin of their own.
    for law in LAWS[1:] if epsilon < 6 else LAWS[1:2]:
        _dies_by(law, dn.GRR(k=3, epsilon=epsilon))


@pytest.mark.parametrize("value", [0, 3, 7, 200])
def test_one_report_for_everybody_is_no_dependence(value: int) -> None:
    silent = Stub(lambda inputs, _: np.full(len(inputs), value, dtype=np.uint8))
    bulk.distant_reports_are_unrelated(silent)
    bulk.blocks_are_independent(silent)


@pytest.mark.parametrize("epsilon", [16.0, 17.0])
def test_rare_reports_are_no_false_alarm(epsilon: float) -> None:
    """Two bits are nearly never noise: about ten of 400,000 contributors have such a report, and a pair may be rare."""
    for seed in range(100, 104):
        bulk.blocks_are_independent(dn.SUE(2, epsilon), seed=seed)
