"""The command line in a folder of its own, as for the tests of all commands."""

from tests.cli.conftest import folder as folder, run as run
