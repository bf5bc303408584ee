"""The rows of either end, as their server tells of them: no value leaves it before it is known to differ."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import psycopg
from psycopg import sql
from sqlglot import exp

from metl.capture.keys import key_columns
from metl.warehouse.compare import hashes
from metl.warehouse.compare.columns import Column
from metl.warehouse.table_rows import SAME_TEXT, own_rows, told

#: Rows are summed up by this many hashes of their keys, so that few rows share a sum.
BUCKETS = 1 << 16
#: Sums of a million rows stay in memory.
SETTINGS = SAME_TEXT + "; set work_mem = '64MB'"
FETCHED = 2000


class Row(NamedTuple):
    key_hash: int
    key: str
    #: At the source its primary key as text, in the warehouse its position and what was kept.
    about: str
    #: Of its columns, one after the other.
    hashes: str


@dataclass(frozen=True)
class Side:
    connection: psycopg.Connection
    #: SQL for the key of a row as text, and for what else there is to know of it.
    key: sql.Composable
    about: sql.Composable
    #: Where the rows are, from `from` on, with a condition that others can be added to.
    origin: sql.Composable
    #: Which rows an array of texts means: at the source those of Row.about, in the warehouse of Row.key.
    named: Callable[[sql.Composable], sql.Composable]
    values: list[sql.Composable]
    types: list[str]
    same_encoding: bool
    #: Turns what its server refuses into a sentence.
    told: Callable[[], contextlib.AbstractContextManager[None]]

    def sums(self) -> dict[int, tuple[int, str]]:
        """By bucket: how many rows, and the sum of their hashes, whatever their order."""
        row_hash = self._hash([self.key, *self.values], ["text", *self.types])
        query = sql.SQL(
            "select bucket, count(*), sum(row_hash)::text "
            "from (select {} as bucket, {} as row_hash {}) as hashed group by bucket"
        ).format(self._bucket, row_hash, self.origin)
        return {bucket: (count, total) for bucket, count, total in self._rows(query)}

    def stream(self, buckets: list[int]) -> Iterator[Row]:
        """The rows of some buckets in an order that is the same at both ends."""
        # Cast, since numbers of another type would be looked for one by one instead of by their hash.
        wanted = sql.SQL("{} = any({}::bigint[])").format(self._bucket, sql.Literal(buckets))
        query = sql.SQL("{} and {} order by 1, 2").format(self._hashed, wanted)
        with self.told(), self.connection.cursor(name="rows") as cursor:
            cursor.itersize = FETCHED
            for row in cursor.execute(query):
                yield Row(*row)

    def find(self, names: list[str]) -> dict[str, Row]:
        """Rows by key."""
        return self._by_key(self.named(sql.Literal(names)))

    def scan(self, keys: list[str]) -> dict[str, Row]:
        """Rows by key where nothing else is known of them, which no index helps with."""
        return self._by_key(sql.SQL("{} = any({})").format(self.key, sql.Literal(keys)))

    def value(self, name: str, column: int) -> str | None:
        """A value as text, to be shown."""
        query = sql.SQL("select {}::text {} and {}").format(
            self.values[column], self.origin, self.named(sql.Literal([name]))
        )
        found = self._rows(query)
        return found[0][0] if found else None

    def nothing(self) -> str:
        """Row.hashes of a row whose values are all null."""
        [(null,)] = self._rows(sql.SQL("select {}").format(self._hash([sql.SQL("null::text")], ["text"])))
        return " ".join(["", *[str(null)] * len(self.values)])

    def sample(self, count: int) -> int | None:
        """The key hash up to which there are so many rows; none if there are fewer."""
        query = sql.SQL("select {} {} order by 1 offset {} limit 1").format(self._key_hash, self.origin, count - 1)
        found = self._rows(query)
        return found[0][0] if found else None

    def up_to(self, key_hash: int) -> "Side":
        condition = sql.SQL("{} and {} <= {}").format(self.origin, self._key_hash, key_hash)
        return replace(self, origin=condition)

    def _by_key(self, condition: sql.Composable) -> dict[str, Row]:
        return {row[1]: Row(*row) for row in self._rows(sql.SQL("{} and {}").format(self._hashed, condition))}

    def _rows(self, query: sql.Composed) -> list[tuple[Any, ...]]:
        # Without parameters, since names may have percent signs in them.
        with self.told():
            return self.connection.execute(query).fetchall()

    def _hash(self, values: list[sql.Composable], types: list[str]) -> sql.Composable:
        return hashes.of(values, types, same_encoding=self.same_encoding)

    @property
    def _key_hash(self) -> sql.Composable:
        return self._hash([self.key], ["text"])

    @property
    def _bucket(self) -> sql.Composable:
        return sql.SQL("({} & {})").format(self._key_hash, BUCKETS - 1)

    @property
    def _hashed(self) -> sql.Composable:
        each = [self._hash([value], [kind]) for value, kind in zip(self.values, self.types, strict=True)]
        return sql.SQL("select {}, {}, {}, concat_ws(' ', {}) {}").format(
            self._key_hash, self.key, self.about, sql.SQL(", ").join([sql.Literal(""), *each]), self.origin
        )


def source_side(
    connection: psycopg.Connection, table: exp.Table, key: sql.Composable, columns: list[Column], *, same_encoding: bool
) -> Side:
    """The key is that of metl.table_rows.key_of."""
    name = table.sql("postgres", identify=True)
    with told(table):
        origin = own_rows(connection, table)
        primary = [(sql.Identifier(column), sql.SQL(shown)) for column, *_, shown in key_columns(connection, name)]
    parts = (sql.SQL("{}::text").format(column) for column, _ in primary)

    def named(given: sql.Composable) -> sql.Composable:
        read = (sql.SQL("(one::json ->> {})::{}").format(place, kind) for place, (_, kind) in enumerate(primary))
        return sql.SQL("({}) in (select {} from unnest({}::text[]) as given (one))").format(
            sql.SQL(", ").join(column for column, _ in primary), sql.SQL(", ").join(read), given
        )

    return Side(
        connection,
        sql.SQL("({})::text").format(key),
        sql.SQL("json_build_array({})::text").format(sql.SQL(", ").join(parts)),
        sql.SQL("from {} where true").format(origin),
        named,
        [sql.SQL(f"({column.selected})") for column in columns],
        [column.type for column in columns],
        same_encoding,
        lambda: told(table),
    )


def warehouse_side(
    connection: psycopg.Connection, table: str, topic: str, columns: list[Column], *, same_encoding: bool
) -> Side:
    def named(given: sql.Composable) -> sql.Composable:
        return sql.SQL("_key in (select one::jsonb from unnest({}::text[]) as given (one))").format(given)

    return Side(
        connection,
        sql.SQL("_key::text"),
        sql.SQL("json_build_array(_partition, _offset, _state, _kept)::text"),
        sql.SQL("from {} where _source = {} and not _deleted").format(
            sql.Identifier("warehouse", table), sql.Literal(topic)
        ),
        named,
        [sql.Identifier(column.name) for column in columns],
        [column.type for column in columns],
        same_encoding,
        contextlib.nullcontext,
    )
