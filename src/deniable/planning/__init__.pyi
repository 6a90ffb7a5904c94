from ._plan import plan as plan
from .coefficient_plan import (
    CoefficientPlan as CoefficientPlan,
    CoefficientRow as CoefficientRow,
    Design as Design,
    coefficient_error as coefficient_error,
    people_needed as people_needed,
    plan_coefficient as plan_coefficient,
    usual_design as usual_design,
)
from .default import collection as collection, default_mechanism as default_mechanism, recommend as recommend
from .exploring import Exploration as Exploration, explore as explore
from .feasibility import infeasibility as infeasibility
from .guess import Guess as Guess
from .panel import RotatingPanel as RotatingPanel, rotating_panel as rotating_panel
from .phase_loss import (
    loss_text as loss_text,
    second_phase_loss as second_phase_loss,
    two_phases_text as two_phases_text,
)
from .programme import (
    AttributeLeakage as AttributeLeakage,
    PlannedSurvey as PlannedSurvey,
    Programme as Programme,
    SurveyTotal as SurveyTotal,
    load_programme as load_programme,
    programme as programme,
)
from .records import MechanismChoice as MechanismChoice, records_default as records_default
from .rehearsal import Difference as Difference, Rehearsal as Rehearsal, rehearse as rehearse
from .repeated import WavesPlan as WavesPlan, WavesRow as WavesRow, plan_waves as plan_waves
from .rows import Plan as Plan, PlanRow as PlanRow
from .survey_plan import SurveyPlan as SurveyPlan, plan_survey as plan_survey
from .two_phase import CorrRRPlan as CorrRRPlan, corr_rr_plan as corr_rr_plan
