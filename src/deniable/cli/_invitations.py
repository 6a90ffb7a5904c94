"""Invitations on the command line.

The inviter's files are written here, and a collector gets only hashes.
"""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

from deniable.cli._app import check_output, note, writing
from deniable.core.outputs import atomic_path, write_text
from deniable.errors import InvalidParameterError
from deniable.service.control import ask
from deniable.service.invitations import (
    Link,
    draw_links,
    invitations,
    links_csv,
    nullifier,
    read_links,
    select_rows,
    sheet,
)


def invite(
    database: str,
    slug: str,
    output: Path,
    url: str,
    *,
    count: int | None,
    rounds: int,
    tag: str,
    links: Path | None,
    sheet_file: Path | None,
) -> dict[str, Any]:
    """Draw links or read them from a file, send the hashes of this round's links, and write all links once."""
    if (count is None) == (links is None):
        raise InvalidParameterError(
            "exactly one of --count and --links must be given: --count says how many people to invite, and --links "
            "names the file with the links of these people"
        )
    if links is not None and (rounds != 1 or tag):
        raise InvalidParameterError(
            f"--rounds and --tag must be left out with --links: {links} already gives the round and the channel of "
            "each link"
        )
    for target in filter(None, (output, sheet_file)):
        check_output(target, [links] if links else [], keep="links that were written must not be lost")
    asked = ask(database, {"command": "terms", "slug": slug})
    position, collection = asked["position"], asked["collection"]
    found = draw_links(count, rounds, tag) if count is not None else _rest(links, position)
    if links is None:
        found = [Link(one.number, one.position + position - 1, one.tag, one.token) for one in found]
    now = [one for one in found if one.position == position]
    text = links_csv(found, position, url, asked["path"])
    entered = [
        (b64encode(one.nullifier).decode(), one.tag, one.part)
        for one in invitations(collection, now, asked["min_batch"])
    ]
    # Nobody is invited unless the file can be written, because a person whose link is lost could not answer.
    with writing(output), atomic_path(output, private=True) as temporary:
        temporary.write_text(text, encoding="utf-8")
        result = ask(database, {"command": "invite", "slug": slug, "invited": entered})
    if sheet_file is not None:
        with writing(sheet_file):
            write_text(sheet_file, sheet(now, position, url, asked["path"], asked["title"]), private=True)
    note(f"{output} holds the only copy of these links: the collector has their hashes")
    note("anyone who knows which person has which link can find out who answered, but no true answer")
    if later := len(found) - len(now):
        note(f"{later:,} links are for later rounds: after survey next, run survey invite --links {output}")
    return {**result, "round": position, "file": str(output)}


def _rest(links: Path | None, position: int) -> list[Link]:
    assert links is not None
    found = [one for one in read_links(links) if one.position == position]
    if not found:
        raise InvalidParameterError(
            f"links must be a file with links for round {position}, but {links} contains no link for this round"
        )
    return found


def remind(database: str, slug: str, links: Path, output: Path) -> dict[str, Any]:
    """Write the rows of an inviter's file whose groups are behind, with all columns of the file."""
    check_output(output, [links])
    asked = ask(database, {"command": "terms", "slug": slug})
    behind = set(ask(database, {"command": "remind", "slug": slug})["behind"])
    kept = [name in behind for name in _names(asked["collection"], read_links(links))]
    with writing(output):
        write_text(output, select_rows(links, kept), private=True)
    note("in every group listed here, fewer than half of the people have answered; the list does not say who")
    return {"slug": slug, "reminded": sum(kept), "file": str(output)}


def revoke(database: str, slug: str, links: Path) -> dict[str, Any]:
    """Revoke the unused links in a file."""
    asked = ask(database, {"command": "terms", "slug": slug})
    return ask(database, {"command": "revoke", "slug": slug, "names": _names(asked["collection"], read_links(links))})


def _names(collection: str, links: list[Link]) -> list[str]:
    return [b64encode(nullifier(collection, one.token)).decode() for one in links]
