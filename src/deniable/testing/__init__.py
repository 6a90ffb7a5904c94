"""The laws that every mechanism keeps, for authors of mechanisms: `check_mechanism` holds one to all of them.

Laws are exact where a channel can be enumerated; tests by sampling have fixed seeds and bounds from theory, so that a
correct mechanism fails one with probability 10^-6, and what fails once fails always. Nothing here needs a test runner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable.testing.checking import Checked as Checked, Skipped as Skipped, check_mechanism as check_mechanism
else:
    from deniable.core.lazy import attach

    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "deniable.testing.checking": "Checked Skipped check_mechanism",
        },
    )
