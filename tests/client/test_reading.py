"""The page's statements about a report: the probability of its bytes for each answer, against the exact channel."""

import json
import shutil
import subprocess
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from deniable.core.spec import to_spec
from deniable.core.thresholds import SCALE, spent
from deniable.files.wire import to_wire
from deniable.oracles.grr import GRR
from deniable.records import RSRFD, PivotCoded
from tests.client_law import ROOT
from tests.wire_vectors import corr_rr, rs_rfd

HIDDEN: list[Any] = [
    corr_rr((3, 3), "1", ((1, 0.25), (0.6, 1))),
    corr_rr((2, 2, 2), "0.5", ((1, 0, 1), (0.5, 1, 0.3), (0.9, Fraction(1, 3), 1))),
    corr_rr((2, 3), "1", ((1, 0.25), (0.6, 1))),
    corr_rr((4, 2, 3), "2", ((1, 0.25, 0.7), (0.6, 1, 0.1), (0.2, 0.5, 1)), ((0, 1, (1, 0, 0, 1)),)),
    rs_rfd((2, 3), "1", ((0.9, 0.1), (0.2, 0.3, 0.5))),
    rs_rfd((2, 3), "0.35", ((1.0, 0.0), (0.2, 0.3, 0.5))),
]


def weights(made: Any, report: tuple[int, ...]) -> list[Fraction]:
    """Return the probabilities of a report's other codes, for each attribute that may have been drawn."""
    d, sizes = len(made.sizes), made.sizes
    found = []
    for s in range(d):
        weight = Fraction(1)
        for j in range(d):
            if j == s:
                continue
            if isinstance(made, RSRFD):
                weight *= made.implemented_priors[j][report[j]]
            elif len(set(sizes)) == 1:
                # The chance not to copy, by code, is a whole multiple of 2^-64, rounded down. A word cannot be 2^64.
                most, off = (SCALE - 1) // (sizes[0] - 1), 1 - Fraction(str(made.copy_probabilities[j][s]))
                lie = Fraction(min(int(off * SCALE / (sizes[0] - 1)), most), SCALE)
                weight *= 1 - (sizes[0] - 1) * lie if report[j] == report[s] else lie
            else:
                weight *= Fraction(int(made.law.transfers[s][j][report[s], report[j]]), SCALE)
        found.append(weight)
    return found


def chance(made: Any, record: tuple[int, ...], report: tuple[int, ...]) -> Fraction:
    """Return P(report | record): one attribute is drawn and goes through GRR, and the others are fakes."""
    total = Fraction(0)
    for j, weight in enumerate(weights(made, report)):
        p, q = GRR(made.sizes[j], made.epsilon).support_probabilities
        total += (p if record[j] == report[j] else q) * weight
    return total / len(made.sizes)


@pytest.mark.parametrize("made", HIDDEN, ids=lambda made: f"{made.name} {made.sizes}")
def test_no_two_records_are_further_apart_than_epsilon_allows(made: Any) -> None:
    """The enumeration uses the implemented thresholds, not the library's own channel."""
    records = list(product(*map(range, made.sizes)))
    law = {(x, y): chance(made, x, y) for x in records for y in records}
    reports = [y for y in records if law[records[0], y] or any(law[x, y] for x in records)]
    assert all(sum(law[x, y] for y in reports) == 1 for x in records)
    assert [law[x, y] for x in records for y in reports] == made.channel(exact=True).ravel().tolist()
    worst = max(law[a, y] / law[b, y] for a in records for b in records for y in reports if law[b, y])
    assert worst == made.implemented_ratio()
    # The series bounds e^epsilon from below, because the remaining terms are positive.
    budget, term, least = spent(made.epsilon), Fraction(1), Fraction(0)
    for n in range(1, 40):
        least, term = least + term, term * budget / n
    assert worst <= least
    for j in range(len(made.sizes)):
        alone = max(
            law[a, y] / law[b, y]
            for a in records
            for b in records
            for y in reports
            if law[b, y] and all((a[i] == b[i]) == (i != j) for i in range(len(a)))
        )
        assert alone == made.implemented_attribute_ratio(j)


def read_by_the_client(made: Any, outputs: Any) -> Any:
    """Return the attributes, the supported codes and both probabilities of each part of each report."""
    asked = {"mechanism": to_spec(made), "reports": [bytes(one).hex() for one in to_wire(made, outputs)]}
    command = ["node", str(ROOT / "client" / "test" / "reading.mjs")]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("made", HIDDEN, ids=lambda made: f"{made.name} {made.sizes}")
def test_the_client_reads_reports_as_the_exact_channel_has_them(made: Any) -> None:
    outputs = made.outputs()
    channel, sizes = made.channel(exact=True), made.sizes
    for place, (report, parts) in enumerate(zip(outputs.tolist(), read_by_the_client(made, outputs), strict=True)):
        for j, (attributes, supported, chances) in enumerate(parts):
            assert (attributes, supported) == ([j], [report[j]])
            # The other answers differ from those that are reported.
            others = [(code + 1) % k for code, k in zip(report, sizes, strict=True)]
            likely, unlikely = (Fraction(int(a), int(b)) for a, b in chances)
            own = np.ravel_multi_index([*others[:j], report[j], *others[j + 1 :]], sizes)
            assert likely == channel[own, place]
            assert unlikely == channel[np.ravel_multi_index(others, sizes), place]


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("sizes", [(3, 3), (2, 3), (4, 2, 3)], ids=str)
def test_the_client_finds_the_pivot_of_every_report_and_how_likely_the_report_is(sizes: tuple[int, ...]) -> None:
    made = PivotCoded(sizes, 1)
    outputs, channel = made.outputs(), made.channel(exact=True)
    pivots = set()
    for place, (report, parts) in enumerate(zip(outputs.tolist(), read_by_the_client(made, outputs), strict=True)):
        (([pivot], supported, chances),) = parts
        assert supported == [report[pivot]]
        # The chance depends only on the answer to the pivot.
        for record in product(*map(range, sizes)):
            given = Fraction(*map(int, chances[record[pivot] != report[pivot]]))
            assert given == channel[np.ravel_multi_index(record, sizes), place]
        pivots.add(pivot)
    assert pivots == set(range(len(sizes)))
