"""The Makefile finds a recent Python, or prints what is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


def make_environment(tmp_path: Path, programs: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Make a virtual environment where these scripts are all the programs there are."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("sh", "make", "mkdir", "touch"):
        found = shutil.which(tool)
        assert found is not None
        (folder / tool).symlink_to(found)
    for name, script in programs.items():
        path = folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    target = tmp_path / "venv"
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS", "PYTHON"))}
    return subprocess.run(
        [folder / "make", "-s", f"VENV={target}", f"{target}/bin/python"],
        cwd=ROOT,
        env={**environment, "PATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def venv_of(name: str) -> str:
    """Return a recent Python that makes environments whose pip names their maker."""
    return (
        f'[ "$1" = -c ] && exit 0; mkdir -p "$3/bin"; '
        f'printf \'#!/bin/sh\\necho made by {name}\\n\' > "$3/bin/pip"; chmod +x "$3/bin/pip"'
    ).replace("chmod", shutil.which("chmod") or "chmod")


def test_the_first_python_that_is_new_enough(tmp_path: Path) -> None:
    old = "exit 1"  # this is its answer to the question whether it is new enough
    made = make_environment(tmp_path, {"python3.11": old, "python3.13": venv_of("3.13"), "python3": venv_of("old")})
    assert made.returncode == 0, made.stderr
    assert made.stdout == "made by 3.13\n"


def test_none_but_uv(tmp_path: Path) -> None:
    script = "for last; do :; done; " + venv_of("uv").replace('"$3', '"$last')
    made = make_environment(tmp_path, {"python3": "exit 1", "uv": script})
    assert made.returncode == 0, made.stderr
    assert made.stdout == "made by uv\n"


def test_none_at_all(tmp_path: Path) -> None:
    made = make_environment(tmp_path, {"python3": "exit 1"})
    assert made.returncode == 2
    assert "Python 3.11 or later is needed, and there is none: install it" in made.stderr
