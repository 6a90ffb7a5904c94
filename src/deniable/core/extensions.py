"""Extensions: additions of other packages, found by entry points and loaded only when they are needed.

`deniable.research` is found in the same way. It registers in this distribution's own `pyproject.toml`, and nothing
outside `deniable.research` imports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from deniable.errors import MissingExtraError, quoted

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

Group = Literal["mechanisms", "commands", "plans", "dealing"]
GROUPS: tuple[Group, ...] = get_args(Group)
"""Kinds of extensions, each an entry point group ``deniable.GROUP``.

* ``mechanisms``: a class, under the name that specifications carry.
* ``commands``: the module that defines a command and the first sentence of its help, under the command's name.
* ``plans``: a function that returns rows of a plan that need one more party to be trusted.
* ``dealing``: ``shares`` opens a file of a dealer's shares, and ``estimate`` estimates a survey of several deals.
"""


def extensions(group: Group) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group, sorted by name. None of them is loaded yet.

    Examples
    --------
    >>> [point.name for point in extensions("commands")]
    ['bench', 'calibrate', 'deal', 'hand-out', 'load-times']
    """
    return tuple(sorted(_entry_points(group), key=lambda point: point.name))


def extension(group: Group, name: str) -> Any:
    """Return the object that is registered under a name, after loading it.

    Raises
    ------
    MissingExtraError
        If nothing is registered under the name. The package that adds it is not installed, or an older version is
        installed.

    Examples
    --------
    >>> extension("dealing", "estimate").__name__
    'estimate_deals'
    """
    for point in _entry_points(group).select(name=name):
        return point.load()
    raise MissingExtraError(
        f"{quoted(name)} is not available in deniable.{group}: an installed package must add it; install that package, "
        "or install deniable again if it is a part of deniable"
    )


def _entry_points(group: Group) -> EntryPoints:
    # This import takes a tenth of the time of numpy's, and hardly anybody needs it. So it waits for the first use.
    from importlib.metadata import entry_points

    return entry_points(group=f"deniable.{group}")
