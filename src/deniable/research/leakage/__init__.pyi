from .selection import Selection as Selection, select_attributes as select_attributes
from .wrong_prior import cpl_within as cpl_within, totals_within as totals_within
