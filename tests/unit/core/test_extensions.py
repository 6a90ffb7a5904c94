"""Entry points of other packages, which `deniable.research` uses as well."""

from __future__ import annotations

from deniable.core.extensions import GROUPS, extension, extensions


def test_research_comes_in_by_the_entry_points_of_all_packages() -> None:
    registered = {f"{group}:{point.name}" for group in GROUPS for point in extensions(group)}
    ours = {f"commands:{name}" for name in ("bench", "calibrate", "deal", "hand-out", "load-times")}
    ours |= {"plans:dealt", "dealing:shares", "dealing:estimate"}
    assert ours <= registered
    assert extension("plans", "dealt").__module__ == "deniable.research.dealt.planning"
