"""The laws that every mechanism keeps, for authors of mechanisms: `check_mechanism` holds one to all of them.

Laws are exact where a channel can be enumerated; tests by sampling have fixed seeds and bounds from theory, so that a
correct mechanism fails one with probability 10^-6, and what fails once fails always. Nothing here needs a test runner.
"""

from deniable.testing.checking import Checked as Checked
from deniable.testing.checking import Skipped as Skipped
from deniable.testing.checking import check_mechanism as check_mechanism
