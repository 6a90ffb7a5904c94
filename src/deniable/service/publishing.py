"""Published results: a static page in each of the survey's languages, and the act of publishing them.

A page is one file without a script, to be read from a disk, a web server or this collector's public port. Its findings
and charts are those of the dashboard.
"""

from __future__ import annotations

import importlib.metadata
import math
from typing import Any

from deniable.core.privacy import bound_text, odds_text
from deniable.errors import InvalidParameterError, quoted
from deniable.report import sheet
from deniable.service.collector import SurveySnapshot
from deniable.service.findings import axis_ticks, axis_top, drawn, interval_text
from deniable.service.phrases import RIGHT_TO_LEFT, phrases
from deniable.service.rendering import TEMPLATES, render_template
from deniable.service.results import found, results
from deniable.service.stores.published import REPORTS
from deniable.service.stores.store import Store
from deniable.service.survey_page import LANGUAGE_NAMES
from deniable.service.surveys import Clock, Surveys

INDEX = "index.html"
"""Name of the page in the survey's first language. Pages in other languages have names such as "de.html"."""


def results_pages(held: SurveySnapshot, store: Store, clock: Clock) -> dict[str, str]:
    """Return the results of a closed survey as pages, by the names of their files, the first language's page first.

    Raises
    ------
    InvalidParameterError
        If the survey is not closed, has no report, or keeps no sum.
    """
    slug, state = held.row.slug, held.state(clock)
    if state != "closed":
        raise InvalidParameterError(
            f"the survey {quoted(slug)} must be closed before its results are published, but it is {state}; close the "
            "survey first"
        )
    seen = results(held, store, clock)
    if seen.summary is None:
        raise InvalidParameterError(
            f"the survey {quoted(slug)} has no sum of reports to publish; export its reports instead"
        )
    days = seen.data["days"]
    guarantee, schema = held.survey.collection.privacy(), held.survey.collection.schema
    shared = {
        "n": seen.summary.n,
        "first": days[0]["day"],
        "last": days[-1]["day"],
        "epsilon": bound_text(guarantee.epsilon),
        "factor": odds_text(guarantee.epsilon) if math.isfinite(guarantee.epsilon) else "",
        "mechanism": held.survey.collection.mechanism.name,
        "guarantee": guarantee.lines(schema.names, schema.several),
        "sheet": sheet()
        + "".join((TEMPLATES / name).read_text(encoding="utf-8") for name in ("dashboard.css", "results.css")),
        "day": clock().date().isoformat(),
        "version": importlib.metadata.version("deniable"),
    }
    names = {tag: f"{tag}.html" if i else INDEX for i, tag in enumerate(held.survey.page.languages)}
    pages = {}
    for tag, name in names.items():
        said, words = phrases(tag), held.survey.page.languages[tag]
        findings = found(held, store, seen, tag)
        top = axis_top(findings)
        target = said(seen.summary.target)
        level = said.percent(seen.summary.level_text.removesuffix("%"))
        about: dict[str, Any] = {
            "tag": tag,
            "said": said,
            "direction": "rtl" if tag.partition("-")[0].lower() in RIGHT_TO_LEFT else "ltr",
            "title": words.title,
            "intro": words.intro,
            "contact": held.survey.page.contact,
            "others": [(one, names[one], _called(one)) for one in names if one != tag],
            "findings": findings,
            "top": top,
            "ticks": axis_ticks(top, said),
            "drawn": drawn,
            "interval": interval_text(seen.summary, said),
            "report": said(
                "report_text",
                title=words.title,
                mechanism=shared["mechanism"],
                epsilon=said.figure(str(shared["epsilon"])),
                n=said.figure(f"{shared['n']:,}"),
                first=said.apart(shared["first"]),
                last=said.apart(shared["last"]),
                level=level,
                target=target,
                collection=held.row.id[:12],
                version=shared["version"],
            ),
        }
        pages[name] = render_template("results.html", **shared, **about)
    return pages


def _called(tag: str) -> str:
    return LANGUAGE_NAMES.get(tag.partition("-")[0].lower(), tag)


def publish(surveys: Surveys, slug: str, *, online: bool = True, reports: bool = False) -> dict[str, Any]:
    """Make the pages of a survey, and put them on the public port unless `online` is False.

    Parameters
    ----------
    surveys : Surveys
        Surveys of the collector.
    slug : str
        Name of the survey.
    online : bool
        True if the public port shows the pages, and the file of the aggregate.
    reports : bool
        True if the public port also shows every batch of reports, so that anyone can add them up.

    Raises
    ------
    InvalidParameterError
        If the survey is not closed or keeps no sum, or if `reports` is asked for and it keeps no reports.
    """
    row = surveys.row(slug)
    if reports and surveys.load(row.id).page.retention != "reports":
        raise InvalidParameterError(
            f"reports must be left out for {quoted(slug)}, because this survey keeps no reports (its retention is "
            "“aggregate”)"
        )
    if reports and not online:
        raise InvalidParameterError(
            "reports must be left out when pages are written to a folder; write reports with `survey export --reports`"
        )
    pages = results_pages(SurveySnapshot(row, surveys.load(row.id)), surveys.store, surveys.clock)
    if online:
        surveys.store.publish(row.id, pages | ({REPORTS: ""} if reports else {}))
    return {"slug": slug, "state": row.state, "results": public_path(slug) if online else None, "pages": pages}


def public_path(slug: str) -> str:
    """Return the path under which the public port shows results.

    Examples
    --------
    >>> public_path("smoking")
    '/r/smoking/'
    """
    return f"/r/{slug}/"
