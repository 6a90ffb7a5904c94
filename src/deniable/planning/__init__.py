"""Planning: which mechanism, how many contributors, what error."""

from __future__ import annotations

from deniable.planning._plan import plan as plan
from deniable.planning._recommend import recommend as recommend
from deniable.planning.decision import Decision as Decision
from deniable.planning.decision import decide as decide
from deniable.planning.default import collection as collection
from deniable.planning.default import default_mechanism as default_mechanism
from deniable.planning.exploring import Exploration as Exploration
from deniable.planning.exploring import explore as explore
from deniable.planning.feasibility import cannot_work as cannot_work
from deniable.planning.guess import Guess as Guess
from deniable.planning.records import MechanismChoice as MechanismChoice
from deniable.planning.records import records_default as records_default
from deniable.planning.rehearsal import Difference as Difference
from deniable.planning.rehearsal import Rehearsal as Rehearsal
from deniable.planning.rehearsal import rehearse as rehearse
from deniable.planning.rows import Plan as Plan
from deniable.planning.rows import PlanRow as PlanRow
from deniable.planning.second_phase_loss import loss_text as loss_text
from deniable.planning.second_phase_loss import second_phase_loss as second_phase_loss
from deniable.planning.second_phase_loss import two_phases_text as two_phases_text
from deniable.planning.two_phase import CorrRRPlan as CorrRRPlan
from deniable.planning.two_phase import corr_rr_plan as corr_rr_plan
