"""What people read: tables for a terminal, pictures, and a self-contained HTML page, all from one `Summary`."""

from __future__ import annotations

from deniable.report.from_estimates import summarize as summarize
from deniable.report.from_phases import summarize_phases as summarize_phases
from deniable.report.html import render_html as render_html
from deniable.report.html import save_html as save_html
from deniable.report.plot import draw as draw
from deniable.report.plot import save_png as save_png
from deniable.report.summary import AttributeSummary as AttributeSummary
from deniable.report.summary import Summary as Summary
from deniable.report.tables import print_summary as print_summary
