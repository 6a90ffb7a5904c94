"""`deal --helpers`: shares from helpers, in the same files as a dealer's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable import Attribute, Collection, Schema
from deniable.research.dealt.files.shares import ShareReader
from deniable.research.dealt.quota.quota_rr import QuotaRR
from tests.cli.conftest import Run


@pytest.fixture
def dealt(run: Run) -> Run:
    schema = Schema((Attribute("smoker", ("yes", "no")),))
    mechanism: Any = QuotaRR(1.0, 21, minimum=4, deal_id="monday")
    Collection(schema, mechanism).save("survey.json")
    return run


def test_helpers_write_the_files_of_a_dealer(dealt: Run) -> None:
    result = dealt("deal", "survey.json", "--contributors", "21", "--helpers", "3", "-o", "shares")
    assert result.exit_code == 0, result.output
    assert "3 helpers, all on this machine" in result.stderr
    ((numbers, shares),) = ShareReader("shares", Collection.load("survey.json")).batches()
    assert numbers.tolist() == list(range(1, 22))
    assert shares.deal_id == "monday"
    assert (np.bincount(shares.columns[0])[:2] >= 4).all()


@pytest.mark.parametrize("helpers", [2, 6])
def test_too_few_or_too_many_helpers(dealt: Run, helpers: int) -> None:
    result = dealt("deal", "survey.json", "--contributors", "21", "--helpers", str(helpers), "-o", "shares")
    assert result.exit_code == 2
    assert "--helpers" in result.stderr
    assert not Path("shares").exists()
