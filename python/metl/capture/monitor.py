"""Checks the health of all connectors, once or periodically, and records it in metl.connectors."""

import contextlib
import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from metl.capture import health
from metl.capture.health import Health
from metl.capture.names import topic_name
from metl.db.connection import rows, snapshot, transaction
from metl.errors import MetlError, PartFailed
from metl.streams import broker

INTERVAL = 3.0
LAST_REPORTS = "select connector, prefix, tables, slot, last_event_at from metl.connectors where connect_url = %s"


def observe(connect: str, dsn: str | None, client: dict[str, Any] | None = None) -> list[Health]:
    """The health of all connectors; incomplete while the database or Kafka is down."""
    try:
        connectors = health.check_connectors(connect)
    except PartFailed:
        connectors = health.unreachable(_last_reports(connect, dsn))
    else:
        with contextlib.suppress(MetlError):
            _set_last_events(connectors, client or broker.settings())
    if dsn is not None:
        with contextlib.suppress(MetlError), transaction(dsn) as connection:
            report = json.dumps([each.as_dict() for each in connectors])
            connection.execute("select metl.report_connectors(%s, %s)", (connect, report))
    return connectors


def _last_reports(connect: str, dsn: str | None) -> list[dict[str, Any]]:
    reports: list[dict[str, Any]] = []
    if dsn is not None:
        with contextlib.suppress(MetlError), snapshot(dsn) as connection:
            reports = rows(connection, LAST_REPORTS, [connect])
    return reports


def _set_last_events(connectors: list[Health], client: dict[str, Any]) -> None:
    by_topic = {topic_name(each.prefix, table): each for each in connectors if each.prefix for table in each.tables}
    for topic, milliseconds in broker.newest_timestamps(client, by_topic).items():
        newest = datetime.fromtimestamp(milliseconds / 1000, UTC)
        connector = by_topic[topic]
        connector.last_event_at = max(newest, connector.last_event_at or newest)


class Monitor:
    """Reports once when a connector fails and once when it has recovered. A problem that only one check finds, as while
    a connector restarts, is not reported."""

    def __init__(self, connect: str, dsn: str, report: Callable[[str], None]) -> None:
        self._connect, self._dsn, self._report = connect, dsn, report
        #: By connector: the problem at the last check, and the one that was reported.
        self._last: dict[str, str | None] = {}
        self._reported: dict[str, str] = {}

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            # A monitor outlives failures: the next check may succeed.
            with contextlib.suppress(MetlError):
                self._report_changes(observe(self._connect, self._dsn))
            stop.wait(INTERVAL)

    def _report_changes(self, connectors: list[Health]) -> None:
        for each in connectors:
            is_lasting = each.problem == self._last.get(each.connector)
            self._last[each.connector] = each.problem
            if each.problem is None:
                if self._reported.pop(each.connector, None) is not None:
                    self._report(f"Connector {each.connector} is well again.")
            elif is_lasting and each.problem != self._reported.get(each.connector):
                self._report(f"Connector {each.connector}: {each.problem} Way out: {each.way_out}")
                self._reported[each.connector] = each.problem
