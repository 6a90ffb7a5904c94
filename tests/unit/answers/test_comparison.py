"""Comparison of two collections: changes that may be named, omissions, and collections that cannot be compared."""

from __future__ import annotations

import math

import numpy as np
import pytest

from deniable import GRR, Attribute, Collection, Schema, SimulationRandomness, answers
from deniable.errors import InvalidParameterError, quoted
from deniable.records import AdaptiveSMP
from deniable.report import comparison_page, render_html
from tests.unit.answers.waves import WAVES, Wave, two_waves


@pytest.fixture(scope="module")
def waves() -> tuple[Wave, Wave]:
    return two_waves()


def test_only_changes_that_hold_together_are_named(waves: tuple[Wave, Wave]) -> None:
    comparison = answers.compare(*waves, independent=True, attributes=["vote", "colour"])
    joint = next(row for row in comparison.attributes if row.attribute == "vote")
    first, second = (survey.estimate(aggregate)["vote"] for survey, aggregate in waves)
    for i, label in enumerate(first.labels):
        change = answers.difference(second[label], first[label], independent=True)
        bounds = change.interval(target="population", simultaneous=6)
        assert (joint.joint_lower[i], joint.joint_upper[i]) == bounds
        said = any(sentence.startswith(quoted(label)) for sentence in comparison.sentences)
        assert said == (bounds[0] > 0 or bounds[1] < 0)
    assert any("No category of “colour” can be said to have changed" in one for one in comparison.sentences)
    assert not any(math.isnan(end) for end in joint.joint_lower)


def test_what_only_one_asks_is_left_out(waves: tuple[Wave, Wave]) -> None:
    schema = Schema((WAVES.attributes[0], Attribute("colour", ("a", "c"))))
    other = Collection(schema, AdaptiveSMP(schema.sizes, 2.0), title="July")
    records = np.zeros((500, 2), dtype=int)
    aggregate = other.aggregate(other.randomize(records, SimulationRandomness(1)))
    comparison = answers.compare(waves[0], (other, aggregate), independent=True)
    assert [row.attribute for row in comparison.attributes] == ["vote"]
    assert comparison.left_out == ("stars", "colour")


def test_without_reports_of_one_collection_no_change_is_known() -> None:
    schema = Schema((Attribute("vote", ("a", "b")), Attribute("colour", ("c", "d"))))
    surveys = [Collection(schema, AdaptiveSMP(schema.sizes, 2.0), title=title) for title in ("May", "June")]
    random = SimulationRandomness(1)
    both = [
        (one, one.aggregate(one.randomize(np.zeros((n, 2), dtype=int), random)))
        for one, n in zip(surveys, (1, 500), strict=True)
    ]
    empty = [name for name, one in surveys[0].estimate(both[0][1]).items() if one.n == 0]
    comparison = answers.compare(*both, independent=True)
    assert len(empty) == 1
    assert f"No change of “{empty[0]}” is known: one of the collections has no reports about it." in (
        comparison.sentences
    )
    assert "nan" not in render_html(comparison_page(comparison))


@pytest.mark.parametrize("scores", [(1, 2, 3), None])
def test_means_of_different_scores_are_not_compared(scores: tuple[int, ...] | None) -> None:
    both = []
    for own in ((-1, 0, 1), scores):
        mood = Attribute("mood", ("bad", "so-so", "good"), kind="ordered", scores=own)
        survey = Collection(Schema((mood,)), GRR(3, 4.0))
        both.append((survey, survey.aggregate(survey.randomize(np.arange(900) % 3, SimulationRandomness(1)))))
    for pair in (both, both[::-1]):
        comparison = answers.compare(*pair, independent=True, attributes=["mood", "mood"])
        (mood_row,) = comparison.attributes
        assert mood_row.mean is None
        assert mood_row.to_dict()["mean_note"].startswith("the two collections give its categories different scores")
        assert comparison.sentences[0].startswith("No change of the mean of “mood” is known: the two collections")


def test_people_who_may_be_in_both_are_refused(waves: tuple[Wave, Wave]) -> None:
    with pytest.raises(InvalidParameterError, match=r"independent=True must be given .* row by row with trend"):
        answers.compare(*waves, independent=False)


@pytest.mark.parametrize(("k", "number"), [(12, False), (13, True)])
def test_a_scale_of_more_than_twelve_points_is_compared_by_its_mean_alone(k: int, number: bool) -> None:
    schema = Schema((Attribute("points", tuple(map(str, range(k))), kind="ordered"),))
    surveys = [Collection(schema, GRR(k, 2.0), title=title) for title in ("May", "June")]
    codes = np.arange(600) % k
    both = [(one, one.aggregate(one.randomize(codes, SimulationRandomness(1)))) for one in surveys]
    (points,) = answers.compare(*both, independent=True).attributes
    assert points.mean is not None
    assert points.is_number is number
