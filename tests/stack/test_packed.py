"""The npm package, packed by npm and installed from its tarball, as a page uses it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.stack.conftest import CLIENT


@pytest.mark.long
def test_the_tarball_passes_the_vectors_and_says_what_it_exports(package: Path) -> None:
    manifest = json.loads((package / "package.json").read_text())
    assert "dependencies" not in manifest
    for entry in manifest["exports"].values():
        for path in entry.values() if isinstance(entry, dict) else [entry]:
            assert (package / path).exists(), path
    run = ["node", "--test", str(CLIENT / "test" / "vectors.test.mjs")]
    environment = {**os.environ, "CLIENT": str(package / "dist" / "client.js")}
    done = subprocess.run(run, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    # The package is imported by its name, and its types pass the user's compiler.
    (package.parents[2] / "use.mts").write_text(
        'import { load, draw, send, type Place } from "@deniable/client";\n'
        "export const run = async (place: Place) => {\n"
        "  const one = await load(place);\n"
        "  return send(one, await draw(one, ['yes']));\n"
        "};\n"
    )
    tsc = [str(CLIENT / "node_modules" / ".bin" / "tsc"), "--noEmit", "--strict", "--target", "es2020", "--module"]
    tsc += ["preserve", "--moduleResolution", "bundler", "--lib", "es2020,dom,dom.iterable", "use.mts"]
    checked = subprocess.run(tsc, cwd=package.parents[2], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
