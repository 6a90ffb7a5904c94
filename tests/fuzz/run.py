"""Coverage-guided fuzzing of all readers: ``python -m tests.fuzz.run [--seconds S] [--output results.json]``.

Each reader runs in its own process, because atheris does not return. Inputs that cause an untyped error are stored
under ``corpus/<reader>/`` and replayed by the tests. The result is JSON: inputs and findings of each reader.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"


def fuzz(name: str, seconds: int) -> None:
    """Fuzz one reader in this process until the time is over or there is a finding."""
    import atheris  # type: ignore[import-not-found,import-untyped,unused-ignore]

    # Only our own code is instrumented, because instrumenting everything takes minutes.
    with atheris.instrument_imports(include=["deniable"]):
        from tests.fuzz.readers import read, valid

    with tempfile.TemporaryDirectory() as seeds:
        (Path(seeds) / "valid").write_bytes(valid(name))
        for found in (CORPUS / name).glob("*"):
            (Path(seeds) / found.name).write_bytes(found.read_bytes())
        kept = CORPUS / name
        kept.mkdir(exist_ok=True)
        limits = [f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048", f"-artifact_prefix={kept}/"]
        atheris.Setup([sys.argv[0], *limits, seeds], lambda content: read(name, content) and None)
        atheris.Fuzz()


def main() -> None:
    """Fuzz all readers; a child process fuzzes one of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="per reader")
    parser.add_argument("--output", type=Path, default=Path("results/fuzz.json"))
    parser.add_argument("--reader", help="one reader, in this process")
    options = parser.parse_args()
    if options.reader:
        fuzz(options.reader, options.seconds)
        return
    from tests.fuzz.readers import READERS

    results = {}
    for name in READERS:
        before = set((CORPUS / name).glob("*"))
        command = [sys.executable, "-m", "tests.fuzz.run", "--reader", name, "--seconds", str(options.seconds)]
        # Instrumented loops cannot be compiled. Readers are fuzzed, and their loops run on a few rows.
        environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
        run = subprocess.run(
            command, capture_output=True, text=True, timeout=10 * options.seconds + 120, env=environment
        )
        inputs = re.findall(r"#(\d+)", run.stderr)
        findings = sorted(path.name for path in set((CORPUS / name).glob("*")) - before)
        results[name] = {"inputs": int(inputs[-1]) if inputs else 0, "exit": run.returncode, "findings": findings}
    options.output.parent.mkdir(exist_ok=True)
    options.output.write_text(json.dumps({"seconds": options.seconds, "readers": results}, indent=2) + "\n")
    sys.exit(any(result["exit"] or result["findings"] for result in results.values()))


if __name__ == "__main__":
    main()
