"""The fixtures of tests/live, for the tests of backlogs and tables."""

from tests.live.running import world  # noqa: F401
