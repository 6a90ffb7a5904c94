"""The command line in its own folder, as in the tests of all commands."""

from tests.cli.conftest import folder as folder, run as run
