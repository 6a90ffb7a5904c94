"""Invitations: links for one report each, made by the inviter, who knows the people; the collector does not know them.

An inviter draws a token for every person, and writes the links into a file that nobody else has. The collector gets the
first 16 bytes of SHA-256("deniable nullifier" || collection || token) for each token. This is also the id that the
person's report comes with. The collector therefore has no token and does not know whose an id is. The inviter has no
report. Both together know whose report came with an id, if the collector keeps what it is built to forget. Even then
they know only a randomised report.
"""

from __future__ import annotations

import csv
import hashlib
import html
import io
import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deniable.core.documents import read_document
from deniable.core.randomness import SecureRandomness
from deniable.errors import FileFormatError, InvalidParameterError, InvalidReportError, quoted
from deniable.files.jobs.shuffling import permutation
from deniable.files.wire import ID_BYTES, from_base64url, to_base64url
from deniable.service.stores.invited import LEAST_TAGGED, Invitation, Used

if TYPE_CHECKING:
    from deniable.service.stores.store import Store

MOST_LINKS = 1_000_000
"""Most links that are made at a time."""

MOST_ROUNDS = 12

_COLUMNS = ("number", "round", "tag", "token", "link")
_TAG = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


@dataclass(frozen=True)
class Link:
    """Link for one person.

    Parameters
    ----------
    number : int
        Row of the link, from 1.
    position : int
        Round that the link is for, from 1.
    tag : str
        Channel of the link; empty if it has none.
    token : bytes
        Secret 16 bytes that the link's fragment ends in.
    """

    number: int
    position: int
    tag: str
    token: bytes


def nullifier(collection: str, token: bytes) -> bytes:
    """Return the id that the holder of a token sends a report with.

    The id depends on nothing that was answered.

    Parameters
    ----------
    collection : str
        Id of the collection, 64 hexadecimal digits.
    token : bytes
        Secret of the invitation, 16 bytes.

    Examples
    --------
    >>> nullifier("00" * 32, bytes(16)).hex()
    '4830bbd133ef1e4e1c3063b9b415ae22'
    """
    return hashlib.sha256(b"deniable nullifier" + bytes.fromhex(collection) + token).digest()[:ID_BYTES]


def draw_links(count: int, rounds: int = 1, tag: str = "") -> list[Link]:
    """Inviter: draw a token for every person, and the round in which each person is asked.

    Rounds differ in size by at most one person. The secure generator draws who is in which round, before anybody has
    answered.

    Raises
    ------
    InvalidParameterError
        If there are too few or too many people, or the tag is not a name.

    Examples
    --------
    >>> from collections import Counter
    >>> links = draw_links(5, rounds=2)
    >>> sorted(Counter(link.position for link in links).values()), len({link.token for link in links})
    ([2, 3], 5)
    """
    if not 1 <= rounds <= MOST_ROUNDS:
        raise InvalidParameterError(f"rounds must be from 1 to {MOST_ROUNDS}, got rounds={rounds}; plan fewer rounds")
    if not rounds <= count <= MOST_LINKS:
        raise InvalidParameterError(
            f"count must be from {rounds} to {MOST_LINKS:,} for rounds={rounds}, got count={count}; every round needs "
            "at least one invitation. To invite more people, run the command several times"
        )
    if len(tag) > 64 or not set(tag) <= _TAG:
        raise InvalidParameterError(
            f"tag must have at most 64 letters, digits, - or _, got tag={quoted(tag[:64])}; choose a short name for "
            "the channel"
        )
    if tag and count // rounds < LEAST_TAGGED:
        raise InvalidParameterError(
            f"count must be at least {LEAST_TAGGED} for each round if a tag names the channel, got count={count}; "
            "invite more people, or leave the tag out. A smaller channel could identify people"
        )
    order = permutation(SecureRandomness(), count)
    tokens = secrets.token_bytes(ID_BYTES * count)
    return [
        Link(i + 1, int(order[i]) % rounds + 1, tag, tokens[ID_BYTES * i : ID_BYTES * (i + 1)]) for i in range(count)
    ]


def invitations(collection: str, links: Sequence[Link], least: int) -> list[Invitation]:
    """Return the entries that a collector keeps for the links of one round.

    They are in groups of `least` or more, drawn at random. The people of a group are reminded together. If there are
    fewer links than `least`, they have no group, and their holders are never reminded.
    """
    groups = len(links) // least
    order = permutation(SecureRandomness(), len(links))
    parts = [int(place) % groups + 1 if groups else 0 for place in order]
    return [
        Invitation(nullifier(collection, link.token), link.tag, part) for link, part in zip(links, parts, strict=True)
    ]


def address(url: str, path: str, token: bytes) -> str:
    """Return the whole link of a person.

    Raises
    ------
    InvalidParameterError
        If the collector's address is of another kind.

    Examples
    --------
    >>> address("https://survey.example.org/", "/s/smoking#0123", bytes(16))
    'https://survey.example.org/s/smoking#0123.AAAAAAAAAAAAAAAAAAAAAA'
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise InvalidParameterError(
            "url must be the public address of the collector, such as https://survey.example.org, got "
            f"url={quoted(url)}; leave out the path of the survey"
        )
    return f"{url.rstrip('/')}{path}.{to_base64url(token)}"


# -------------------------------------------------------------------- the inviter's files


def links_csv(links: Iterable[Link], position: int, url: str, path: str) -> str:
    """Return the inviter's file: links of the open round, and tokens of later rounds, whose links come later."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for one in links:
        link = address(url, path, one.token) if one.position == position else ""
        writer.writerow((one.number, one.position, one.tag, to_base64url(one.token), link))
    return text.getvalue()


def read_links(path: Path) -> list[Link]:
    """Return the links of an inviter's file; further columns that were added to the file are ignored.

    Raises
    ------
    FileFormatError
        If a column is missing, or a row holds something else. The message never contains a token.
    """
    text, delimiter = _spreadsheet(path)
    rows = csv.DictReader(text, delimiter=delimiter)
    needed = _COLUMNS[:-1]
    if missing := [name for name in needed if name not in (rows.fieldnames or ())]:
        raise FileFormatError(f"{path} must have the columns {', '.join(needed)}, but {quoted(missing[0])} is missing")
    found = []
    for place, row in enumerate(rows, 2):
        try:
            token = from_base64url([row["token"]], ID_BYTES, "token").tobytes()
            found.append(Link(int(row["number"]), int(row["round"]), row["tag"], token))
        except (InvalidReportError, TypeError, ValueError):
            raise FileFormatError(
                f"{path}, row {place}: number, round and token must be as `survey invite` wrote them, but one of the "
                "three was changed; restore this row"
            ) from None
    return found


def _spreadsheet(path: Path) -> tuple[io.StringIO, str]:
    """Return the text of a file, and its delimiter. In many countries, spreadsheets save CSV with semicolons."""
    text = read_document(path)
    heading = text.partition("\n")[0]
    return io.StringIO(text), max(",;\t", key=heading.count)


def select_rows(path: Path, kept: Iterable[bool]) -> str:
    """Return some rows of an inviter's file with all its columns, also those that were added to it."""
    content, delimiter = _spreadsheet(path)
    lines = list(csv.reader(content, delimiter=delimiter))
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(lines[0])
    writer.writerows(line for line, keep in zip((line for line in lines[1:] if line), kept, strict=True) if keep)
    return text.getvalue()


_SHEET = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Invitations: {title}</title>
<style>
body {{ font: 11pt/1.4 sans-serif; margin: 0; }}
ul {{ display: grid; grid-template-columns: repeat(2, 1fr); gap: 6mm; list-style: none; margin: 0; padding: 10mm; }}
li {{ border: 1px dashed #666; padding: 5mm; break-inside: avoid; overflow-wrap: anywhere; }}
svg {{ display: block; width: 38mm; height: 38mm; }}
code {{ font-size: 8pt; }}
</style>
</head>
<body>
<ul>
{cards}
</ul>
</body>
</html>
"""


def sheet(links: Iterable[Link], position: int, url: str, path: str, title: str) -> str:
    """Return a page to print and cut: a QR code and the link for every person of the round that is open."""
    import segno  # it is imported here because invitations by mail need no drawing

    cards = []
    for one in links:
        if one.position == position:
            link = address(url, path, one.token)
            drawn = segno.make_qr(link, error="m").svg_inline(scale=4, light="#fff")
            cards.append(
                f"<li><strong>{html.escape(title)}</strong><br>No. {one.number}. This link is for one person and "
                f"counts once.{drawn}<code>{html.escape(link)}</code></li>"
            )
    return _SHEET.format(title=html.escape(title), cards="\n".join(cards))


# -------------------------------------------------------------------- response rates


@dataclass(frozen=True)
class Response:
    """Response rate of a survey for invited people.

    Parameters
    ----------
    invited, used : int
        Number of invitations and of used invitations, in all channels together.
    tags : dict of str to (int, int)
        Same two numbers for every channel that has a name.
    step : int
        Step that `used` is rounded down to a multiple of; 1 once a survey is closed.
    """

    invited: int
    used: int
    tags: dict[str, tuple[int, int]]
    step: int

    @property
    def sentence(self) -> str:
        """Response rate as a sentence.

        Examples
        --------
        >>> Response(500, 200, {}, 100).sentence
        '200 of 500 invitations used (40%), counted in steps of 100'
        """
        share = f" ({100 * self.used / self.invited:.0f}%)" if self.invited else ""
        steps = "" if self.step == 1 else f", counted in steps of {self.step}"
        return f"{self.used:,} of {self.invited:,} invitations used{share}{steps}"


def response(used: Iterable[Used], least: int, *, closed: bool) -> Response:
    """Return the response rate, rounded so that two looks are equal or differ by `least` people or more.

    Examples
    --------
    >>> groups = [Used("mail", 1, 150, 70), Used("mail", 2, 150, 71), Used("", 0, 7, 3)]
    >>> response(groups, 50, closed=False).used, response(groups, 50, closed=False).tags
    (100, {'mail': (300, 100)})
    >>> response(groups, 50, closed=True).used
    144
    """
    step = 1 if closed else least
    invited, answered = Counter[str](), Counter[str]()
    for one in used:
        invited[one.tag] += one.invited
        answered[one.tag] += one.used
    tags = {tag: (invited[tag], answered[tag] // step * step) for tag in sorted(invited) if tag}
    return Response(invited.total(), answered.total() // step * step, tags, step)


def response_of(store: Store, collection: str, least: int, *, closed: bool) -> Response:
    """Return the `response` for a collection."""
    return response(store.used(collection), least, closed=closed)
