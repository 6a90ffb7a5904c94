"""What people read: one `Page` per result, drawn as text, as self-contained HTML or as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable.report.answers import comparison_page as comparison_page
    from deniable.report.consent import consent_text as consent_text
    from deniable.report.crosstabs import crosstab_page as crosstab_page
    from deniable.report.decisions import decision_page as decision_page
    from deniable.report.estimates import estimate_page as estimate_page
    from deniable.report.explorer import render_explorer as render_explorer, save_explorer as save_explorer
    from deniable.report.html import (
        render_fragment as render_fragment,
        render_html as render_html,
        save_html as save_html,
        sheet as sheet,
    )
    from deniable.report.leakages import (
        audit_page as audit_page,
        budgets_page as budgets_page,
        leakage_page as leakage_page,
    )
    from deniable.report.page import Page as Page
    from deniable.report.plans import plan_page as plan_page
    from deniable.report.png import (
        draw as draw,
        draw_pages as draw_pages,
        picture_note as picture_note,
        save_png as save_png,
    )
    from deniable.report.rehearsals import rehearsal_page as rehearsal_page
    from deniable.report.text import print_page as print_page
else:
    from deniable.core.lazy import attach

    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "deniable.report.consent": "consent_text",
            "deniable.report.crosstabs": "crosstab_page",
            "deniable.report.answers": "comparison_page",
            "deniable.report.decisions": "decision_page",
            "deniable.report.estimates": "estimate_page",
            "deniable.report.explorer": "render_explorer save_explorer",
            "deniable.report.html": "render_fragment render_html save_html sheet",
            "deniable.report.leakages": "audit_page budgets_page leakage_page",
            "deniable.report.page": "Page",
            "deniable.report.plans": "plan_page",
            "deniable.report.png": "draw draw_pages picture_note save_png",
            "deniable.report.rehearsals": "rehearsal_page",
            "deniable.report.text": "print_page",
        },
    )
