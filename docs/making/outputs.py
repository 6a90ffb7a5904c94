"""Output below code: every Python block that prints is followed by its output."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import types
from pathlib import Path

BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```output\n(?P<shown>.*?)^```\n)?", re.M | re.S)

ELSEWHERE = ("README.md", "docs/epsilon.md", "docs/templates/consent.md")
"""Pages that show the output of their code in another form."""

NEEDS_DATA = ("docs/stories/health.md", "docs/stories/smoking.md")
"""Pages whose code needs data that not everyone has."""

_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


def with_outputs(name: str, text: str) -> str:
    """Run a page's Python blocks from top to bottom; return the page with the output below each block."""
    module = types.ModuleType("page")  # a module of its own, so that classes of the page can be pickled

    def run(block: re.Match[str]) -> str:
        code = block["code"]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, name, "exec"), module.__dict__)
        said = "\n".join(line.rstrip() for line in printed.getvalue().splitlines()).strip("\n")
        if name in ELSEWHERE or not said:
            return f"```python\n{code}```\n"
        return f"```python\n{code}```\n\n```output\n{said}\n```\n"

    sys.modules["page"] = module
    try:
        return BLOCK.sub(run, text)
    finally:
        del sys.modules["page"]


def alike(shown: str, made: str) -> bool:
    """Return whether two texts differ at most in the last digits of numbers, which depend on the machine."""
    if _NUMBER.sub("0", shown) != _NUMBER.sub("0", made):
        return False
    pairs = zip(_NUMBER.findall(shown), _NUMBER.findall(made), strict=True)
    return all(one == other or _close(one, other) for one, other in pairs)


def _close(one: str, other: str) -> bool:
    first, second = (float(number.replace(",", "")) for number in (one, other))
    return abs(first - second) <= 1e-6 * max(abs(first), abs(second))


def main(docs: Path) -> None:
    """Write the output on all pages anew."""
    for path in sorted(docs.rglob("*.md")):
        name = f"docs/{path.relative_to(docs)}"
        text = path.read_text(encoding="utf-8")
        skipped = name in ELSEWHERE or (name in NEEDS_DATA and not os.environ.get("DENIABLE_DATA"))
        if "```python" in text and not skipped:
            path.write_text(with_outputs(name, text), encoding="utf-8")


if __name__ == "__main__":
    main(Path(__file__).parents[1])
