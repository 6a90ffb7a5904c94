"""Settings of a collector."""

from __future__ import annotations

from pathlib import Path

import pytest

from deniable.errors import FileFormatError, InvalidParameterError
from deniable.service.config import AllowanceShape, LimitsShape, read_configuration


def test_named_networks_are_configured(tmp_path: Path) -> None:
    path = tmp_path / "collector.toml"
    path.write_text('[limits]\nper_minute = 7\n[limits.networks."10.1.0.0/16"]\nper_minute = 700\n')
    found = read_configuration(path, {}, {})
    assert found.limits.networks == {"10.1.0.0/16": AllowanceShape(per_minute=700)}
    limits = found.limits.limits()
    assert limits is not None
    assert sum(limits.wait("10.1.2.3") == 0 for _ in range(800)) == 700
    with pytest.raises(InvalidParameterError, match=r"limits\.networks must list networks, such as 10\.0\.0\.0/8"):
        LimitsShape(networks={"school": AllowanceShape()}).limits()


def test_the_step_is_configured() -> None:
    def step(environment: dict[str, str]) -> object:
        return read_configuration(None, {}, environment).results.while_open

    assert (step({}), step({"DENIABLE_RESULTS_WHILE_OPEN": "4"})) == ("day", 4)
    assert step({"DENIABLE_RESULTS_WHILE_OPEN": "day"}) == "day"
    with pytest.raises(InvalidParameterError, match=r"results.while_open must be a whole number, got “week”"):
        step({"DENIABLE_RESULTS_WHILE_OPEN": "week"})
    with pytest.raises(FileFormatError, match=r"results.while_open"):
        step({"DENIABLE_RESULTS_WHILE_OPEN": "0"})
