"""Where a module's own test is: src/deniable/a/b.py has tests/unit/a/test_b.py, and research and service their folders.

`python -m tests.places` prints the modules that have none there, each with tests of its name elsewhere.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "deniable"


def own_test(module: Path) -> Path:
    """Return where the test of a module belongs, which is given relative to the package."""
    name = f"test_{module.stem.lstrip('_')}.py"
    room, *rest = module.parent.parts or ("",)
    if room in ("cli", "research"):
        return ROOT.joinpath("tests", room, *rest, name)
    if room == "service":
        return ROOT / "tests" / room / name
    return ROOT.joinpath("tests", "unit", room, *rest, name)


def modules() -> list[Path]:
    """Return all modules but the lists of names that packages begin with, relative to the package."""
    return sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")


def share() -> float:
    """Return the share of modules that have a test of their own."""
    found = [own_test(module).exists() for module in modules()]
    return sum(found) / len(found)


def _main() -> None:
    for module in modules():
        wanted = own_test(module)
        if not wanted.exists():
            others = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob(wanted.name))
            print(module, *others)
    print(f"{share():.1%} of {len(modules())} modules have a test of their own")


if __name__ == "__main__":
    _main()
