"""The tables of the zoo, and how they change at random."""

import random
import re
from dataclasses import dataclass, field

import psycopg

from tests.zoo.values import DECLARED, KEYS, LONG_VALUES, VALUES

SHORT = ["null", "'a'", "'b'", "''", "repeat('long ', 20)"]
NUMBERS = ["null", "1", "2", "-7"]


@dataclass
class Table:
    """A table whose rows have a number, and SQL for what its columns may hold."""

    name: str
    key: dict[str, list[str]]
    columns: dict[str, list[str]]
    #: Columns that an update that changes the key must write anew, since nobody else knows them.
    long: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    #: "only" leaves the rows of tables that inherit from it alone.
    only: str = ""
    #: Its name without quotes.
    captured: str = ""
    #: Debezium writes an underscore for what the name of a topic cannot hold.
    topic: str = ""
    count: int = field(default=0)

    def __post_init__(self) -> None:
        self.captured = self.captured or self.name
        self.topic = self.topic or self.name

    def insert(self, connection: psycopg.Connection, chance: random.Random) -> None:
        self.count += 1
        key = {name: chance.choice(values).format(n=self.count) for name, values in self.key.items()}
        self._insert(connection, key | {name: self._value(values, chance) for name, values in self.columns.items()})

    def insert_edges(self, connection: psycopg.Connection) -> None:
        """So many rows that each value of each column is in one of them."""
        every = {**self.key, **self.columns}
        for place in range(max(map(len, every.values()))):
            self.count += 1
            row = {name: values[place % len(values)].format(n=self.count) for name, values in self.key.items()}
            row |= {name: values[place] for name, values in self.columns.items() if place < len(values)}
            self._insert(connection, row)

    def update(self, connection: psycopg.Connection, chance: random.Random) -> None:
        some = chance.sample(list(self.columns), min(len(self.columns), chance.randrange(1, 4)))
        sets = ", ".join(f"{name} = {self._value(self.columns[name], chance)}" for name in some)
        self._execute(connection, f"update {self.only} {self.name} as it set {sets} where {self._some(chance)}")

    def change_key(self, connection: psycopg.Connection, chance: random.Random) -> None:
        self.count += 1
        key = {name: chance.choice(values).format(n=self.count) for name, values in self.key.items()}
        row = key | {name: self._value(self.columns[name], chance) for name in self.long}
        sets = ", ".join(f"{name} = {value}" for name, value in row.items())
        names = ", ".join(self.key)
        first = f"select {names} from {self.only} {self.name} limit 1"
        self._execute(connection, f"update {self.only} {self.name} set {sets} where ({names}) = ({first})")

    def delete(self, connection: psycopg.Connection, chance: random.Random) -> None:
        self._execute(connection, f"delete from {self.only} {self.name} as it where {self._some(chance, 25)}")

    def change(self, connection: psycopg.Connection, chance: random.Random) -> None:
        [way] = chance.choices([self.insert, self.update, self.delete, self.change_key], [8, 10, 2, 1])
        way(connection, chance)

    def _some(self, chance: random.Random, share: int = 5) -> str:
        return f"hashtext(it::text) % {share} = {chance.randrange(share)}"

    def _value(self, values: list[str], chance: random.Random) -> str:
        return chance.choice(["null", *values])

    def _insert(self, connection: psycopg.Connection, row: dict[str, str]) -> None:
        names = ", ".join(row)
        self._execute(connection, f"insert into {self.name} ({names}) values ({', '.join(row.values())})")

    def _execute(self, connection: psycopg.Connection, statement: str) -> None:
        connection.execute(statement.encode())


NUMBER = {"id": ["{n}"]}
MOMENTS = ["'2023-05-05 10:00+00'", "'2024-05-05 10:00:00.25+00'", "'2026-01-01 00:00+00'"]


#: What docs/exactness.md says is not carried, and what nobody can compare.
DECLARED_TABLE = Table("public.declared", NUMBER, {})
NO_KEY = Table("public.no_key", NUMBER, {}, features=("tables without a key",))


def column(number: int, type_: str) -> str:
    return f"c{number}_" + re.sub(r"\W+", "_", type_).strip("_")


def typed(values: dict[str, list[str]]) -> dict[str, list[str]]:
    return {column(number, type_): found for number, (type_, found) in enumerate(values.items())}


def declaration(values: dict[str, list[str]]) -> str:
    return ", ".join(f"{column(number, type_)} {type_}" for number, type_ in enumerate(values))


def create(connection: psycopg.Connection) -> None:
    """What zoo.sql leaves out since it is made of tests.zoo.values."""
    keys = declaration(KEYS)
    names = ", ".join(column(number, type_) for number, type_ in enumerate(KEYS))
    for statement in (
        f"create table types (id int primary key, {declaration(VALUES)})",
        f"create table long_default (id int primary key, other int, {declaration(LONG_VALUES)})",
        f"create table long_full (id int primary key, other int, {declaration(LONG_VALUES)})",
        "alter table long_full replica identity full",
        f"create table keys ({keys}, n int, note text, primary key ({names}, n))",
        f"create table declared (id int primary key, {declaration({type_: [] for type_, _ in DECLARED.values()})})",
    ):
        connection.execute(statement.encode())
    for number, (type_, value) in enumerate(DECLARED.values()):
        name = column(number, type_)
        connection.execute(f"insert into declared (id, {name}) values ({number}, {value})".encode())


def tables() -> list[Table]:
    quoted = (
        "Ünï",
        "a.b",
        "UPPER",
        "with space",
        'quo""te',
        "a_name_of_sixty_three_bytes_as_long_as_postgresql_allows_it_to_",
    )
    long = typed(LONG_VALUES)
    defaults = {
        "constant": SHORT, "number": NUMBERS, "mood": ["'sad'", "null"], "day": ["null", "'2021-01-01'"],
        "moment": ["null"], "clock": ["null"], "flags": ["null", "b'011'"], "list": ["null", "'{{3}}'"],
        "doc": ["null"], "span": ["null"], "pairing": ["null"], "random_id": ["null"], "price": ["null", "2"],
    }  # fmt: skip
    return [
        Table("public.types", NUMBER, typed(VALUES), features=("every type",)),
        Table("public.long_default", NUMBER, {"other": NUMBERS} | long, tuple(long), ("values out of line",)),
        Table("public.long_full", NUMBER, {"other": NUMBERS} | long, (), ("replica identity full",)),
        Table("public.keys", typed(KEYS) | {"n": ["{n}"]}, {"note": SHORT}, features=(f"a key of {len(KEYS)} types",)),
        Table("public.by_range", NUMBER | {"at": MOMENTS}, {"name": SHORT}, features=("partitions by range",)),
        Table("public.by_list", NUMBER | {"kind": ["'a'", "'b'", "'c'"]}, {"name": SHORT},
              features=("partitions by list",)),
        Table("public.by_hash", NUMBER, {"name": SHORT}, features=("partitions by hash",)),
        Table("public.parent", NUMBER, {"name": SHORT}, features=("inheritance",), only="only"),
        Table("public.child", NUMBER, {"name": SHORT, "extra": SHORT}),
        Table("public.defaults", NUMBER, defaults,
              features=("identity", "serial", "defaults that NULL must not become")),
        Table("public.computed", NUMBER, {"a": NUMBERS, "b": NUMBERS}, features=("generated columns",)),
        Table('"Lager"."Größe ""x"" y.z"', {'"Schlüssel"': ["'é{n}'"]},
              {f'"{name}"': SHORT for name in quoted} | {'"select"': NUMBERS},
              features=("quoted and non-ASCII names", "schemas other than public", "a text key"),
              captured='Lager.Größe "x" y.z', topic="Lager.Gr__e__x__y.z"),
    ]  # fmt: skip
