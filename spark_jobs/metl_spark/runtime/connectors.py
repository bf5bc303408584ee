"""Warns when a connector fails whose topics a job reads: nothing arrives, and the job itself is healthy."""

import re
import time
from collections.abc import Callable

from metl_spark.runtime.control import Control
from metl_spark.runtime.settings import JobSettings

CHECK_INTERVAL = 5.0


class Connectors:
    def __init__(self, control: Control, settings: JobSettings, say: Callable[[str], None]) -> None:
        self._control, self._say = control, say
        self._topics = re.compile(settings.topics) if settings.reads_captured_topics else None
        self._job = settings.job
        self._next_check = time.monotonic()
        self._problems: dict[str, str | None] = {}
        self._reported: dict[str, str] = {}

    def check(self) -> None:
        """Reports a problem once, when two checks in a row find it, and once that it is over. A connector that gets
        another table restarts and is down for a moment."""
        if self._topics is None or time.monotonic() < self._next_check:
            return
        self._next_check = time.monotonic() + CHECK_INTERVAL
        for connector, topics, problem, way_out in self._control.connectors():
            is_read = any(self._topics.fullmatch(topic) for topic in topics)
            before, self._problems[connector] = self._problems.get(connector), problem
            if problem is None:
                if self._reported.pop(connector, None) is not None:
                    self._say(f"Connector {connector} is well again.")
            elif is_read and problem == before and problem != self._reported.get(connector):
                self._reported[connector] = problem
                self._say(f"Job {self._job} waits for connector {connector}: {problem} Way out: {way_out}")
