"""What METL has on record about a registry, in PostgreSQL."""

import json
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import psycopg
from psycopg import errors
from psycopg.rows import dict_row

from metl.registry.listing import Key, Version

KNOWN = """
select
    entry, registry_group, artifact, registry_version, artifact_type, global_id, content_id, confluent_id,
    registry_state, created_on, modified_on, outcome in ('registered', 'waiting') as counts
from metl.registry_versions
where registry = %(registry)s and gone_at is null
"""
OF_GROUP = " and registry_group = %(group)s"
THESE = """
 and (registry_group, artifact, registry_version) in (
    select * from unnest(%(groups)s::text[], %(artifacts)s::text[], %(versions)s::text[])
)
"""
WORK = """
select
    task, entry, registry_group, artifact, registry_version, artifact_type, position, global_id, content_id,
    confluent_id, schema, problem is not null as failed_before
from metl.registry_work
where registry = %(registry)s and (%(groups)s::text[] is null or registry_group = any(%(groups)s))
order by task desc, position, entry
"""
LEFT = """
select
    case when is_rejected then 'rejected' else 'queued' end as event, schema, version, registry_group, artifact,
    registry_version, plan_id, letters, entry,
    null::int as lost
from metl.waiting_versions
where
    (is_behind or is_rejected and letters > 0)
    and registry = %(registry)s
    and (%(groups)s::text[] is null or registry_group = any(%(groups)s))
    and entry <> all(case when is_rejected then %(rejected)s else %(queued)s end::bigint[])
order by entry
"""
HOLDER = """
select session.application_name, held.pid
from pg_catalog.pg_locks as held left join pg_catalog.pg_stat_activity as session on held.pid = session.pid
where
    held.locktype = 'advisory' and held.objsubid = 1 and held.granted
    and held.database = (select oid from pg_catalog.pg_database where datname = current_database())
    and (held.classid::bigint << 32) | held.objid::bigint = hashtextextended(%s, 0)
"""


@dataclass(frozen=True)
class Known:
    entry: int
    version: Version
    #: Whether something in the matrix, or a plan, came of it.
    counts: bool


@dataclass(frozen=True)
class Task:
    kind: str  # take or end
    entry: int
    schema: str
    version: Version
    failed_before: bool


Event = dict[str, Any]


class Books:
    def __init__(self, connection: psycopg.Connection, registry: str) -> None:
        self._connection = connection
        self.registry = registry
        connection.execute(
            "select set_config('application_name', %s, false)",
            [f"metl sync, process {os.getpid()} on {socket.gethostname()}"],
        )

    def require_steward(self) -> None:
        """Before anything is asked of a registry."""
        [(may,)] = self._connection.execute(
            "select has_function_privilege('metl.end_registry_version(bigint)', 'execute')"
        ).fetchall()
        if not may:
            raise errors.InsufficientPrivilege

    def try_lock(self, what: str) -> bool:
        """For as long as the session lasts, or until it is given back."""
        [(taken,)] = self._connection.execute(
            "select pg_try_advisory_lock(hashtextextended(%s, 0))", [self._lock(what)]
        ).fetchall()
        return bool(taken)

    def unlock(self, what: str) -> None:
        self._connection.execute("select pg_advisory_unlock(hashtextextended(%s, 0))", [self._lock(what)])

    def holder(self, what: str) -> str:
        found = self._connection.execute(HOLDER, [self._lock(what)]).fetchone()
        return f"{found[0] or 'another program'} (session {found[1]})" if found else "another program"

    def read_until(self, group: str | None) -> tuple[datetime, timedelta] | None:
        """The moment by the clock of the registry, and for how long it has been known."""
        found = self._connection.execute(
            """
            select read_until, greatest(clock_timestamp() - read_at, '0') from metl.registry_readings
            where registry = %s and registry_group is not distinct from %s
            """,
            [self.registry, group],
        ).fetchone()
        return found and (found[0], found[1])

    def count(self, group: str | None) -> int:
        query = f"select count(*) from ({KNOWN}{OF_GROUP if group else ''}) as known"  # noqa: S608
        [(count,)] = self._connection.execute(query.encode(), {"registry": self.registry, "group": group}).fetchall()
        return int(count)

    def known(self, group: str | None) -> dict[Key, Known]:
        """Everything of a group, or of all."""
        return self._known(KNOWN + (OF_GROUP if group else ""), group=group)

    def known_of(self, versions: Sequence[Version]) -> dict[Key, Known]:
        """Those under the names of these versions."""
        return self._known(
            KNOWN + THESE,
            groups=[each.group for each in versions],
            artifacts=[each.artifact for each in versions],
            versions=[each.version for each in versions],
        )

    def note(
        self, group: str | None, versions: Iterable[Version], until: datetime | None, gone: Sequence[int] = ()
    ) -> list[Event]:
        listing = json.dumps([each.as_json() for each in versions])
        return self._events(
            "select * from metl.note_registry_versions(%s, %s, %s, %s, %s::bigint[])",
            [self.registry, group, listing, until, list(gone)],
        )

    def work(self, groups: Sequence[str]) -> list[Task]:
        cursor = self._connection.cursor(row_factory=dict_row)
        rows = cursor.execute(WORK, {"registry": self.registry, "groups": list(groups) or None}).fetchall()
        return [Task(row["task"], row["entry"], row["schema"], _version(row), row["failed_before"]) for row in rows]

    def left(self, groups: Sequence[str], told: Mapping[str, Iterable[int]]) -> list[Event]:
        """Versions that wait behind a plan, or were rejected though messages need them; not those told already."""
        cursor = self._connection.cursor(row_factory=dict_row)
        chosen = {"registry": self.registry, "groups": list(groups) or None}
        entries = {event: list(told.get(event, ())) for event in ("queued", "rejected")}
        return cursor.execute(LEFT, chosen | entries).fetchall()

    def together(self) -> AbstractContextManager[object]:
        """All or nothing."""
        return self._connection.transaction()

    def take(self, task: Task, attributes: list[dict[str, Any]], refs: dict[str, Any]) -> list[Event]:
        return self._events(
            "select * from metl.take_registry_version(%s, %s, %s)",
            [task.entry, json.dumps(attributes), json.dumps(refs)],
        )

    def give_up(self, task: Task, problem: str, for_good: bool) -> list[Event]:
        return self._events(
            "select * from metl.take_registry_version(%s, null, null, %s, %s)", [task.entry, problem, for_good]
        )

    def end(self, task: Task) -> list[Event]:
        return self._events("select * from metl.end_registry_version(%s)", [task.entry])

    def retry(self, schema: str) -> int:
        [(retried,)] = self._connection.execute("select metl.retry_registry_versions(%s)", [schema]).fetchall()
        return int(retried)

    def schemas(self) -> list[str]:
        query = "select distinct schema from metl.registry_versions where registry = %s and gone_at is null"
        return [row[0] for row in self._connection.execute(query, [self.registry])]

    def _known(self, query: str, **parameters: object) -> dict[Key, Known]:
        cursor = self._connection.cursor(row_factory=dict_row)
        rows = cursor.execute(query.encode(), {"registry": self.registry, **parameters}).fetchall()
        found = [Known(row["entry"], _version({"position": 0, **row}), row["counts"]) for row in rows]
        return {each.version.key: each for each in found}

    def _events(self, query: str, parameters: list[object]) -> list[Event]:
        return self._connection.cursor(row_factory=dict_row).execute(query.encode(), parameters).fetchall()

    def _lock(self, what: str) -> str:
        return f"metl sync {what} {self.registry}"


def _version(row: dict[str, Any]) -> Version:
    return Version(
        group=row["registry_group"],
        artifact=row["artifact"],
        version=row["registry_version"],
        type=row["artifact_type"],
        position=row["position"],
        global_id=row["global_id"],
        content_id=row["content_id"],
        confluent_id=row["confluent_id"],
        state=row.get("registry_state"),
        created_on=row.get("created_on"),
        modified_on=row.get("modified_on"),
    )
