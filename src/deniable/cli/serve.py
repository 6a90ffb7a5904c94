"""Command that runs a collector for contributors' own devices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deniable.cli._app import check_unused, check_used, command, note, progress

if TYPE_CHECKING:
    from deniable.service.ending import Ending


@command("serve", interrupted="what was acknowledged is stored")
def serve(
    context: typer.Context,
    configuration: Annotated[
        Path | None, typer.Argument(metavar="CONFIG", help="Settings file (TOML); options override it.")
    ] = None,
    database: Annotated[
        str | None, typer.Option("--database", help="Database: sqlite:PATH or postgresql://... .", metavar="URL")
    ] = None,
    public: Annotated[
        str | None, typer.Option("--public", metavar="HOST:PORT", help="Address for contributors' devices.")
    ] = None,
    admin: Annotated[
        str | None, typer.Option("--admin", metavar="HOST:PORT", help="Address for the dashboard; keep it private.")
    ] = None,
    no_rate_limits: Annotated[
        bool,
        typer.Option(
            "--no-rate-limits", help="Turn off rate limits: for tests, or behind a proxy that limits requests."
        ),
    ] = False,
    migrate: Annotated[
        bool,
        typer.Option("--migrate", help="Create the tables of a new database; back up and migrate an older SQLite one."),
    ] = False,
    page_origin: Annotated[
        list[str] | None,
        typer.Option("--page-origin", metavar="URL", help="Another origin that hosts survey pages; repeatable."),
    ] = None,
    trusted_proxies: Annotated[
        list[str] | None,
        typer.Option(
            "--trusted-proxies", metavar="CIDR", help="Proxies whose forwarded client addresses to trust; repeatable."
        ),
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Run a demonstration that leaves nothing behind.")] = False,
    rehearse: Annotated[
        int,
        typer.Option("--rehearse", metavar="N", help="With --demo: number of simulated contributors.", min=0),
    ] = 500,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print addresses and surveys as JSON once the server is running.")
    ] = False,
) -> None:
    """Run a collector that receives reports from devices.

    For collectors. The public port takes reports and shows the survey page. The admin port shows
    the dashboard. SIGTERM or Ctrl-C stops the server after everything it acknowledged is stored.

    Needs: pip install "deniable[service]". --demo also needs the extra "demo".
    """
    from deniable.service.ending import Ending

    if demo:
        check_used(context, "with --demo", {"demo", "rehearse", "public", "admin"})
    else:
        check_unused(context, "without --demo", {"rehearse"})
    # This block comes first, so that a signal also ends the command in order while the rest is loaded or the database
    # is opened.
    with Ending() as ending:
        if demo:
            _demonstrate(public, admin, rehearse, ending)
            return
        given = {
            "database": database,
            "public": public,
            "admin": admin,
            "no_rate_limits": no_rate_limits,
            "page_origin": page_origin,
            "trusted_proxies": trusted_proxies,
        }
        _serve(configuration, given, migrate, as_json, ending)


def _serve(configuration: Path | None, given: dict[str, Any], migrate: bool, as_json: bool, ending: Ending) -> None:
    from deniable.service.config import read_configuration
    from deniable.service.server import begin_log, keep_what_is_loaded, running

    settings = read_configuration(configuration, given)
    begin_log(settings.log)
    with running(settings, migrate=migrate) as here:
        from deniable.service.public import bundles

        shown: dict[str, Any] = {
            "public": here.public,
            "admin": here.admin,
            "bundles": [hashed for hashed, _, _ in bundles().values()],
            "surveys": [
                {
                    "slug": held.row.slug,
                    "state": held.row.state,
                    "link": f"{here.public}/s/{held.row.slug}#{held.survey.link_digits}",
                }
                for held in here.collector.all_held()
            ],
        }
        if as_json:
            typer.echo(json.dumps(shown))
        note(f"collecting at {here.public}, dashboard at {here.admin}")
        for hashed in shown["bundles"]:
            note(f"bundle {hashed}")
        for one in shown["surveys"]:
            note(f"survey {one['slug']}: {one['state']}, {one['link']}")
        keep_what_is_loaded()
        ending.wait()
        note("stopping: acknowledged reports are being stored")


def _demonstrate(public: str | None, admin: str | None, contributors: int, ending: Ending) -> None:
    from deniable.service.demo import demo_collection, demonstration, rehearse

    with demonstration(public or "127.0.0.1:0", admin or "127.0.0.1:0") as (here, link, login):
        typer.echo(f"survey     {link}")
        typer.echo(f"dashboard  {login}  (logs in once)")
        if contributors:
            with progress("answering") as report:
                counted = rehearse(here.public, demo_collection(), contributors, report)
            typer.echo(f"{counted:,} simulated contributors have answered; Ctrl-C ends the demonstration")
        ending.wait()
