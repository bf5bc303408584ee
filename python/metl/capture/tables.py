"""Tables of a source database, as its catalog describes them."""

from collections.abc import Iterable
from dataclasses import dataclass

import psycopg
from psycopg.rows import class_row

from metl.capture.names import parse

TABLE = """
select
    nspname || '.' || relname as name,
    relkind::text as kind,
    relispartition as is_partition,
    case when relispartition then (
        select root.relnamespace::regnamespace::text || '.' || root.relname
        from pg_class as root where root.oid = pg_partition_root(pg_class.oid)
    ) end as root,
    array(
        select child.relnamespace::regnamespace::text || '.' || child.relname
        from pg_inherits inner join pg_class as child on inhrelid = child.oid
        where inhparent = pg_class.oid and pg_class.relkind = 'r'
        order by 1
    ) as children,
    relreplident::text as identity,
    pg_has_role(relowner, 'usage') as is_owned,
    relowner::regrole::text as owner,
    has_table_privilege(pg_class.oid, 'select') as may_select,
    relpersistence = 'p' as is_logged,
    array(
        select attname::text from pg_index
        cross join unnest(indkey) with ordinality as part (number, place)
        inner join pg_attribute on attrelid = indrelid and attnum = part.number
        where indrelid = pg_class.oid and indisprimary
        order by part.place
    ) as key,
    array(
        select attname::text from pg_index
        cross join unnest(indkey) with ordinality as part (number, place)
        inner join pg_attribute on attrelid = indrelid and attnum = part.number
        where indrelid = pg_class.oid and indisreplident
        order by part.place
    ) as identity_index,
    (
        select coalesce(json_object_agg(attname, json_build_object(
            'type', format_type(coalesce(nullif(base.oid, 0), atttypid), null),
            'kind', coalesce(base.typtype, type.typtype),
            'generated', nullif(attgenerated, ''),
            'long', attstorage in ('x', 'e')
        ) order by attnum), '{}')
        from pg_attribute
        inner join pg_type as type on atttypid = type.oid
        left join lateral (
            with recursive domain as (
                select type.oid, type.typtype, type.typbasetype
                union all
                select below.oid, below.typtype, below.typbasetype
                from domain inner join pg_type as below on domain.typbasetype = below.oid
            )
            select oid, typtype from domain where typtype <> 'd'
        ) as base on true
        where attrelid = pg_class.oid and attnum > 0 and not attisdropped
    ) as columns
from pg_class inner join pg_namespace on relnamespace = pg_namespace.oid
where nspname = %s and relname = %s and relkind in ('r', 'p', 'v', 'm', 'f')
"""
#: Tables that can be published, by the names that a connector's settings use.
CAPTURABLE = """
select nspname || '.' || relname
from pg_class inner join pg_namespace on relnamespace = pg_namespace.oid
where relkind in ('r', 'p') and not relispartition and relpersistence = 'p'
    and nspname !~ '^pg_' and nspname <> 'information_schema'
order by 1
"""
ESTIMATE = """
select case when bool_and(reltuples >= 0) then sum(reltuples)::bigint end
from pg_class
where oid in (select relid from pg_partition_tree(%(table)s) where isleaf union all select %(table)s::regclass)
    and relkind <> 'p'
"""
#: Without statistics, larger tables are not counted to their end.
MAX_COUNTED = 1_000_000


@dataclass(frozen=True)
class Table:
    name: str
    kind: str
    is_partition: bool
    root: str | None
    #: Tables that inherit from it, without partitions.
    children: list[str]
    identity: str
    is_owned: bool
    owner: str
    may_select: bool
    is_logged: bool
    key: list[str]
    identity_index: list[str]
    #: By name: type (of a domain its base type), kind (pg_type.typtype), generated (s or v), long (may be TOASTed).
    columns: dict[str, dict[str, str | bool | None]]

    @property
    def generated(self) -> list[str]:
        return [name for name, column in self.columns.items() if column["generated"]]

    @property
    def has_column_after_generated(self) -> bool:
        last = max((index for index, name in enumerate(self.columns) if name not in self.generated), default=0)
        return any(name in self.generated for name in list(self.columns)[:last])

    @property
    def key_types(self) -> dict[str, str]:
        return {name: str(self.columns[name]["type"]) for name in self.key}


def find_table(connection: psycopg.Connection, name: str) -> Table | None:
    with connection.cursor(row_factory=class_row(Table)) as cursor:
        return cursor.execute(TABLE, parse(name)).fetchone()


def capturable_tables(connection: psycopg.Connection) -> list[str]:
    return [name for (name,) in connection.execute(CAPTURABLE)]


def estimate_rows(connection: psycopg.Connection, tables: Iterable[str]) -> dict[str, int | None]:
    """By statistics, or counted if there are none yet; null if there are more than MAX_COUNTED to count."""
    counts: dict[str, int | None] = {}
    for name in tables:
        quoted = identifier(name).as_string(connection)
        row = connection.execute(ESTIMATE, {"table": quoted}).fetchone()
        counts[name] = row[0] if row else None
        # 0 may be outdated: the table was empty when it was analyzed.
        if not counts[name]:
            query = psycopg.sql.SQL("select count(*) from (select from {} limit {}) as counted").format(
                identifier(name), MAX_COUNTED + 1
            )
            [(exact,)] = connection.execute(query).fetchall()
            counts[name] = exact if exact <= MAX_COUNTED else None
    return counts


def identifier(name: str) -> psycopg.sql.Identifier:
    return psycopg.sql.Identifier(*parse(name))
