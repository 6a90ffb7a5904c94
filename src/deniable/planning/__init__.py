"""Planning: which mechanism, how many contributors, what error."""

from __future__ import annotations

from deniable.planning._plan import plan as plan
from deniable.planning._recommend import recommend as recommend
from deniable.planning.rows import Plan as Plan
from deniable.planning.rows import PlanRow as PlanRow
