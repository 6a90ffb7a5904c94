"""Commands for dealers: `deal` and `hand-out`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deniable.cli._app import check_output, command, note, progress, writing
from deniable.cli._options import CollectionFile
from deniable.core.randomness import SecureRandomness
from deniable.errors import InvalidParameterError, quoted
from deniable.research.dealt.files import deal_file, hand_out
from deniable.research.dealt.files.shares import dealer_of
from deniable.research.dealt.mpc.splitting import Helpers
from deniable.survey.collection import Collection


@command("deal", interrupted="nothing was written: no share exists")
def deal(
    survey: CollectionFile,
    contributors: Annotated[int, typer.Option("--contributors", help="Number of contributors who get a share.", min=1)],
    output: Annotated[Path, typer.Option("--output", "-o", help="Directory to create; only its owner can read it.")],
    allow_repeat: Annotated[
        bool, typer.Option("--allow-repeat", help="Allow a second deal, only if no share of the first was used.")
    ] = False,
    helpers: Annotated[
        int | None,
        typer.Option(
            "--helpers", help="Number of helpers on this machine, to rehearse dealing without a dealer.", min=3, max=5
        ),
    ] = None,
) -> None:
    """Deal a secret share to each contributor.

    For the dealer, who sees neither answers nor reports and must not collude with the collector.

    Row i is for contributor i only. An interrupted run writes nothing.
    """
    collection = Collection.load(survey)
    with writing(output), progress("dealing") as report:
        dealer = None if helpers is None else Helpers(dealer_of(collection), helpers)
        rng = SecureRandomness()
        result = deal_file(
            collection, contributors, output, rng, allow_repeat=allow_repeat, dealer=dealer, progress=report
        )
    for warning in result.warnings:
        note(f"warning: {warning}")
    if helpers is not None:
        note(
            f"dealt by {helpers} helpers, all on this machine. A person who controls this machine sees every share, as "
            "a dealer does"
        )
    note(f"{result.n:,} shares: hand out each to its contributor, none to the collector")


@command("hand-out")
def hand_out_shares(
    survey: CollectionFile,
    shares: Annotated[Path, typer.Argument(metavar="SHARES", help="Directory of the deal.")],
    contributor: Annotated[
        str,
        typer.Option(
            "--contributor", metavar="I|I-J", help="Number of the contributor who gets the file, from 1, or a range."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="File for these contributors.")],
) -> None:
    """Move shares from a deal into a file for contributors.

    For the dealer. Give the file only to those contributors. The deal no longer holds their
    shares. Delete your copy of the file once it is delivered.
    """
    check_output(output, keep="the shares in this file would be lost")
    first, last = _range(contributor)
    with writing(output):
        count = hand_out(Collection.load(survey), shares, first, last, output)
    note(f"{count:,} {'share' if count == 1 else 'shares'} left {shares}: delete {output} when it is delivered")


def _range(text: str) -> tuple[int, int]:
    """Return the contributors that "17" or "1-500" names."""
    first, dash, last = text.partition("-")
    try:
        return int(first), int(last if dash else first)
    except ValueError:
        raise InvalidParameterError(
            f"contributor must be a number, or a range such as 1-500, got contributor={quoted(text)}"
        ) from None
