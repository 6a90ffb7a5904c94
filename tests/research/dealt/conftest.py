"""The command line's fixtures, for the dealer's commands."""

from pathlib import Path

import pytest

from tests.cli.conftest import (
    N,
    Run,
    collected as collected,
    folder as folder,
    made_once as made_once,
    run as run,
    schema_text,
    survey as survey,
)
from tests.research.dealt.deals import collection


@pytest.fixture
def quota(run: Run) -> Run:
    """The survey of one question with a dealer, in survey.json."""
    Path("smoker.json").write_text(schema_text("smoker"))
    made = run(*collection(), "-o", "survey.json")
    assert made.exit_code == 0, made.output
    return run


@pytest.fixture
def dealt(quota: Run) -> Run:
    """The same survey, with its deal in the directory shares."""
    result = quota("deal", "survey.json", "--contributors", N, "-o", "shares")
    assert result.exit_code == 0, result.output
    return quota
