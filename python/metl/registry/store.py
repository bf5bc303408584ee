"""The state of a sync in PostgreSQL: versions seen in a registry, tasks, watermarks and locks."""

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

RECORDED = """
select
    entry, registry_group, artifact, registry_version, artifact_type, global_id, content_id, confluent_id,
    registry_state, created_on, modified_on, outcome in ('registered', 'waiting') as is_effective
from metl.registry_versions
where registry = %(registry)s and gone_at is null
"""
IN_GROUP = " and registry_group = %(group)s"
BY_NAME = """
 and (registry_group, artifact, registry_version) in (
    select * from unnest(%(groups)s::text[], %(artifacts)s::text[], %(versions)s::text[])
)
"""
TASKS = """
select
    task, entry, registry_group, artifact, registry_version, artifact_type, position, global_id, content_id,
    confluent_id, schema, problem is not null as failed_before
from metl.registry_work
where registry = %(registry)s and (%(groups)s::text[] is null or registry_group = any(%(groups)s))
order by task desc, position, entry
"""
WAITING = """
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
LOCK_HOLDER = """
select session.application_name, held.pid
from pg_catalog.pg_locks as held left join pg_catalog.pg_stat_activity as session on held.pid = session.pid
where
    held.locktype = 'advisory' and held.objsubid = 1 and held.granted
    and held.database = (select oid from pg_catalog.pg_database where datname = current_database())
    and (held.classid::bigint << 32) | held.objid::bigint = hashtextextended(%s, 0)
"""


@dataclass(frozen=True)
class RecordedVersion:
    entry: int
    version: Version
    #: Whether it is in the matrix or in a plan.
    is_effective: bool


@dataclass(frozen=True)
class Task:
    kind: str  # take or end
    entry: int
    schema: str
    version: Version
    failed_before: bool


Event = dict[str, Any]


class RegistryStore:
    def __init__(self, connection: psycopg.Connection, registry: str) -> None:
        self._connection = connection
        self.registry = registry
        connection.execute(
            "select set_config('application_name', %s, false)",
            [f"metl sync, process {os.getpid()} on {socket.gethostname()}"],
        )

    def require_steward(self) -> None:
        """Fails before the registry is asked for anything."""
        [(may,)] = self._connection.execute(
            "select has_function_privilege('metl.end_registry_version(bigint)', 'execute')"
        ).fetchall()
        if not may:
            raise errors.InsufficientPrivilege

    def try_lock(self, what: str) -> bool:
        """Held until `unlock` or the end of the session."""
        [(taken,)] = self._connection.execute(
            "select pg_try_advisory_lock(hashtextextended(%s, 0))", [self._lock(what)]
        ).fetchall()
        return bool(taken)

    def unlock(self, what: str) -> None:
        self._connection.execute("select pg_advisory_unlock(hashtextextended(%s, 0))", [self._lock(what)])

    def lock_holder(self, what: str) -> str:
        found = self._connection.execute(LOCK_HOLDER, [self._lock(what)]).fetchone()
        return f"{found[0] or 'another program'} (session {found[1]})" if found else "another program"

    def watermark(self, group: str | None) -> tuple[datetime, timedelta] | None:
        """Up to when everything is recorded, by the clock of the registry, and the age of that record."""
        found = self._connection.execute(
            """
            select read_until, greatest(clock_timestamp() - read_at, '0') from metl.registry_readings
            where registry = %s and registry_group is not distinct from %s
            """,
            [self.registry, group],
        ).fetchone()
        return found and (found[0], found[1])

    def count(self, group: str | None) -> int:
        query = f"select count(*) from ({RECORDED}{IN_GROUP if group else ''}) as recorded"  # noqa: S608
        [(count,)] = self._connection.execute(query.encode(), {"registry": self.registry, "group": group}).fetchall()
        return int(count)

    def recorded(self, group: str | None) -> dict[Key, RecordedVersion]:
        """All versions of a group, or of all groups."""
        return self._fetch(RECORDED + (IN_GROUP if group else ""), group=group)

    def find(self, versions: Sequence[Version]) -> dict[Key, RecordedVersion]:
        """The recorded versions of the same names."""
        return self._fetch(
            RECORDED + BY_NAME,
            groups=[each.group for each in versions],
            artifacts=[each.artifact for each in versions],
            versions=[each.version for each in versions],
        )

    def record(
        self, group: str | None, versions: Iterable[Version], watermark: datetime | None, deleted: Sequence[int] = ()
    ) -> list[Event]:
        listing = json.dumps([each.as_json() for each in versions])
        return self._events(
            "select * from metl.note_registry_versions(%s, %s, %s, %s, %s::bigint[])",
            [self.registry, group, listing, watermark, list(deleted)],
        )

    def tasks(self, groups: Sequence[str]) -> list[Task]:
        cursor = self._connection.cursor(row_factory=dict_row)
        rows = cursor.execute(TASKS, {"registry": self.registry, "groups": list(groups) or None}).fetchall()
        return [Task(row["task"], row["entry"], row["schema"], _version(row), row["failed_before"]) for row in rows]

    def waiting(self, groups: Sequence[str], reported: Mapping[str, Iterable[int]]) -> list[Event]:
        """Versions that wait behind a plan, or were rejected though messages need them, except reported ones."""
        cursor = self._connection.cursor(row_factory=dict_row)
        chosen = {"registry": self.registry, "groups": list(groups) or None}
        entries = {event: list(reported.get(event, ())) for event in ("queued", "rejected")}
        return cursor.execute(WAITING, chosen | entries).fetchall()

    def transaction(self) -> AbstractContextManager[object]:
        return self._connection.transaction()

    def take(self, task: Task, attributes: list[dict[str, Any]], refs: dict[str, Any]) -> list[Event]:
        return self._events(
            "select * from metl.take_registry_version(%s, %s, %s)",
            [task.entry, json.dumps(attributes), json.dumps(refs)],
        )

    def fail(self, task: Task, problem: str, is_permanent: bool) -> list[Event]:
        return self._events(
            "select * from metl.take_registry_version(%s, null, null, %s, %s)", [task.entry, problem, is_permanent]
        )

    def end(self, task: Task) -> list[Event]:
        return self._events("select * from metl.end_registry_version(%s)", [task.entry])

    def retry(self, schema: str) -> int:
        [(retried,)] = self._connection.execute("select metl.retry_registry_versions(%s)", [schema]).fetchall()
        return int(retried)

    def schemas(self) -> list[str]:
        query = "select distinct schema from metl.registry_versions where registry = %s and gone_at is null"
        return [row[0] for row in self._connection.execute(query, [self.registry])]

    def _fetch(self, query: str, **parameters: object) -> dict[Key, RecordedVersion]:
        cursor = self._connection.cursor(row_factory=dict_row)
        rows = cursor.execute(query.encode(), {"registry": self.registry, **parameters}).fetchall()
        found = [RecordedVersion(row["entry"], _version({"position": 0, **row}), row["is_effective"]) for row in rows]
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
