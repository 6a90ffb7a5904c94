"""Places of tests: the test of src/deniable/a/b.py is tests/unit/a/test_b.py.

Commands, research, service and `deniable.testing` have their own folders. Modules without their own file of tests are
listed in `places.toml`, with the file that tests them. `python -m tests.places MODULE...` prints the test files of
these modules. Without a module, it prints the share of modules with their own test file.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "deniable"


def own_test(module: Path) -> Path:
    """Return the place of a module's test; the module is given relative to the package."""
    name = f"test_{module.stem.strip('_')}.py"
    room, *rest = module.parent.parts or ("",)
    if room in ("cli", "research"):
        return ROOT.joinpath("tests", room, *rest, name)
    if room == "service":
        return ROOT / "tests" / room / name
    if room == "testing":
        return ROOT / "tests" / "contract" / name
    return ROOT.joinpath("tests", "unit", room, *rest, name)


def modules() -> list[Path]:
    """Return all modules except the lists of names of packages, relative to the package."""
    return sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")


def listed() -> dict[Path, Path]:
    """Return the modules in `places.toml`, each with the file that tests it."""
    text = (ROOT / "tests" / "places.toml").read_text(encoding="utf-8")
    return {Path(module): ROOT / "tests" / test for module, test in tomllib.loads(text).items()}


def _main() -> None:
    elsewhere = listed()
    for module in (Path(name.removeprefix("src/deniable/")) for name in sys.argv[1:]):
        print(module, elsewhere.get(module, own_test(module)).relative_to(ROOT))
    if not sys.argv[1:]:
        print(f"{1 - len(elsewhere) / len(modules()):.0%} of {len(modules())} modules have a test file of their own")


if __name__ == "__main__":
    _main()
