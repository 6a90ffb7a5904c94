"""A survey has a page exactly if the browser client knows each part of its mechanism."""

import json
from dataclasses import replace
from pathlib import Path

from deniable import CountMeanSketch
from deniable.core.construction import mechanism
from deniable.service.browsers import KNOWN, unknown_to_browsers
from tests.service.asking import ASKED, Caller, collecting, open_survey, sqlite
from tests.wire_vectors import PLACE


def test_the_vectors_have_every_mechanism_that_browsers_know() -> None:
    items = [item for path in PLACE.glob("[A-Z]*.json") for item in json.loads(path.read_text())]
    assert {item["mechanism"]["mechanism"] for item in items} == KNOWN
    assert {item["mechanism"].get("family") for item in items} >= {"prime", "spread"}


def test_an_unknown_part_is_found_wherever_it_stands() -> None:
    parts = (mechanism("GRR", k=2, epsilon=1), CountMeanSketch(9, 1.0, family="partition"))
    assert unknown_to_browsers(mechanism("SMP[ADP]", sizes=(2, 9), epsilon=1, oracles=parts)).endswith("partition")
    assert unknown_to_browsers(mechanism("THE", k=4, epsilon=1)) == "THE"
    priors = ((0.5, 0.5),) * 65
    assert (
        unknown_to_browsers(mechanism("RS+RFD", sizes=(2,) * 65, epsilon=1, priors=priors))
        == "RS+RFD of more than 64 answers"
    )
    assert unknown_to_browsers(mechanism("RS+RFD", sizes=(2,) * 64, epsilon=1, priors=priors[1:])) == ""
    assert unknown_to_browsers(mechanism("PairSample", sizes=(2, 9), epsilon=1)) == ""


def test_a_survey_that_browsers_do_not_know_has_no_page(tmp_path: Path) -> None:
    other = replace(ASKED, mechanism=mechanism("THE", k=ASKED.schema.sizes[0], epsilon=1))
    with collecting(sqlite(tmp_path)) as here:
        open_survey(here.collector.surveys)
        open_survey(here.collector.surveys, "other", other)
        here.collector.refresh()
        ask = Caller(here.public)
        assert ask("GET", "/s/smoking").status == 200
        refused = ask("GET", "/s/other")
        assert (refused.status, refused.problem) == (404, "not-found")
        assert "deniable send" in refused.json["detail"]
        # The survey's document is available to people who send in bulk.
        assert ask("GET", f"/api/v1/collections/{other.id}").status == 200
