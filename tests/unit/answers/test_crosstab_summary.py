"""Summaries of cross tables: sentences, and the largest comparisons."""

from __future__ import annotations

import pytest

from deniable import SimulationRandomness
from deniable.answers import crosstab_summary, crosstabs, summarize_crosstab
from deniable.records.pair_sample import PairSample
from tests.unit.report.cross_tables import summary


def test_sentences_follow_from_the_numbers() -> None:
    strong = summary(20_000, 0.8)
    first, second, third = strong.sentences
    assert first.startswith("“team” and “content” are related")
    assert second.startswith("“yes” is the answer of 89% of ")
    assert second.endswith("points with 95% confidence.")
    assert strong.difference is not None
    assert strong.difference.groups == ("sales", "labs")
    assert strong.difference.lower < 0.8 < strong.difference.upper
    assert third.startswith("Cramer's V is 0.")
    assert strong.association_lower < 0.8 < strong.association_upper
    nothing = summary(20_000, 0.0)
    assert nothing.sentences[0].startswith("These reports do not show")
    assert nothing.sentences[1].startswith("No two groups of “team” differ for certain")
    assert nothing.difference is not None
    assert f"between “{nothing.difference.groups[0]}” and “{nothing.difference.groups[1]}”: " in nothing.sentences[1]
    assert nothing.association_lower == 0
    few = summary(12, 0.0)
    assert "is not determined" in few.sentences[0]


@pytest.mark.long
def test_of_many_comparisons_the_largest_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = PairSample((12, 3), 8.0)
    held = [[i, j] for i in range(12) for j in range(3)]
    counts = [0 if i == 11 and j != 2 else 200 for i, j in held]  # the last row always has the last column
    aggregate = pairs.simulate_aggregate(held, counts, SimulationRandomness(1))
    table = crosstabs(pairs, aggregate)[0, 1]
    whole = summarize_crosstab(table, pairs.privacy()).difference
    assert whole is not None
    assert whole.comparisons == 12 * 11 // 2 * 3
    assert (whole.groups[0], whole.of) == ("11", "2")
    monkeypatch.setattr(crosstab_summary, "MOST_COMPARED", 20)
    few = summarize_crosstab(table, pairs.privacy())
    assert few.difference is not None
    assert (few.difference.groups, few.difference.of) == (whole.groups, whole.of)
    assert (few.difference.lower, few.difference.comparisons) == (whole.lower, whole.comparisons)
    alike = pairs.simulate_aggregate(held, [200] * 36, SimulationRandomness(2))
    none = summarize_crosstab(crosstabs(pairs, alike)[0, 1], pairs.privacy())
    assert none.sentences[1].startswith("Of the 20 largest differences between groups of “0” none is certain")
