"""Planning: which mechanism, how many contributors, what error."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable.planning._plan import plan as plan
    from deniable.planning._recommend import recommend as recommend
    from deniable.planning.decision import Decision as Decision, decide as decide
    from deniable.planning.default import collection as collection, default_mechanism as default_mechanism
    from deniable.planning.exploring import Exploration as Exploration, explore as explore
    from deniable.planning.feasibility import cannot_work as cannot_work
    from deniable.planning.guess import Guess as Guess
    from deniable.planning.phase_loss import (
        loss_text as loss_text,
        second_phase_loss as second_phase_loss,
        two_phases_text as two_phases_text,
    )
    from deniable.planning.records import MechanismChoice as MechanismChoice, records_default as records_default
    from deniable.planning.rehearsal import Difference as Difference, Rehearsal as Rehearsal, rehearse as rehearse
    from deniable.planning.rows import Plan as Plan, PlanRow as PlanRow
    from deniable.planning.two_phase import CorrRRPlan as CorrRRPlan, corr_rr_plan as corr_rr_plan
else:
    from deniable.core.lazy import attach

    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "deniable.planning._plan": "plan",
            "deniable.planning._recommend": "recommend",
            "deniable.planning.decision": "Decision decide",
            "deniable.planning.default": "collection default_mechanism",
            "deniable.planning.exploring": "Exploration explore",
            "deniable.planning.feasibility": "cannot_work",
            "deniable.planning.guess": "Guess",
            "deniable.planning.records": "MechanismChoice records_default",
            "deniable.planning.rehearsal": "Difference Rehearsal rehearse",
            "deniable.planning.rows": "Plan PlanRow",
            "deniable.planning.phase_loss": "loss_text second_phase_loss two_phases_text",
            "deniable.planning.two_phase": "CorrRRPlan corr_rr_plan",
        },
    )
