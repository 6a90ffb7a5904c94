"""What analysts ask of an estimate, as data: intervals, selections that they allow for, the truth beside."""

from deniable.answers.summary import AttributeSummary as AttributeSummary
from deniable.answers.summary import Summary as Summary
from deniable.answers.summary import summarize as summarize
from deniable.answers.summary import summarize_phases as summarize_phases
