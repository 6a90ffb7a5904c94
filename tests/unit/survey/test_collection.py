"""Collections: schema, mechanism and version belong together, and determine the id."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable import GRR, SimulationRandomness
from deniable.core.aggregate import Aggregate
from deniable.core.mechanism import Mechanism
from deniable.errors import (
    EmptyAggregateError,
    FileFormatError,
    InvalidInputError,
    InvalidParameterError,
    InvalidReportError,
    MismatchError,
    UnknownCategoryError,
)
from deniable.oracles.unary import OUE
from deniable.planning.default import collection
from deniable.records.phases.second_phase import second_phases
from deniable.records.split import SPL
from deniable.research.baselines.exponential import Exponential
from deniable.research.dealt import QuotaRR
from deniable.survey.collection import Collection, LearnedFrom
from deniable.survey.schema import Attribute, Schema

SMOKER = Attribute("smoker", ("yes", "no"), missing="no answer")
AGE = Attribute("age", edges=(20, 40, 60))
ONE = Collection(Schema((SMOKER,)), GRR(k=3, epsilon=1.0), title="Smoking")
TWO = Collection(Schema((SMOKER, AGE)), SPL(sizes=(3, 4), epsilon=2.0))
ANSWERS = {"smoker": ["yes", "no", None, "yes"] * 50, "age": [19, 20, 59, 60] * 50}


def test_the_mechanism_fits_the_schema() -> None:
    with pytest.raises(MismatchError) as caught:
        Collection(Schema((SMOKER,)), GRR(k=4, epsilon=1.0))
    assert str(caught.value) == (
        "the mechanism must have the same numbers of categories as the schema, but the schema has (3) and "
        "GRR(k=4, epsilon=1.0) has (4)"
    )
    with pytest.raises(
        MismatchError, match=r"numbers of categories as the schema, but the schema has \(3, 4\) and GRR"
    ):
        Collection(TWO.schema, GRR(k=3, epsilon=1.0))
    with pytest.raises(MismatchError, match=r"but the schema has \(3, 4\) and SPL.* has \(4, 3\)$"):
        Collection(TWO.schema, SPL(sizes=(4, 3), epsilon=2.0))
    assert Collection(ONE.schema, SPL(sizes=(3,), epsilon=2.0)).mechanism.epsilon == 2.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"version": 0}, "version must be >= 1, got version=0"),
        ({"version": "1"}, "version must be an integer, got version=“1”"),
        ({"title": None}, "title must be text, got title=none"),
        ({"schema": {}}, "schema must be a Schema, as `draft_schema(...).schema` is, got dict"),
        ({"mechanism": "GRR"}, "mechanism must be an object such as GRR(k=3, epsilon=1.0), got mechanism=“GRR”"),
    ],
)
def test_parameters_are_checked(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        replace(ONE, **arguments)
    assert str(caught.value) == message


FIRST_EDITION = """\
{
  "format": "deniable collection",
  "format_version": 1,
  "id": "d197296fdce72968481b4fb35caf3e0655ed9ed4b2936554fee34eb3acd88035",
  "title": "Smoking",
  "version": 1,
  "schema": {
    "attributes": [
      {
        "name": "smoker",
        "categories": [
          "yes",
          "no"
        ],
        "missing": "no answer"
      }
    ]
  },
  "mechanism": {
    "mechanism": "GRR",
    "k": 3,
    "epsilon": "1"
  },
  "guarantee": {
    "epsilon": 1.0,
    "per_attribute": [
      1.0
    ],
    "implemented_epsilon": 1.0,
    "trust_models": [
      {
        "adversary": "collector",
        "view": "one report",
        "epsilon": 1.0,
        "delta": 0.0,
        "status": "exact",
        "note": ""
      },
      {
        "adversary": "collector",
        "view": "r reports of the same answer",
        "epsilon": 1.0,
        "delta": 0.0,
        "status": "upper bound",
        "note": ""
      }
    ],
    "remarks": [],
    "text": [
      "epsilon = 1 for the whole contributor (implemented: 1.000000000000)",
      "  collector who sees one report: epsilon = 1 (exact)",
      "  collector who sees r reports of the same answer: epsilon = r x 1 (upper bound)"
    ]
  }
}
"""


# -------------------------------------------------------------------- the id


def test_the_id_never_changes() -> None:
    """A published collection keeps its id in every later release: reports in the field carry it."""
    text = (
        '{"mechanism":{"epsilon":"1","k":3,"mechanism":"GRR"},"schema":{"attributes":[{"categories":["yes","no"],'
        '"missing":"no answer","name":"smoker"}]},"title":"Smoking","version":1}'
    )
    assert ONE.id == hashlib.sha256(text.encode()).hexdigest()


def test_the_id_depends_on_everything_that_is_public() -> None:
    others = [
        replace(ONE, version=2),
        replace(ONE, title="smoking"),
        replace(ONE, mechanism=GRR(k=3, epsilon=1.1)),
        replace(ONE, mechanism=Exponential(k=3, epsilon=1.0)),
        replace(ONE, schema=Schema((replace(SMOKER, missing="?"),))),
        replace(ONE, schema=Schema((Attribute("smoker", ("yes", "no"), other="no answer"),))),
        replace(ONE, schema=Schema((Attribute("smoker", ("yes", "no", "no answer")),))),
        replace(ONE, schema=Schema((replace(SMOKER, name="Smoker"),))),
    ]
    assert len({ONE.id, *(other.id for other in others)}) == len(others) + 1
    assert replace(TWO, schema=Schema((SMOKER, replace(AGE, edges=(20, 40, 61), categories=())))).id != TWO.id


def test_equal_collections_have_equal_ids() -> None:
    again = Collection(Schema((SMOKER,)), GRR(k=3, epsilon="1"), title="Smoking")  # type: ignore[arg-type]
    assert again == ONE
    assert again.id == ONE.id


# -------------------------------------------------------------------- three steps


@pytest.mark.parametrize("mechanism", [GRR(k=3, epsilon=6.0), OUE(k=3, epsilon=6.0), SPL(sizes=(3,), epsilon=6.0)])
def test_one_attribute_from_answers_to_a_named_estimate(mechanism: Mechanism[Any]) -> None:
    survey = Collection(ONE.schema, mechanism)
    aggregate = survey.aggregate(survey.randomize(ANSWERS, SimulationRandomness(1)))
    assert (aggregate.n, aggregate.collection) == (200, survey.id)
    estimates = survey.estimate(aggregate)
    assert list(estimates) == ["smoker"]
    assert estimates["smoker"].labels == ("yes", "no", "no answer")
    assert estimates["smoker"].attribute == "smoker"
    assert np.abs(estimates["smoker"].frequencies - [0.5, 0.25, 0.25]).max() < 0.2


def test_many_attributes() -> None:
    estimates = TWO.estimate(TWO.aggregate(TWO.randomize(ANSWERS, SimulationRandomness(1))))
    assert list(estimates) == ["smoker", "age"]
    assert estimates["age"].labels == ("< 20", "20 to < 40", "40 to < 60", ">= 60")
    assert TWO.privacy().epsilon == 2.0


def test_codes_instead_of_answers() -> None:
    codes = TWO.schema.encode(ANSWERS)
    reports = TWO.randomize(ANSWERS, SimulationRandomness(1))
    assert np.array_equal(TWO.randomize(codes, SimulationRandomness(1)), reports)
    first = ONE.randomize(ANSWERS, SimulationRandomness(1))
    assert np.array_equal(ONE.randomize(codes[:, :1], SimulationRandomness(1)), first)
    assert np.array_equal(ONE.randomize(codes[:, 0], SimulationRandomness(1)), first)
    with pytest.raises(InvalidInputError, match="shape"):
        ONE.randomize(codes, SimulationRandomness(1))
    with pytest.raises(InvalidInputError, match=r"value must be in 0\.\.2, got something else in row 1"):
        ONE.randomize(np.array([3]), SimulationRandomness(1))


def test_one_contributor() -> None:
    assert ONE.randomize({"smoker": ["no"]}, SimulationRandomness(1)).shape == (1,)
    with pytest.raises(UnknownCategoryError, match="unknown category of attribute “smoker” in row 1"):
        ONE.randomize({"smoker": ["maybe"]}, SimulationRandomness(1))


def test_aggregates_of_another_collection_are_refused() -> None:
    reports = ONE.randomize(ANSWERS, SimulationRandomness(1))
    second = replace(ONE, version=2)
    expected = f"the aggregate belongs to collection {ONE.id[:12]}, not to {second.id[:12]}"
    with pytest.raises(MismatchError) as caught:
        second.estimate(ONE.aggregate(reports))
    assert str(caught.value) == expected
    with pytest.raises(MismatchError, match=r"belongs to collection \(none\), not to"):
        ONE.estimate(ONE.mechanism.aggregate(reports))
    with pytest.raises(MismatchError, match="different collections"):
        ONE.aggregate(reports) + second.aggregate(reports)
    with pytest.raises(EmptyAggregateError):
        ONE.estimate(Aggregate.empty(ONE.mechanism, ONE.id))
    with pytest.raises(InvalidReportError):
        ONE.aggregate(np.array([3]))


# -------------------------------------------------------------------- JSON


@pytest.mark.parametrize("survey", [ONE, TWO, replace(ONE, version=7), replace(ONE, title='"ä"\n')])
def test_json_round_trip(survey: Collection, tmp_path: Path) -> None:
    survey.save(tmp_path / "survey.json")
    loaded = Collection.load(tmp_path / "survey.json")
    assert loaded == survey
    assert loaded.id == survey.id


def test_json_carries_the_guarantee_and_the_id() -> None:
    document = json.loads(ONE.to_json())
    assert (document["format"], document["format_version"]) == ("deniable collection", 1)
    assert document["id"] == ONE.id
    assert document["mechanism"] == {"mechanism": "GRR", "k": 3, "epsilon": "1"}
    assert document["guarantee"]["epsilon"] == 1.0
    assert document["guarantee"]["text"][0].startswith("epsilon = 1 for the whole contributor")


def _edited(path: tuple[str | int, ...], value: Any) -> str:
    document = json.loads(ONE.to_json())
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("mechanism", "epsilon"), "0.1"),
        (("mechanism", "mechanism"), "Exponential"),
        (("version",), 2),
        (("title",), "Smoking!"),
        (("schema", "attributes", 0, "missing"), "?"),
        (("schema", "attributes", 0, "categories"), ["no", "yes"]),
        (("id",), "0" * 64),
    ],
)
def test_an_edited_file_is_refused(path: tuple[str | int, ...], value: Any) -> None:
    with pytest.raises(
        FileFormatError, match=r"^survey.json was changed after it was made: it states the id \w+, but its content"
    ):
        Collection.from_json(_edited(path, value), "survey.json")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("guarantee", "epsilon"), 0.1),
        (("guarantee", "per_attribute"), [0.5]),
        (("guarantee", "implemented_epsilon"), 0.9),
        (("guarantee", "trust_models", 0, "epsilon"), 0.5),
        (("guarantee", "trust_models", 1, "epsilon"), "inf"),
        (("guarantee", "trust_models", 0, "epsilon"), True),
        (("guarantee", "trust_models", 0, "epsilon"), 10**400),
        (("guarantee", "trust_models", 0, "delta"), 1e-6),
        (("guarantee", "trust_models", 0, "status"), "assumption"),
        (("guarantee", "trust_models", 1, "status"), "exact"),
        (("guarantee", "trust_models", 1, "scaling"), "once"),
        (("guarantee", "trust_models", 1, "view"), 1),
        (("guarantee", "trust_models", 0, "proof"), "none"),
        (("guarantee", "trust_models", 0), {}),
        (("guarantee", "trust_models"), []),
        (("guarantee", "certified"), "by us"),
        (("guarantee", "remarks"), [{"epsilon": 0.1}]),
        (("guarantee", "text"), {"epsilon": 0.1}),
        (("guarantee",), {}),
    ],
)
def test_a_guarantee_that_is_not_the_mechanisms_is_refused(path: tuple[str | int, ...], value: Any) -> None:
    with pytest.raises(FileFormatError) as caught:
        Collection.from_json(_edited(path, value), "survey.json")
    assert str(caught.value) == (
        "survey.json must state the guarantee of its mechanism, but states a different guarantee; use the original file"
    )


def test_the_wording_of_a_guarantee_may_change_and_is_never_shown() -> None:
    """Words are not part of the id, so that anyone can edit them: such a file loads, and our words are shown."""
    document = json.loads(ONE.to_json())
    guarantee = document["guarantee"]
    guarantee["text"] = ["epsilon = 0.001"]
    guarantee["remarks"] = ["certified: nobody can learn anything", "and it is free"]
    for row in guarantee["trust_models"]:
        row |= dict.fromkeys(("adversary", "view", "note", "bound"), "one report, as often as you like")
    loaded = Collection.from_json(json.dumps(document))
    assert (loaded, loaded.id) == (ONE, ONE.id)
    assert loaded.privacy() == ONE.privacy()
    assert loaded.to_json() == ONE.to_json()


def _first_edition(document: dict[str, Any]) -> str:
    for row in document["guarantee"]["trust_models"]:
        del row["scaling"], row["bound"]
    return json.dumps(document)


def test_files_of_the_first_edition_stay_readable() -> None:
    """Byte for byte what the first edition wrote: its rows do not say how they scale, and its id is the same."""
    loaded = Collection.from_json(FIRST_EDITION)
    assert loaded == ONE
    assert json.loads(loaded.to_json())["id"] == json.loads(FIRST_EDITION)["id"]
    assert [row["scaling"] for row in json.loads(loaded.to_json())["guarantee"]["trust_models"]] == [
        "once",
        "per report",
    ]


def test_the_first_editions_shape_is_compared_as_strictly() -> None:
    assert Collection.from_json(_first_edition(json.loads(ONE.to_json()))) == ONE
    for key, value in (("epsilon", 0.5), ("status", "exact"), ("delta", 0.5)):
        document = json.loads(ONE.to_json())
        document["guarantee"]["trust_models"][1][key] = value
        with pytest.raises(FileFormatError, match="must state the guarantee of its mechanism"):
            Collection.from_json(_first_edition(document))
    half = json.loads(ONE.to_json())
    del half["guarantee"]["trust_models"][1]["scaling"]
    with pytest.raises(FileFormatError, match="must state the guarantee of its mechanism"):
        Collection.from_json(json.dumps(half))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("format",), "deniable schema", "s is not a deniable collection: expected format=“deniable collection”"),
        (
            ("format_version",),
            3,
            "s has format_version=3; this release can read format_version=1 and 2 of a deniable collection",
        ),
        (("mechanism", "mechanism"), "XYZ", "s: unknown mechanism “XYZ”"),
        (("mechanism", "mechanism"), [], "s: "),
        (
            ("mechanism", "k"),
            4,
            "s: the mechanism must have the same numbers of categories as the schema, but the schema has (3)",
        ),
        (("mechanism", "k"), "3", "s: k must be an integer"),
        (("mechanism", "epsilon"), "-1", "s: epsilon must be > 0"),
        (("mechanism", "q"), 1, "s: the specification of GRR is damaged"),
        (("schema", "attributes", 0, "name"), 1, "s: schema.attributes[0].name must be a valid string"),
        (("schema", "attributes"), [], "s: attributes must be a non-empty sequence"),
        (("version",), "1", "s: version must be a valid integer"),
        (("extra",), 1, "s: extra must be left out, because there is no such key"),
    ],
)
def test_a_damaged_file_is_refused_with_the_place(path: tuple[str | int, ...], value: Any, message: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        Collection.from_json(_edited(path, value), "s")
    assert str(caught.value).startswith(message)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"^there is no file .*survey.json$"):
        Collection.load(tmp_path / "survey.json")


# -------------------------------------------------------------------- estimators and earlier phases


def test_named_estimators_exist_and_keep_the_domains() -> None:
    classes: dict[str, Any] = dict(second_phases())
    listed = {name: cls.estimators for name, cls in classes.items()}
    assert listed == {
        "Corr-RR": ("debiased", "unmixed"),
        "RS+RFD": ("clipped",),
        "Cond-RR": ("debiased", "unmixed", "levelled"),
        "Corr-RR groups": ("debiased", "unmixed"),
        "Corr-RR two pivots": ("debiased", "unmixed"),
    }
    schema = Schema((Attribute("a", ("x", "y")), Attribute("b", ("x", "y"))))
    answers = np.array([[0, 0], [0, 1], [1, 1]] * 20)
    for name, names in listed.items():
        first: Any = second_phases()["Corr-RR two pivots"].phase_one((2, 2), 4.0)
        rng = SimulationRandomness(1)
        learned = second_phases()[name].learn(first.aggregate(first.randomize(answers, rng)), 60)
        survey = Collection(schema, learned)
        aggregate = survey.aggregate(survey.randomize(answers, rng))
        for one in names:
            found, own = survey.estimate(aggregate, estimator=one), getattr(learned, one)(aggregate)
            assert [list(found[key].frequencies) for key in "ab"] == [list(part.frequencies) for part in own.values()]
            assert found["a"].labels == ("x", "y")
        with pytest.raises(InvalidParameterError, match=f"one of {', '.join(names)} for"):
            survey.estimate(aggregate, estimator="randomize")


def test_options_that_no_estimator_takes_are_refused() -> None:
    aggregate = ONE.aggregate(ONE.randomize({"smoker": ["yes", "no"]}, SimulationRandomness(1)))
    with pytest.raises(
        InvalidParameterError,
        match="threshold must be left out, because estimates of GRR have only the options queries",
    ):
        ONE.estimate(aggregate, threshold=4.0)


def test_open_text_has_no_categories() -> None:
    Schema((SMOKER,)).check_listed("categories are needed")
    with pytest.raises(InvalidParameterError, match="“word” asks for open text, but categories are needed"):
        Schema((Attribute("word", text=True),)).check_listed("categories are needed")


def test_a_collection_of_one_phase_before_is_written_as_ever() -> None:
    """An empty `earlier` changes neither file nor id; otherwise it is kept."""
    one = replace(ONE, learned_from=LearnedFrom("ab", "cd", 7))
    assert json.loads(one.to_json())["learned_from"] == {"collection": "ab", "aggregate": "cd", "contributors": 7}
    several = replace(ONE, learned_from=LearnedFrom("ab", "cd", 7, ("ef", "01")))
    assert Collection.from_json(several.to_json()) == several
    assert several.id != one.id


def test_what_they_are_is_said_in_a_line() -> None:
    smoker = Attribute("smoker", ("yes", "no"), missing="no answer", title="Do you smoke?")
    assert repr(smoker) == "Attribute('smoker', ('yes', 'no'), missing='no answer', title='Do you smoke?')"
    wage = Attribute("wage", kind="numeric", range=(0, 100), grid=3)
    assert repr(wage) == "Attribute('wage', ('0', '50', '100'), kind='numeric', range=[0, 100], grid=3)"
    schema = Schema((smoker, wage))
    assert repr(schema) == "Schema('smoker': 3, 'wage': 3)"
    survey = Collection(schema, SPL(schema.sizes, 1.0), title="May")
    assert repr(survey).startswith("Collection('May', Schema('smoker': 3, 'wage': 3), SPL(")
    assert repr(survey).endswith(f", version=1, id={survey.id[:12]})")
    many = Schema(tuple(Attribute(f"q{j}", tuple(map(str, range(1000)))) for j in range(100)))
    assert len(repr(many)) < 200
    assert len(repr(many.attributes[0])) < 200


@pytest.mark.parametrize("wrong", [None, "survey.json", {}], ids=repr)
def test_what_is_none_of_ours_is_named(wrong: Any) -> None:
    kind = type(wrong).__name__
    with pytest.raises(InvalidParameterError, match=f"aggregate must be an Aggregate, got {kind}"):
        ONE.estimate(wrong)
    with pytest.raises(InvalidParameterError, match=f"aggregate must be an Aggregate, got {kind}"):
        ONE.mechanism.estimate(wrong)
    with pytest.raises(InvalidParameterError, match=rf"schema must be a Schema, as `.*` is, got {kind}"):
        collection(wrong, 1.0)
    with pytest.raises(InvalidParameterError, match=rf"schema must be a Schema, as `.*` is, got {kind}"):
        collection(wrong, 1.0, mechanism="GRR")


def test_a_deal_without_a_name_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="deal_id must not be empty"):
        Collection(Schema((Attribute("smoker", ("yes", "no")),)), QuotaRR(1.0, 100))


def test_shares_are_given_to_dealt_coins_and_to_nobody_else() -> None:
    smoker = Schema((Attribute("smoker", ("yes", "no")),))
    with pytest.raises(InvalidParameterError, match="shares must be given, because QuotaRR"):
        Collection(smoker, QuotaRR(1.0, 100, deal_id="monday")).randomize({"smoker": ["no"]}, SimulationRandomness(1))
    with pytest.raises(InvalidParameterError, match="shares must be left out, because GRR"):
        Collection(smoker, GRR(2, 1.0)).randomize({"smoker": ["no"]}, SimulationRandomness(1), shares=[0])


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        ('"epsilon": "1"', '"epsilon": "1.0"', "mechanism"),
        ('"epsilon": "1"', '"epsilon": "+1"', "mechanism"),
        ('"epsilon": "1"', '"epsilon": 1', "mechanism"),
        ('"name": "a"', '"name": "a", "separator": ";"', "schema"),
        ('"name": "a"', '"name": "a", "missing": null', "schema"),
        ('"title": "round"', '"title": "round", "learned_from": null', "learned_from"),
    ],
)
def test_what_the_id_is_made_of_is_spelled_in_one_way(before: str, after: str, key: str) -> None:
    """A browser computes the id from the document itself: it refused these, and the library read them."""
    text = Collection(Schema((Attribute("a", ("x", "y")),)), GRR(k=2, epsilon=1.0), 1, "round").to_json()
    assert before in text
    with pytest.raises(FileFormatError, match=f"the collection: {key} must be written exactly as `deniable` wrote it"):
        Collection.from_json(text.replace(before, after))
    # White space and the order of keys do not matter.
    reordered = dict(reversed(json.loads(text).items()))
    assert Collection.from_json(json.dumps(reordered)) == Collection.from_json(text)
