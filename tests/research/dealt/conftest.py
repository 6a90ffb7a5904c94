"""The command line's fixtures, for the dealer's commands."""

from tests.cli.conftest import (
    collected as collected,
    folder as folder,
    made_once as made_once,
    run as run,
    survey as survey,
)
