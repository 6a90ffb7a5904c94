"""R with the package of `r/` in its own library, and the npm package installed from its tarball."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "client"

Rscript = Callable[[Path, str], str]


@pytest.fixture(scope="session")
def rscript(tmp_path_factory: pytest.TempPathFactory) -> Rscript:
    """Return a function that runs R code in a folder and returns its output."""
    program = shutil.which("Rscript")
    if program is None:
        if os.environ.get("DENIABLE_R") == "required":
            pytest.fail("Rscript must be installed: DENIABLE_R=required")
        pytest.skip("Rscript is not installed")
    library = tmp_path_factory.mktemp("r-library")
    paths = os.pathsep.join(filter(None, [str(library), os.environ.get("R_LIBS", "")]))
    environment = {**os.environ, "R_LIBS": paths, "LC_ALL": "C.UTF-8"}
    install = ["R", "CMD", "INSTALL", "--no-docs", "--no-byte-compile", f"--library={library}", str(ROOT / "r")]
    subprocess.run(install, check=True, capture_output=True, env=environment)

    def run(place: Path, code: str) -> str:
        done = subprocess.run(
            [program, "-e", code], cwd=place, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the package, installed from its tarball."""
    if shutil.which("npm") is None or not (CLIENT / "node_modules" / "esbuild").exists():
        pytest.skip("the client's developer tools are not installed (npm ci)")
    place = tmp_path_factory.mktemp("page")
    pack = ["npm", "pack", "--json", f"--pack-destination={place}"]
    subprocess.run(pack, cwd=CLIENT, check=True, capture_output=True)
    (tarball,) = place.glob("*.tgz")
    (place / "package.json").write_text('{"type": "module"}')
    install = ["npm", "install", "--offline", "--no-audit", "--no-fund", str(tarball)]
    subprocess.run(install, cwd=place, check=True, capture_output=True)
    return place / "node_modules" / "@deniable" / "client"
