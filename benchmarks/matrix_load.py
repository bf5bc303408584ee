"""A matrix of a given size in a database of its own, for the benchmark of the matrix.

Each size has 100 entities of 10 attributes, and 100 to 10,000 schemas of 10 versions of 10 attributes. A schema feeds
one entity with 9 of them, and every twentieth version renames or drops one.
"""

import json
import random
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg

#: The exponents of the numbers of elements, and the numbers of schemas that make them.
SCHEMAS = {7: 100, 8: 1_000, 9: 10_000}
VERSIONS = 10
ATTRIBUTES = 10
ENTITIES = 100
MAPPED = 9
CHANGED_VERSIONS = 0.05
#: Schemas that are added with the public functions; the others are copies of their rows.
ORIGINALS = 100

TYPES = ("int64", "string", "decimal", "boolean", "timestamp")

Attributes = list[dict[str, str]]


@dataclass
class Schema:
    name: str
    entity: str
    names: list[str]
    live: list[int] = field(default_factory=list)

    @property
    def version(self) -> int:
        return self.live[-1] if self.live else 0

    def next_version(self, change: str, rng: random.Random) -> tuple[str, int, str]:
        """The arguments that add a version which keeps all attributes, or renames or drops a mapped one."""
        self.live.append(self.version + 1)
        attributes = attributes_of(self.names)
        if change != "keep":
            index = rng.randrange(MAPPED)
            attributes[index]["name"] = f"a{index}_{self.version}"
            if change == "rename":
                attributes[index]["renamed_from"] = self.names[index]
        self.names = [each["name"] for each in attributes]
        return self.name, self.version, json.dumps(attributes)


@dataclass
class Matrix:
    """One database with a matrix of one size, and its measurements."""

    exponent: int
    connection: psycopg.Connection
    schemas: list[Schema] = field(default_factory=list)
    rng: random.Random = field(default_factory=lambda: random.Random(4))  # noqa: S311
    figures: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    compaction: float = 0.0
    copy_ratio: float = 0.0

    @property
    def title(self) -> str:
        return f"10^{self.exponent}"

    def ask(self, query: str, arguments: Sequence[object] = ()) -> Any:
        """The one value that a query returns."""
        row = self.connection.execute(query.encode(), arguments).fetchone()
        assert row is not None
        return row[0]

    def measure(self, what: str, query: str, arguments: Sequence[object] = (), prepare: bool | None = None) -> None:
        duration = timed(lambda: self.connection.execute(query.encode(), arguments, prepare=prepare).fetchall())
        self.seconds.setdefault(what, []).append(duration)

    def median(self, what: str) -> float:
        return statistics.median(self.seconds[what])


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def attributes_of(names: Iterable[str]) -> Attributes:
    return [{"name": name, "type": TYPES[index % len(TYPES)]} for index, name in enumerate(names)]


def entity_attributes(count: int = ATTRIBUTES) -> str:
    return json.dumps(attributes_of(f"c{index}" for index in range(count)))


def mapping(names: Sequence[str], mapped: int = MAPPED) -> str:
    return json.dumps({f"c{index}": names[index] for index in range(mapped)})


def load(matrix: Matrix) -> None:
    matrix.connection.execute("set synchronous_commit = off")
    public = timed(lambda: load_originals(matrix))
    copies = SCHEMAS[matrix.exponent] // ORIGINALS - 1
    copied = timed(lambda: load_copies(matrix, copies)) if copies else 0.0
    calls = ENTITIES + ORIGINALS * (VERSIONS + 1)
    matrix.figures["load"] = f"{public + copied:.1f} s"
    matrix.figures["… through the functions"] = f"{calls / public:.0f} calls/s"
    matrix.connection.execute("vacuum analyze")
    matrix.connection.execute("set synchronous_commit = on")
    violations = matrix.connection.execute("select * from metl.check()").fetchall()
    assert violations == [], violations


def load_originals(matrix: Matrix) -> None:
    for number in range(ENTITIES):
        matrix.ask("select metl.add_entity_version(%s, 1, %s)", (f"be{number}", entity_attributes()))
    for number in range(ORIGINALS):
        schema = Schema(f"s{number}", f"be{number % ENTITIES}", [f"a{index}" for index in range(ATTRIBUTES)])
        matrix.schemas.append(schema)
        add(matrix, schema, "keep")
        matrix.ask("select metl.set_block(%s, 1, %s, 1, %s)", (schema.name, schema.entity, mapping(schema.names)))
        for _ in range(VERSIONS - 1):
            changes = matrix.rng.random() < CHANGED_VERSIONS
            add(matrix, schema, matrix.rng.choice(("rename", "drop")) if changes else "keep")
        if number == ORIGINALS // 10:
            # As autovacuum would have done by now.
            matrix.connection.execute("analyze")


def add(matrix: Matrix, schema: Schema, change: str) -> None:
    matrix.ask("select metl.add_schema_version(%s, %s, %s)", schema.next_version(change, matrix.rng))


def load_copies(matrix: Matrix, copies: int) -> None:
    """The same rows again under other ids and names, as the functions would have written them one by one.

    One by one, 10^9 elements would take many minutes; metl.check() verifies the copies afterwards.
    """
    offsets = {
        "states": matrix.ask("select max(state) from metl.state") - ENTITIES,
        "schemas": matrix.ask("select max(schema_id) from metl.schema"),
        "attributes": matrix.ask("select max(attribute_id) from metl.attribute"),
        "blocks": matrix.ask("select max(block_id) from metl.block"),
    }
    copy = COPY.format(**offsets, copies=copies, originals=ORIGINALS, entities=ENTITIES)
    with matrix.connection.transaction():
        matrix.connection.execute(copy.encode())
    originals = list(matrix.schemas)
    for number in range(ORIGINALS, ORIGINALS * (copies + 1)):
        original = originals[number % ORIGINALS]
        matrix.schemas.append(Schema(f"s{number}", original.entity, list(original.names), list(original.live)))


# The ids of a copy are those of its original plus a multiple of the highest original id.
COPY = """
create temporary view copy as select copy from generate_series(1, {copies}) as copy;

insert into metl.state (state, cause, summary)
select state + copy * {states}, cause, summary from metl.state cross join copy where state > {entities};

insert into metl.schema (schema_id, name) overriding system value
select schema_id + copy * {schemas}, 's' || substr(name, 2)::int + copy * {originals} from metl.schema cross join copy;

insert into metl.schema_version (schema_id, version, added)
select schema_id + copy * {schemas}, version, added + copy * {states} from metl.schema_version cross join copy;

insert into metl.attribute (attribute_id, schema_id, type) overriding system value
select attribute_id + copy * {attributes}, schema_id + copy * {schemas}, type from metl.attribute cross join copy;

insert into metl.attribute_version
    (attribute_id, version, schema_id, name, position, source_type, optional, description, renamed_from)
select
    attribute_id + copy * {attributes}, version, schema_id + copy * {schemas},
    name, position, source_type, optional, description, renamed_from
from metl.attribute_version cross join copy;

-- Without the constraint triggers; metl.check() checks the whole matrix afterwards.
alter table metl.block disable trigger user;
alter table metl.cell disable trigger user;
insert into metl.block (block_id, schema_id, version, entity_id, entity_version, since) overriding system value
select
    block_id + copy * {blocks}, schema_id + copy * {schemas}, version, entity_id, entity_version,
    since + copy * {states}
from metl.block cross join copy;
insert into metl.cell (block_id, attribute_id, entity_attribute_id)
select block_id + copy * {blocks}, attribute_id + copy * {attributes}, entity_attribute_id
from metl.cell cross join copy;

insert into metl.notice (state, kind, schema, version, entity, entity_version, lost, confirmed_at)
select
    state + copy * {states}, kind, 's' || substr(schema, 2)::int + copy * {originals}, version, entity, entity_version,
    lost, confirmed_at
from metl.notice cross join copy;

alter table metl.block enable trigger user;
alter table metl.cell enable trigger user;
update metl.clock set state = (select max(state) from metl.state);
select setval(pg_get_serial_sequence('metl.schema', 'schema_id'), max(schema_id)) from metl.schema;
select setval(pg_get_serial_sequence('metl.attribute', 'attribute_id'), max(attribute_id)) from metl.attribute;
select setval(pg_get_serial_sequence('metl.block', 'block_id'), max(block_id)) from metl.block;
"""
