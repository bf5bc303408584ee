"""Checks before a table is captured: nothing is changed if one of them refuses it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from metl.capture import types
from metl.capture.lifecycle import publication_of, slot_of
from metl.capture.names import entries, listed_tables, table_of, topic_name
from metl.capture.paging import blocking_refusal, can_page, misaligned_tables, unpageable_columns
from metl.capture.settings import EXACT
from metl.capture.tables import Table, capturable_tables, find_table, identifier
from metl.util.nearest import nearest

FINE, NOTE, REFUSED = "fine", "note", "refused"
SERVER = """
select
    current_setting('wal_level') as wal_level,
    current_setting('max_replication_slots')::int
    - (select count(*) from pg_replication_slots)::int as slots,
    current_setting('max_wal_senders')::int
    - (select count(*) from pg_stat_replication)::int as senders,
    current_setting('max_slot_wal_keep_size') as keep,
    (select rolreplication or rolsuper from pg_roles where rolname = current_user) as may_replicate,
    has_database_privilege(current_database(), 'create') as may_create,
    exists (select from pg_replication_slots where slot_name = %(slot)s) as has_slot,
    (select pg_has_role(pubowner, 'usage') from pg_publication where pubname = %(publication)s) as owns_publication
"""
BLOCKING_SNAPSHOT = "nothing to do: rows are read in one go, while changes wait (a blocking snapshot)"
NOT_CAPTURABLE = {"v": "a view", "m": "a materialized view", "f": "a foreign table"}


@dataclass(frozen=True)
class Finding:
    about: str
    verdict: str
    finding: str
    way_out: str | None = None


#: Verdict, finding and way out.
Remark = tuple[str, str, str | None]


def check(
    connection: psycopg.Connection, names: Sequence[str], prefix: str, settings: dict[str, str] | None
) -> list[Finding]:
    """Checks the server, and each table to be added to a connector; a new connector has no settings."""
    cursor = connection.cursor(row_factory=psycopg.rows.dict_row)
    slot, publication = slot_of(settings, prefix), publication_of(settings, prefix)
    server = cursor.execute(SERVER, {"slot": slot, "publication": publication}).fetchone()
    assert server is not None
    remarks = {"server": list(_check_server(connection.info, server, publication))}
    if settings is None and server["has_slot"]:
        way_out = f"choose another PREFIX, or, if nobody reads it: select pg_drop_replication_slot('{slot}')"
        remarks["server"].append((REFUSED, f"replication slot {slot} is another connector's", way_out))
    lacking = [name for name, value in EXACT.items() if settings is not None and settings.get(name) != value]
    if lacking:
        finding = f"the connector may alter values: it lacks {', '.join(lacking)}"
        remarks["server"].append(
            (NOTE, finding, "docs/exactness.md says what each is for; METL changes none by itself")
        )
    left = f"{server['slots']} replication slots and {server['senders']} WAL senders are left"
    topics: dict[str, list[str]] = {}
    for name in {*listed_tables(settings or {}), *names}:
        topics.setdefault(topic_name(prefix, name), []).append(name)
    for name in names:
        table = find_table(connection, name)
        remarks[name] = list(_report_missing(connection, name) if table is None else _check_table(table))
        others = [other for other in topics[topic_name(prefix, name)] if other != name]
        if others:
            finding = f"its messages would come to the same topic as those of {others[0]}: {topic_name(prefix, name)}"
            remarks[name].append((REFUSED, finding, "rename one of them, or capture it under another PREFIX"))
        if table is not None and settings is not None:
            remarks[name] += _check_with_connector(connection, table, settings)
    connection.rollback()
    return [
        Finding(about, *remark)
        for about, about_remarks in remarks.items()
        for remark in about_remarks or [(FINE, left if about == "server" else "nothing to remark", None)]
    ]


def refused(findings: Iterable[Finding]) -> list[Finding]:
    return [each for each in findings if each.verdict == REFUSED]


def _check_server(info: psycopg.ConnectionInfo, server: dict[str, Any], publication: str) -> Iterator[Remark]:
    user, database = info.user, info.dbname
    if server["wal_level"] != "logical":
        level = server["wal_level"]
        way_out = "alter system set wal_level = logical, and restart PostgreSQL"
        yield REFUSED, f"wal_level is {level}: there is no log of changes to read", way_out
    if not server["may_replicate"]:
        yield REFUSED, f"{user} may not read the log of changes", f"as a superuser: alter role {user} replication"
    if not server["has_slot"] and server["slots"] < 1:
        way_out = "drop one that nobody reads (pg_replication_slots), or raise max_replication_slots"
        yield REFUSED, "no replication slot is left", way_out
    if not server["has_slot"] and server["senders"] < 1:
        yield REFUSED, "no WAL sender is left", "raise max_wal_senders, and restart PostgreSQL"
    if server["owns_publication"] is False:
        way_out = f"as its owner: alter publication {publication} owner to {user}"
        yield REFUSED, f"publication {publication} belongs to another role than {user}", way_out
    if server["owns_publication"] is None and not server["may_create"]:
        way_out = f"as its owner: grant create on database {database} to {user}"
        yield REFUSED, f"{user} may not make a publication in database {database}", way_out
    if server["keep"] == "-1":
        way_out = "watch `metl status`, or set max_slot_wal_keep_size and accept that the slot may then be lost"
        yield NOTE, "a connector that stands still keeps WAL until the disk is full (max_slot_wal_keep_size)", way_out


def _report_missing(connection: psycopg.Connection, name: str) -> Iterator[Remark]:
    way_out = (
        nearest(name, capturable_tables(connection)).strip() or "names are as \\dt of psql shows them, without quotes"
    )
    yield REFUSED, f"database {connection.info.dbname} has no such table", way_out


def _check_with_connector(connection: psycopg.Connection, table: Table, settings: dict[str, str]) -> Iterator[Remark]:
    """Of a table that is added to an existing connector."""
    excluded = {table_of(entry) for entry in entries(settings, "column.exclude.list")}
    left_out = [each for each in table.columns if f"{table.name}.{each}" in excluded and each not in table.generated]
    if left_out:
        way_out = "take it out of column.exclude.list of the connector if it is wanted"
        yield NOTE, f"the connector leaves out {', '.join(left_out)}, no generated column (any more)", way_out
    if not can_page(table) and (misaligned := misaligned_tables(connection, settings, [table])):
        database = connection.info.dbname
        way_out = f"capture it with a connector of its own: another PREFIX, and --dsn that names database {database}"
        yield REFUSED, blocking_refusal(table.name, misaligned), way_out


def _check_table(table: Table) -> Iterator[Remark]:
    quoted = identifier(table.name).as_string()
    if table.kind in NOT_CAPTURABLE:
        yield REFUSED, f"{NOT_CAPTURABLE[table.kind]} has no log of changes", "capture the tables below it"
        return
    if table.is_partition:
        yield REFUSED, f"a partition of {table.root}", f"capture {table.root}: changes come under its name"
        return
    if not table.is_logged:
        yield REFUSED, "temporary and unlogged tables have no log of changes", f"alter table {quoted} set logged"
        return
    if not table.is_owned:
        way_out = f"grant {table.owner} to the connector's role, or capture as {table.owner}"
        yield REFUSED, f"it belongs to {table.owner}, and only its owner can publish it", way_out
    if not table.may_select:
        yield REFUSED, "its rows cannot be read", f"grant select on {quoted} to the connector's role"
    yield from _check_replica_identity(table)
    if table.kind == "p":
        yield NOTE, "partitioned: changes of its partitions come as changes of this table", None
    if table.children:
        way_out = f"capture {', '.join(table.children)} as well, if you want their rows"
        yield NOTE, "other tables inherit from it: only its own rows are captured under its name", way_out
    for key, kind in list(unpageable_columns(table).items())[:1]:
        yield NOTE, f"snapshots cannot page by key column {key} of type {kind}", BLOCKING_SNAPSHOT
    if table.key and not unpageable_columns(table) and not can_page(table):
        reason = "of the tables that inherit from it" if table.children else "of its name"
        yield NOTE, f"snapshots cannot page through it, because {reason}", BLOCKING_SNAPSHOT
    if table.generated:
        names = ", ".join(table.generated)
        way_out = "they are left out (column.exclude.list); take them by SQL, or map what they are made of"
        yield NOTE, f"generated columns are not in the change stream: {names}", way_out
    for name, column in table.columns.items():
        inexact = types.INEXACT.get(str(column["type"]))
        if inexact and name not in table.generated:
            yield NOTE, f"{name} {column['type']}: {inexact}", None


def _check_replica_identity(table: Table) -> Iterator[Remark]:
    quoted = identifier(table.name).as_string()
    long = [name for name, column in table.columns.items() if column["long"] and name not in table.key]
    if not table.key and table.identity != "f" and not table.identity_index:
        way_out = f"add a primary key, or: alter table {quoted} replica identity full"
        yield REFUSED, "no primary key: once published, PostgreSQL refuses its updates and deletes", way_out
    elif not table.key:
        finding = "no primary key: nothing tells its rows apart, so that a warehouse cannot keep them up to date"
        yield NOTE, finding, "add a primary key"
    elif table.identity == "n":
        way_out = f"alter table {quoted} replica identity default"
        yield REFUSED, "replica identity nothing: once published, PostgreSQL refuses its updates and deletes", way_out
    elif table.identity == "f":
        yield NOTE, "replica identity full: each update and delete writes the whole old row into the WAL", None
    elif long:
        names = f"{', '.join(long[:3])}{' …' if long[3:] else ''}"
        finding = (
            f"deletes bring the key only; long values of {names} that an update leaves alone do not come: those in "
            "the warehouse stay, but a row whose key changes loses them"
        )
        yield NOTE, finding, f"if keys change: alter table {quoted} replica identity full, at the cost of more WAL"
