from .answers import comparison_page as comparison_page
from .consent import consent_text as consent_text
from .crosstabs import crosstab_page as crosstab_page
from .designs import (
    anchor_page as anchor_page,
    design_page as design_page,
    instrument_page as instrument_page,
    sample_page as sample_page,
)
from .estimates import estimate_page as estimate_page
from .explorer import render_explorer as render_explorer, save_explorer as save_explorer
from .fits import fit_page as fit_page
from .html import render_fragment as render_fragment, render_html as render_html, save_html as save_html, sheet as sheet
from .leakages import audit_page as audit_page, leakage_page as leakage_page
from .page import Page as Page
from .plans import coefficient_page as coefficient_page, plan_page as plan_page, waves_page as waves_page
from .png import draw as draw, draw_pages as draw_pages, picture_note as picture_note, save_png as save_png
from .programmes import programme_page as programme_page
from .rehearsals import rehearsal_page as rehearsal_page
from .survey_plans import survey_plan_page as survey_plan_page
from .text import print_page as print_page
