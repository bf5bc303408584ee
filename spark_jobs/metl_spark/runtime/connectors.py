"""Notices that a connector is dead whose topics a job reads: nothing comes, and the job itself is well."""

import re
import time
from collections.abc import Callable

from metl_spark.runtime.control import Control
from metl_spark.runtime.settings import Settings

LOOK_EVERY = 5.0


class Connectors:
    def __init__(self, control: Control, settings: Settings, say: Callable[[str], None]) -> None:
        self._control, self._say = control, say
        # Entities come from mappers, not from connectors.
        self._topics = None if settings.reads_entities else re.compile(settings.topics)
        self._job = settings.job
        self._next = time.monotonic()
        self._seen: dict[str, str | None] = {}
        self._told: dict[str, str] = {}

    def look(self) -> None:
        """Says once what is wrong, if it still is at the next look, and once that it is well again. A connector that
        gets another table starts again, and is away for a moment."""
        if self._topics is None or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + LOOK_EVERY
        for connector, topics, problem, way_out in self._control.connectors():
            is_read = any(self._topics.fullmatch(topic) for topic in topics)
            before, self._seen[connector] = self._seen.get(connector), problem
            if problem is None:
                if self._told.pop(connector, None) is not None:
                    self._say(f"Connector {connector} is well again.")
            elif is_read and problem == before and problem != self._told.get(connector):
                self._told[connector] = problem
                self._say(f"Job {self._job} waits for connector {connector}: {problem} Way out: {way_out}")
