"""Cards of designs on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from deniable import designs
from deniable.cli import app


def test_cards_are_those_of_the_instrument(tmp_path: Path) -> None:
    page, words = tmp_path / "cards.html", ["card", "Did you pay a bribe?", "--design", "forced"]
    die = ["--set", "yes=1/6", "--set", "no=1/12"]
    shown = CliRunner().invoke(app, [*words, *die, "--html", str(page)], catch_exceptions=False)
    expected = designs.forced("1/6", "1/12").instrument("Did you pay a bribe?")
    for line in (*expected.card, *expected.script, *expected.device, *expected.odds):
        assert " ".join(line.split()) in " ".join(shown.stdout.split())
    assert "Otherwise answer truthfully" in page.read_text(encoding="utf-8")
    crosswise = ["card", "Ich rauche.", "--design", "crosswise", "--p", "2/12", "--language", "de", "--json"]
    other = "Meine Mutter ist im Mai oder Juni geboren."
    german = json.loads(CliRunner().invoke(app, [*crosswise, "--other", other], catch_exceptions=False).stdout)
    assert german["card"] == list(designs.crosswise("2/12").instrument("Ich rauche.", "de", other=other).card)
    triangular = ["card", "I smoke.", "--design", "triangular", "--p", "1/4", "--other", "I was born in spring."]
    refused = CliRunner().invoke(app, triangular)
    assert refused.exit_code == 2
    assert "to accept this, pass --one-sided" in refused.stderr
    assert CliRunner().invoke(app, [*triangular, "--one-sided"]).exit_code == 0
