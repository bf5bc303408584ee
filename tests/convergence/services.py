"""Services whose rows and tables change at random."""

import json
import random
import string
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

#: Longer than what PostgreSQL keeps in the row itself: an update that leaves it alone does not log it.
LONG = 3000
MANY = 20


@dataclass(frozen=True)
class Kind:
    """What a column holds."""

    type: str
    generalized: str
    make: Callable[[random.Random], Any]
    #: A type that means the same and holds more.
    wider: str | None = None


def _text(chance: random.Random, longest: int) -> str:
    letters = string.ascii_letters + string.digits + " äß€🐈'\"\\{}[],:"
    return "".join(chance.choices(letters, k=chance.randrange(longest)))


#: By the letter that the names of its columns begin with.
KINDS = {
    "i": Kind("int", "integer", lambda chance: chance.randrange(-(2**31), 2**31), "bigint"),
    "d": Kind("numeric(20,4)", "decimal", lambda chance: chance.randrange(-(10**15), 10**15) / 100, "numeric"),
    "s": Kind("varchar(60)", "string", lambda chance: _text(chance, 60), "text"),
    "t": Kind("text", "string", lambda chance: _text(chance, chance.choice([20, LONG]))),
    "b": Kind("boolean", "boolean", lambda chance: chance.choice([True, False])),
    "z": Kind("timestamptz", "timestamp", lambda chance: f"{chance.randrange(1, 9999):04}-02-28 1:2:{chance.random()}"),
    "y": Kind("date", "date", lambda chance: f"{chance.randrange(1, 9999):04}-12-31"),
    "f": Kind("double precision", "float", lambda chance: chance.uniform(-1e9, 1e9)),
    "j": Kind("jsonb", "json", lambda chance: json.dumps({"a": [chance.random(), None, _text(chance, 9)]})),
}  # fmt: skip
KEY = "number"
FIRST = ("i1", "d1", "s1", "t1")
#: Every entity has these, so that any column of any service has an attribute that it can be mapped to.
ATTRIBUTES = {KEY: "integer"} | {f"{letter}{each}": KINDS[letter].generalized for letter in KINDS for each in (1, 2)}


@dataclass
class Table:
    """What its columns are called now. A name is that of its attribute, and how often it was renamed."""

    name: str
    columns: dict[str, str] = field(default_factory=lambda: {each: f"{each}_0" for each in FIRST})
    widened: set[str] = field(default_factory=set)
    #: Attributes that were never a column of it. One that is dropped does not come back: its rows would not be told.
    unused: list[str] = field(default_factory=lambda: [each for each in ATTRIBUTES if each not in (KEY, *FIRST)])


def attribute_of(column: str) -> str:
    return KEY if column == "id" else column.split("_")[0]


class Service:
    def __init__(self, server: str, name: str, tables: list[str], chance: random.Random) -> None:
        self.name, self.chance = name, chance
        self.dsn = make_conninfo(server, dbname=name)
        self.tables = {table: Table(table) for table in tables}
        self.done: Counter[str] = Counter()

    def create(self, server: str) -> None:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"create database {self.name}".encode())
        with psycopg.connect(self.dsn) as connection:
            for table in self.tables.values():
                columns = (f"{column} {KINDS[each[0]].type}" for each, column in table.columns.items())
                connection.execute(f"create table {table.name} (id int primary key, {', '.join(columns)})".encode())
                self._insert(connection, table)

    def topic(self, table: str) -> str:
        return f"{self.name}.public.{table}"

    def change(self) -> None:
        """One transaction. It may fail with the server; then nobody knows whether it was done, and nobody needs to."""
        table = self.chance.choice(list(self.tables.values()))
        ways: dict[Callable[[psycopg.Connection, Table], object], float] = {
            self._insert: 8, self._update: 10, self._delete: 3, self._rekey: 1, self._truncate: 0.05,
            self._add: 0.4, self._drop: 0.2, self._rename: 0.3, self._widen: 0.2,
        }  # fmt: skip
        [way] = self.chance.choices(list(ways), list(ways.values()))
        with psycopg.connect(self.dsn) as connection:
            way(connection, table)
        self.done[way.__name__.strip("_")] += 1

    def mark(self, number: int) -> None:
        """A row in every table that comes after all others."""
        with psycopg.connect(self.dsn) as connection:
            for table in self.tables:
                connection.execute(f"insert into {table} (id) values (%s)".encode(), [number])

    def _insert(self, connection: psycopg.Connection, table: Table) -> None:
        for _ in range(self.chance.randrange(1, MANY)):
            row = {"id": self.chance.randrange(2000)} | self._values(table, list(table.columns))
            marks = ", ".join(["%s"] * len(row))
            statement = f"insert into {table.name} ({', '.join(row)}) values ({marks}) on conflict do nothing"
            connection.execute(statement.encode(), list(row.values()))

    def _update(self, connection: psycopg.Connection, table: Table) -> None:
        some = self.chance.sample(list(table.columns), self.chance.randrange(min(3, len(table.columns))) or 1)
        row = self._values(table, some)
        sets = ", ".join(f"{column} = %s" for column in row)
        statement = f"update {table.name} set {sets} where id in ({self._some(table)})"
        connection.execute(statement.encode(), list(row.values()))

    def _delete(self, connection: psycopg.Connection, table: Table) -> None:
        connection.execute(f"delete from {table.name} where id in ({self._some(table)})".encode())

    def _rekey(self, connection: psycopg.Connection, table: Table) -> None:
        new = self.chance.randrange(2000, 1_000_000)
        # A long text that stays as it is would not be logged, and nobody could tell what the row of the new key has.
        long = "".join(f", {column} = {column} || ''" for column in table.columns.values() if column[0] == "t")
        statement = f"update {table.name} set id = %s{long} where id = ({self._some(table, 1)}) and not exists "
        connection.execute(f"{statement} (select from {table.name} where id = %s)".encode(), [new, new])

    def _truncate(self, connection: psycopg.Connection, table: Table) -> None:
        connection.execute(f"truncate {table.name}".encode())

    def _add(self, connection: psycopg.Connection, table: Table) -> None:
        if table.unused:
            attribute = table.unused.pop(self.chance.randrange(len(table.unused)))
            table.columns[attribute] = f"{attribute}_0"
            kind = KINDS[attribute[0]]
            connection.execute(f"alter table {table.name} add if not exists {attribute}_0 {kind.type}".encode())

    def _drop(self, connection: psycopg.Connection, table: Table) -> None:
        if len(table.columns) > 3:
            column = table.columns.pop(self.chance.choice(list(table.columns)))
            connection.execute(f"alter table {table.name} drop if exists {column}".encode())

    def _rename(self, connection: psycopg.Connection, table: Table) -> None:
        attribute = self.chance.choice(list(table.columns))
        old = table.columns[attribute]
        new = f"{attribute}_{int(old.split('_')[1]) + 1}"
        connection.execute(f"alter table {table.name} rename {old} to {new}".encode())
        table.columns[attribute] = new

    def _widen(self, connection: psycopg.Connection, table: Table) -> None:
        able = [each for each in table.columns if KINDS[each[0]].wider and each not in table.widened]
        if able:
            attribute = self.chance.choice(able)
            type_ = KINDS[attribute[0]].wider
            connection.execute(f"alter table {table.name} alter {table.columns[attribute]} type {type_}".encode())
            table.widened.add(attribute)

    def _some(self, table: Table, most: int = MANY) -> str:
        start, most = self.chance.randrange(2000), self.chance.randrange(most) + 1
        return f"select id from {table.name} where id >= {start} order by id limit {most}"

    def _values(self, table: Table, columns: list[str]) -> dict[str, Any]:
        return {
            table.columns[each]: KINDS[each[0]].make(self.chance) if self.chance.random() < 0.8 else None
            for each in columns
        }

    def look(self) -> None:
        """At what its tables are like: a change that was cut off may have been done or not."""
        query = "select column_name from information_schema.columns where table_name = %s and column_name <> 'id'"
        with psycopg.connect(self.dsn) as connection:
            for table in self.tables.values():
                found = connection.execute(query.encode(), [table.name]).fetchall()
                table.columns = {attribute_of(column): column for (column,) in found}
                table.unused = [each for each in table.unused if each not in table.columns]
