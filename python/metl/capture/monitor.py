"""Looks at all connectors, now or every few seconds, and puts what it saw into metl.connectors."""

import contextlib
import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from metl.capture import health
from metl.capture.health import Health
from metl.capture.names import topic
from metl.db.connection import rows, snapshot, transaction
from metl.errors import MetlError, PartFailed
from metl.streams import broker

INTERVAL = 3.0
KNOWN = "select connector, prefix, tables, slot, last_event_at from metl.connectors where connect_url = %s"


def observe(connect: str, dsn: str | None, client: dict[str, Any] | None = None) -> list[Health]:
    """What there is to see; a database or a Kafka that is away leaves it incomplete."""
    try:
        found = health.look(connect)
    except PartFailed:
        found = health.unreachable(_known(connect, dsn))
    else:
        with contextlib.suppress(MetlError):
            _set_last_events(found, client or broker.settings())
    if dsn is not None:
        with contextlib.suppress(MetlError), transaction(dsn) as connection:
            report = json.dumps([each.plain() for each in found])
            connection.execute("select metl.report_connectors(%s, %s)", (connect, report))
    return found


def _known(connect: str, dsn: str | None) -> list[dict[str, Any]]:
    known: list[dict[str, Any]] = []
    if dsn is not None:
        with contextlib.suppress(MetlError), snapshot(dsn) as connection:
            known = rows(connection, KNOWN, [connect])
    return known


def _set_last_events(found: list[Health], client: dict[str, Any]) -> None:
    topics = {topic(each.prefix, table): each for each in found if each.prefix for table in each.tables}
    for name, time in broker.newest(client, topics).items():
        when = datetime.fromtimestamp(time / 1000, UTC)
        each = topics[name]
        each.last_event_at = max(when, each.last_event_at or when)


class Monitor:
    """Says once when a connector dies, and once when it is well again. What is gone at the next look, as while a
    connector starts again, is not told."""

    def __init__(self, connect: str, dsn: str, say: Callable[[str], None]) -> None:
        self._connect, self._dsn, self._say = connect, dsn, say
        self._seen: dict[str, str | None] = {}
        self._told: dict[str, str] = {}

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            # Whatever it is, it is said by who needs it; connectors are looked at again.
            with contextlib.suppress(MetlError):
                self.compare(observe(self._connect, self._dsn))
            stop.wait(INTERVAL)

    def compare(self, found: list[Health]) -> None:
        for each in found:
            before = self._seen.get(each.connector)
            self._seen[each.connector] = each.problem
            if each.problem is not None and each.problem == before and each.problem != self._told.get(each.connector):
                self._say(f"Connector {each.connector}: {each.problem} Way out: {each.way_out}")
                self._told[each.connector] = each.problem
            elif each.problem is None and self._told.pop(each.connector, None) is not None:
                self._say(f"Connector {each.connector} is well again.")
