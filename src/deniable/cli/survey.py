"""Command for the surveys of a collector: make, open, pause, close, export, delete, back up and restore."""

from __future__ import annotations

import base64
import json
import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.cli._app import check_output, check_used, command, note, writing
from deniable.core.documents import read_document
from deniable.core.outputs import atomic_path, write_text
from deniable.errors import DeniableError, InvalidParameterError, OutputError, StoreError, quoted, unknown_name

Database = Annotated[
    str,
    typer.Option(
        "--database", envvar="DENIABLE_DATABASE", help="Database of the collector: sqlite:PATH or postgresql://... ."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

DEFAULT_DATABASE = "sqlite:deniable.db"


class Action(StrEnum):
    """Actions on a survey."""

    new = "new"
    open = "open"
    pause = "pause"
    close = "close"
    delete = "delete"
    status = "status"
    list = "list"
    invite = "invite"
    remind = "remind"
    revoke = "revoke"
    next = "next"
    export = "export"
    publish = "publish"
    withdraw = "withdraw"
    backup = "backup"
    restore = "restore"
    migrate = "migrate"


_USED = {
    Action.new: {"name", "survey_file", "page_file", "contributors", "language", "as_json"},
    Action.open: {"name", "anyway", "as_json"},
    Action.pause: {"name", "as_json"},
    Action.close: {"name", "now", "as_json"},
    Action.delete: {"name", "yes", "as_json"},
    Action.status: {"name", "as_json"},
    Action.list: {"as_json"},
    Action.invite: {"name", "output", "url", "links", "count", "rounds", "tag", "sheet", "as_json"},
    Action.remind: {"name", "output", "links", "as_json"},
    Action.revoke: {"name", "links", "as_json"},
    Action.next: {"name", "contributors", "mechanism", "settings", "output", "as_json"},
    Action.export: {"name", "output", "reports", "position", "as_json"},
    Action.publish: {"name", "output", "reports", "as_json"},
    Action.withdraw: {"name", "as_json"},
    Action.backup: {"output", "keep", "force", "as_json"},
    Action.restore: {"name"},
    Action.migrate: {"output", "no_backup"},
}
"""Parameters that each action uses, besides the database."""


@command("survey")
def survey(
    context: typer.Context,
    verb: Annotated[
        str,
        typer.Argument(
            metavar="ACTION",
            help=(
                "Action: new, open, invite, remind, revoke, pause, close, next, status, list, export, publish, "
                "withdraw, delete, backup, restore or migrate."
            ),
        ),
    ],
    name: Annotated[
        str | None,
        typer.Argument(metavar="SLUG", help="Name of the survey in its web address; for restore, the backup file."),
    ] = None,
    survey_file: Annotated[
        Path | None, typer.Argument(metavar="SURVEY", help="For new: the collection (survey.json).")
    ] = None,
    page_file: Annotated[
        Path | None,
        typer.Argument(metavar="PAGE", help="For new: the text that people read (page.json); default: drafted."),
    ] = None,
    database: Database = DEFAULT_DATABASE,
    contributors: Annotated[
        int | None, typer.Option("--contributors", help="For new and next: planned number of contributors.", min=1)
    ] = None,
    language: Annotated[
        list[str] | None,
        typer.Option("--language", help="For new, when the page is drafted: en, de, fr, es or ar; repeatable."),
    ] = None,
    now: Annotated[
        bool,
        typer.Option(
            "--now",
            help=("For close: close immediately and accept nothing more, not even reports already drawn on devices."),
        ),
    ] = (False),
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="For invite, remind, export, publish, backup and migrate: file or folder to write."
        ),
    ] = None,
    keep: Annotated[
        int | None, typer.Option("--keep", help="For backup: number of backups to keep in the folder --output.", min=1)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="For backup: overwrite an existing file.")] = False,
    no_backup: Annotated[bool, typer.Option("--no-backup", help="For migrate: skip the backup.")] = False,
    reports: Annotated[
        bool,
        typer.Option(
            "--reports", help="For export: write the reports instead of their sum; for publish: show them as well."
        ),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="For delete: skip the question that asks for the name again.")
    ] = False,
    count: Annotated[
        int | None, typer.Option("--count", help="For invite: number of people to make links for.", min=1)
    ] = None,
    rounds: Annotated[
        int,
        typer.Option("--rounds", help="For invite: number of rounds; each person is put into a random round.", min=1),
    ] = 1,
    tag: Annotated[
        str, typer.Option("--tag", help="For invite: name of a channel with at least 100 people, counted separately.")
    ] = "",
    url: Annotated[
        str | None,
        typer.Option("--url", help="For invite: public address that links begin with; default: $DENIABLE_PUBLIC_URL."),
    ] = None,
    links: Annotated[
        Path | None, typer.Option("--links", help="For invite (a later round), remind and revoke: file of links.")
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option("--sheet", help="For invite: also write a page of QR codes to print.")
    ] = None,
    anyway: Annotated[
        str | None,
        typer.Option("--anyway", metavar="REASON", help="For open: your reason to open a survey that cannot work."),
    ] = None,
    mechanism: Annotated[
        str, typer.Option("--mechanism", help="For next: mechanism that learns from the rounds so far.")
    ] = "Corr-RR",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="For next: learning option, with its value as JSON; repeatable."
        ),
    ] = None,
    position: Annotated[
        int | None, typer.Option("--round", help="For export: round to write; default: the last one.", min=1)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create, open, pause, close, export and delete surveys.

    For collectors: new, open, invite, remind, revoke, pause, close, next, status, list, export,
    publish, withdraw, delete, backup, restore, migrate. If a collector is serving the database, the
    commands go through it; restore and migrate need it stopped.

    While a survey is open, status and export show the last release, as the dashboard does. Delete
    works on a draft or a closed survey; backups and exports still hold it.

    Publish makes a page of the results of a closed survey in each of its languages. With --output
    it writes them to a folder; without, the public port shows them at /r/SLUG/ until withdraw, and
    anyone can get the aggregate. With --reports anyone can get the randomised reports too, and
    check by "deniable verify" that the aggregate is their sum.

    A new survey is a draft. Without PAGE, a page is drafted next to SURVEY. Edit the page, pass it
    to "survey new" again, then run "survey open". Open refuses a survey that cannot work with the
    people it plans for, as the browser does.
    """
    from deniable.service.control import ask

    if verb not in list(Action):
        raise unknown_name("action", verb, list(Action))
    action = Action(verb)
    check_used(context, f"with survey {action.value}", {"verb", "database", *_USED[action]})
    slug = _named(action, name)
    request: dict[str, Any] = {"command": action.value} | ({"slug": slug} if slug else {})
    if action is Action.restore:
        _restore(database, Path(_required(name, "SLUG", "the backup to restore")))
        return
    if action is Action.migrate:
        _migrate(database, output, backup=not no_backup)
        return
    if action is Action.new:
        result = _new(database, request, survey_file, page_file, contributors, language)
    elif action is Action.next:
        result = _next(database, request, contributors, mechanism, settings, output)
    elif action in (Action.invite, Action.remind, Action.revoke):
        result = _invited(action, database, slug, output, url, links, count, rounds, tag, sheet)
    elif action in (Action.export, Action.backup):
        target = Path(_required(output, "--output", "where to write"))
        if action is Action.export and position is not None:
            request["position"] = position
        result = _written(database, request, target, reports, keep, force)
    elif action is Action.publish:
        result = _publish(database, request | ({"reports": True} if reports else {}), output)
    else:
        if action is Action.close:
            request["now"] = now
        if action is Action.open:
            request["anyway"] = anyway or ""
        if action is Action.delete:
            _confirm(database, slug, yes)
        result = ask(database, request)
    if as_json:
        typer.echo(json.dumps(result, indent=2, ensure_ascii=False))
    elif action is Action.list:
        for row in result["surveys"]:
            typer.echo(f"{row['slug']}  {row['state']}  n = {row['n']:,}  {row['collection'][:12]}")
    elif action not in (Action.export, Action.backup):
        for key, value in result.items():
            if value is not None and key not in ("page", "document", "warning"):
                typer.echo(f"{key:<14}{_words(value)}")
    if "warning" in result:
        note(f"warning: {result['warning']}")
    if action is Action.delete:
        note("earlier backups and exports still contain this survey")
        note("devices that answered refuse the same collection; to ask again, make a collection with another title")


def _words(value: Any) -> str:
    """Return a value of a result as text."""
    match value:
        case bool():
            return "yes" if value else "no"
        case dict():
            return ", ".join(f"{key}: {_words(one)}" for key, one in value.items()) or "none"
        case list() | tuple():
            return ", ".join(map(_words, value)) or "none"
    return str(value)


def _named(action: Action, name: str | None) -> str:
    if action in (Action.list, Action.backup, Action.restore, Action.migrate):
        return ""
    return str(_required(name, "SLUG", "the survey's name"))


def _invited(
    action: Action,
    database: str,
    slug: str,
    output: Path | None,
    url: str | None,
    links: Path | None,
    count: int | None,
    rounds: int,
    tag: str,
    sheet: Path | None,
) -> dict[str, Any]:
    from deniable.cli import _invitations

    if action is Action.invite:
        target = Path(_required(output, "--output", "the file of links, which are written once"))
        address = str(
            _required(url or os.environ.get("DENIABLE_PUBLIC_URL"), "--url", "the public address that links begin with")
        )
        return _invitations.invite(
            database, slug, target, address, count=count, rounds=rounds, tag=tag, links=links, sheet_file=sheet
        )
    known = Path(_required(links, "--links", "the file that survey invite wrote"))
    if action is Action.revoke:
        return _invitations.revoke(database, slug, known)
    return _invitations.remind(database, slug, known, Path(_required(output, "--output", "the file of reminders")))


def _next(
    database: str,
    request: dict[str, Any],
    contributors: int | None,
    mechanism: str,
    settings: list[str] | None,
    output: Path | None,
) -> dict[str, Any]:
    from deniable.cli._mechanisms import parse_settings
    from deniable.service.control import ask

    target = Path(_required(output, "--output", "the file for the collection of the next round"))
    check_output(target, keep="the collection of a round is written only once")
    planned = _required(contributors, "--contributors", "how many people the next round plans for")
    learning = {"contributors": planned, "mechanism": mechanism, "settings": parse_settings(settings or [])}
    result = ask(database, request | learning)
    with writing(target):
        write_text(target, result["document"])
    note("nobody who took part in an earlier round may contribute: anyone who answers twice spends both epsilons")
    if not result["browsers"]:
        note("browsers cannot make its reports: contributors send them by deniable send")
    return result


def _confirm(database: str, slug: str, yes: bool) -> None:
    """Ask the user to type the name of what can be deleted, unless the user confirmed in advance."""
    from deniable.service.control import ask
    from deniable.service.surveys import DELETABLE, not_deletable

    if not yes:
        state = ask(database, {"command": "status", "slug": slug})["state"]
        if state not in DELETABLE:
            raise not_deletable(slug, state)
    said = slug if yes else typer.prompt(f"This deletes everything about {slug}. Type its name to continue", err=True)
    if said != slug:
        raise InvalidParameterError(
            f"the name {quoted(slug)} must be typed again to confirm the deletion; nothing was deleted"
        )


def _required(value: Any, what: str, why: str) -> Any:
    if value is None:
        raise InvalidParameterError(f"{what} must be given: {why}")
    return value


def _new(
    database: str,
    request: dict[str, Any],
    survey_file: Path | None,
    page_file: Path | None,
    contributors: int | None,
    languages: list[str] | None,
) -> dict[str, Any]:
    from deniable.service.control import ask
    from deniable.service.surveys import check_slug

    check_slug(request["slug"])
    path = Path(_required(survey_file, "SURVEY", "the collection, survey.json"))
    drafted = _page_beside(path, request["slug"])
    if page_file is None and drafted.exists():
        raise OutputError(f"{drafted} exists: give this file as PAGE, or rename the file to get a new draft")
    request |= {
        "document": read_document(path),
        "page": None if page_file is None else read_document(page_file),
        "folder": str(path.absolute().parent),
        "contributors": contributors,
        "languages": languages,
    }
    result = ask(database, request)
    if page_file is None:
        with writing(drafted):
            write_text(drafted, result["page"])
        note(f"write the texts of the page, then run: deniable survey new {request['slug']} {path} {drafted}")
    return result


def _page_beside(survey_file: Path, slug: str) -> Path:
    """Return the path for a drafted page: page.json, or SLUG.page.json if page.json is another survey's."""
    usual = survey_file.with_name("page.json")
    if not usual.exists():
        return usual
    try:
        collections = [json.loads(read_document(path)) for path in (survey_file, usual)]
        same = collections[0]["id"] == collections[1]["collection"]
    except (DeniableError, ValueError, KeyError, TypeError):
        return usual
    return usual if same else survey_file.with_name(f"{slug}.page.json")


def _written(
    database: str, request: dict[str, Any], output: Path, reports: bool, keep: int | None, force: bool
) -> dict[str, Any]:
    from deniable.service.control import ask

    if request["command"] == "backup" and keep is not None:
        from deniable.service.backups import rotate

        if force:
            raise InvalidParameterError(
                "--force must be left out with --keep, because --keep never overwrites a backup",
                parameters=("force", "keep"),
            )
        made = rotate(output, keep, lambda file: ask(database, request | {"output": str(file.absolute())}))
        note(f"backed up to {made}")
        return {"file": str(made)}
    if request["command"] == "backup":
        check_output(output, keep="it may be the only backup", force=force)
        with writing(output):
            return ask(database, request | {"output": str(output.absolute())})
    if not reports:
        check_output(output)
    files = ask(database, request | {"reports": reports})["files"]
    for name, content in files.items():
        target = output / name if name else output
        target.parent.mkdir(exist_ok=True)
        with writing(target), atomic_path(target) as temporary:
            temporary.write_bytes(base64.b64decode(content))
    return {"files": [str(output / name if name else output) for name in files]}


def _publish(database: str, request: dict[str, Any], output: Path | None) -> dict[str, Any]:
    from deniable.service.control import ask

    result = ask(database, request | {"online": output is None})
    pages = result.pop("pages")
    if output is None:
        return result
    output.mkdir(exist_ok=True)
    for name, page in pages.items():
        with writing(output / name):
            write_text(output / name, page)
    return result | {"results": str(output / next(iter(pages)))}


def _restore(database: str, source: Path) -> None:
    from deniable.service.stores import open_store, restore_store

    kept = restore_store(database, source)
    try:
        open_store(database).close()
    except StoreError as error:
        note(
            "warning: all sessions have ended, but the audit has no entry about the restore, because the database "
            f"cannot be opened: {error}"
        )
    if kept is not None:
        note(f"the earlier database is kept as {kept}")
    note("accounts, passwords and tokens are now those of the backup: see deniable analyst list")
    note(
        f"restored {source}: reports acknowledged since this backup are lost; do not merge exports made since then "
        "with new ones"
    )


def _migrate(database: str, output: Path | None, *, backup: bool) -> None:
    from deniable.service.stores import migrate_store

    if output is not None:
        check_output(output, keep="a backup does not replace another file")
    made = migrate_store(database, output, backup=backup)
    note("the database is up to date" + ("" if made is None else f"; the earlier database is kept as {made}"))
