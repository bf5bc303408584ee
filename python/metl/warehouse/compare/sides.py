"""The rows of one side, hashed by their server: no value is transferred before its hash is found to differ."""

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
from metl.warehouse.table_rows import TEXT_SETTINGS, from_item, source_errors

#: Key hashes are grouped to this many buckets with a checksum each, so that few rows share one.
BUCKETS = 1 << 16
#: With this work_mem, the checksums of a million rows stay in memory.
SETTINGS = TEXT_SETTINGS + "; set work_mem = '64MB'"
FETCH_SIZE = 2000


class Row(NamedTuple):
    key_hash: int
    key: str
    #: JSON: at the source its primary key, in the warehouse its position and the values kept from older messages.
    details: str
    #: One for each column, separated by spaces.
    hashes: str

    @property
    def sort_key(self) -> tuple[int, str]:
        return self.key_hash, self.key


@dataclass(frozen=True)
class Side:
    connection: psycopg.Connection
    #: SQL for Row.key and Row.details.
    key: sql.Composable
    details: sql.Composable
    #: A from and a where clause, to which `and` can be appended.
    from_where: sql.Composable
    #: An indexed condition on an array of texts: at the source on Row.details, in the warehouse on Row.key.
    matches: Callable[[sql.Composable], sql.Composable]
    values: list[sql.Composable]
    types: list[str]
    same_encoding: bool
    #: A context that explains errors of the server.
    errors: Callable[[], contextlib.AbstractContextManager[None]]

    def checksums(self) -> dict[int, tuple[int, str]]:
        """By bucket: the row count and the sum of row hashes, which does not depend on their order."""
        row_hash = self._hash([self.key, *self.values], ["text", *self.types])
        query = sql.SQL(
            "select bucket, count(*), sum(row_hash)::text "
            "from (select {} as bucket, {} as row_hash {}) as hashed group by bucket"
        ).format(self._bucket, row_hash, self.from_where)
        return {bucket: (count, total) for bucket, count, total in self._rows(query)}

    def stream(self, buckets: list[int]) -> Iterator[Row]:
        """The rows of some buckets, sorted by Row.sort_key on both sides."""
        # The cast lets PostgreSQL look up the bucket in a hash table instead of scanning the array for each row.
        condition = sql.SQL("{} = any({}::bigint[])").format(self._bucket, sql.Literal(buckets))
        query = sql.SQL("{} and {} order by 1, 2").format(self._select_hashed, condition)
        with self.errors(), self.connection.cursor(name="rows") as cursor:
            cursor.itersize = FETCH_SIZE
            for row in cursor.execute(query):
                yield Row(*row)

    def find(self, texts: list[str]) -> dict[str, Row]:
        """Rows by key, read with an index; see `matches`."""
        return self._by_key(self.matches(sql.Literal(texts)))

    def scan(self, keys: list[str]) -> dict[str, Row]:
        """Rows by key, read without an index."""
        return self._by_key(sql.SQL("{} = any({})").format(self.key, sql.Literal(keys)))

    def value(self, text: str, column: int) -> str | None:
        """One value as text; see `matches`."""
        query = sql.SQL("select {}::text {} and {}").format(
            self.values[column], self.from_where, self.matches(sql.Literal([text]))
        )
        rows = self._rows(query)
        return rows[0][0] if rows else None

    def null_hashes(self) -> str:
        """Row.hashes of a row whose values are all null."""
        [(null,)] = self._rows(sql.SQL("select {}").format(self._hash([sql.SQL("null::text")], ["text"])))
        return " ".join(["", *[str(null)] * len(self.values)])

    def sample_limit(self, count: int) -> int | None:
        """The `count`-th lowest key hash; None if there are fewer rows."""
        query = sql.SQL("select {} {} order by 1 offset {} limit 1").format(self._key_hash, self.from_where, count - 1)
        rows = self._rows(query)
        return rows[0][0] if rows else None

    def up_to(self, key_hash: int) -> "Side":
        return replace(self, from_where=sql.SQL("{} and {} <= {}").format(self.from_where, self._key_hash, key_hash))

    def _by_key(self, condition: sql.Composable) -> dict[str, Row]:
        return {row[1]: Row(*row) for row in self._rows(sql.SQL("{} and {}").format(self._select_hashed, condition))}

    def _rows(self, query: sql.Composed) -> list[tuple[Any, ...]]:
        # Without parameters: psycopg would take a percent sign in a name for a placeholder.
        with self.errors():
            return self.connection.execute(query).fetchall()

    def _hash(self, values: list[sql.Composable], types: list[str]) -> sql.Composable:
        return hashes.hash_of(values, types, same_encoding=self.same_encoding)

    @property
    def _key_hash(self) -> sql.Composable:
        return self._hash([self.key], ["text"])

    @property
    def _bucket(self) -> sql.Composable:
        return sql.SQL("({} & {})").format(self._key_hash, BUCKETS - 1)

    @property
    def _select_hashed(self) -> sql.Composable:
        column_hashes = [self._hash([value], [kind]) for value, kind in zip(self.values, self.types, strict=True)]
        return sql.SQL("select {}, {}, {}, concat_ws(' ', {}) {}").format(
            self._key_hash,
            self.key,
            self.details,
            sql.SQL(", ").join([sql.Literal(""), *column_hashes]),
            self.from_where,
        )


def source_side(
    connection: psycopg.Connection, table: exp.Table, key: sql.Composable, columns: list[Column], *, same_encoding: bool
) -> Side:
    """`key` is the result of table_rows.key_of."""
    name = table.sql("postgres", identify=True)
    with source_errors(table):
        relation = from_item(connection, table)
        primary_key = [(sql.Identifier(column), sql.SQL(kind)) for column, *_, kind in key_columns(connection, name)]
    key_texts = (sql.SQL("{}::text").format(column) for column, _ in primary_key)

    def matches(texts: sql.Composable) -> sql.Composable:
        values = (sql.SQL("(key::json ->> {})::{}").format(index, kind) for index, (_, kind) in enumerate(primary_key))
        return sql.SQL("({}) in (select {} from unnest({}::text[]) as keys (key))").format(
            sql.SQL(", ").join(column for column, _ in primary_key), sql.SQL(", ").join(values), texts
        )

    return Side(
        connection,
        sql.SQL("({})::text").format(key),
        sql.SQL("json_build_array({})::text").format(sql.SQL(", ").join(key_texts)),
        sql.SQL("from {} where true").format(relation),
        matches,
        [sql.SQL(f"({column.expression})") for column in columns],
        [column.type for column in columns],
        same_encoding,
        lambda: source_errors(table),
    )


def warehouse_side(
    connection: psycopg.Connection, table: str, topic: str, columns: list[Column], *, same_encoding: bool
) -> Side:
    def matches(texts: sql.Composable) -> sql.Composable:
        return sql.SQL("_key in (select key::jsonb from unnest({}::text[]) as keys (key))").format(texts)

    return Side(
        connection,
        sql.SQL("_key::text"),
        sql.SQL("json_build_array(_partition, _offset, _state, _kept)::text"),
        sql.SQL("from {} where _source = {} and not _deleted").format(
            sql.Identifier("warehouse", table), sql.Literal(topic)
        ),
        matches,
        [sql.Identifier(column.name) for column in columns],
        [column.type for column in columns],
        same_encoding,
        contextlib.nullcontext,
    )
