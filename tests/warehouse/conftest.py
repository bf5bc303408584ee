"""The fixtures of tests/live, for the tests of backlogs and tables."""

from tests.live.running import marts, world  # noqa: F401
