"""A database, a broker and the Spark of the tests, as for the live mapper."""

from tests.live.conftest import place, session

__all__ = ["place", "session"]
