"""The tool `tests.mutants.client`: the faults that it draws from a TypeScript file."""

from __future__ import annotations

from tests.mutants.__main__ import ROOT
from tests.mutants.client import drawn, faults

SOURCE = """// true === false
import { a } from "./a.js";
if (a <= 1 && b) {
  show(a);
  return show(a);
}
"""


def test_faults_are_in_code_and_change_one_thing() -> None:
    assert [(fault.line, fault.after) for fault in faults("a.ts", SOURCE)] == [
        (3, "if (a < 1 && b) {"),
        (3, "if (a <= 1 || b) {"),
        (4, ""),
    ]


def test_a_seed_draws_the_same_faults_of_every_file() -> None:
    sources = sorted((ROOT / "client" / "src").rglob("*.ts"))
    assert drawn(1, sources) == drawn(1, sources) != drawn(2, sources)
    assert len({fault.file for fault in drawn(1, sources)}) > 30
