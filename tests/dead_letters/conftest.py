"""The database, broker and Spark session of the live mapper's tests."""

from tests.live.conftest import place, session

__all__ = ["place", "session"]
