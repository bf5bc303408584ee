"""Eight writers and two readers at once: they take turns, no number is missing, nobody sees half a state."""

import hashlib
import itertools
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from psycopg import IsolationLevel, errors, sql
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb

from tests.conftest import scratch_database

WRITERS = 8
SECONDS = float(os.environ.get("METL_CONCURRENCY_SECONDS", "15"))

#: What a writer may be told when another was faster. A deadlock or a serialization failure is nothing
#: that a user could have avoided, and so is not among them.
BEATEN_TO_IT = (
    errors.UndefinedObject,
    errors.DuplicateObject,
    errors.ObjectNotInPrerequisiteState,
    errors.InvalidParameterValue,
)

SCHEMAS = ["orders", "customers", "invoices", "payments"]
ENTITIES = ["order", "customer", "payment"]
ATTRIBUTES = [f"a{number}" for number in range(1, 11)]
#: The writing functions and how often each is called.
KINDS = {
    "add_schema_version": 30,
    "delete_schema_version": 18,
    "add_entity_version": 8,
    "delete_entity_version": 4,
    "set_block": 30,
    "set_run": 8,
    "set_blocks": 12,
}


@dataclass(frozen=True)
class Call:
    function: str
    arguments: tuple[Any, ...]

    def __call__(self, connection: psycopg.Connection) -> int:
        """Calls it and returns the new state."""
        query = sql.SQL("select metl.{}({})").format(
            sql.Identifier(self.function), sql.SQL(", ").join([sql.Placeholder()] * len(self.arguments))
        )
        given = [Jsonb(each) if isinstance(each, dict | list) else each for each in self.arguments]
        return int(one(connection.execute(query, given))[0])


@dataclass
class Traffic:
    """Calls that make sense in the matrix as it is now, though perhaps no more when they get their turn."""

    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    #: Numbers that were passed over: versions that will come late.
    late: list[int] = field(default_factory=list)

    def call(self, connection: psycopg.Connection, rng: random.Random) -> Call:
        schemas = live(connection, "schema")
        entities = live(connection, "entity")
        [kind] = rng.choices(list(KINDS), list(KINDS.values()))
        if kind == "delete_schema_version":
            # Few enough versions live at a time that writers get in each other's way.
            crowded = [
                (schema, version) for schema in schemas for version in schemas[schema] if len(schemas[schema]) > 4
            ]
            if crowded:
                return Call(kind, rng.choice(crowded))
        elif kind == "delete_entity_version" and entities:
            entity = rng.choice(list(entities))
            return Call(kind, (entity, max(entities[entity])))
        elif kind == "add_entity_version" or len(entities) < len(ENTITIES):
            return self._elevation(rng, entities)
        elif kind.startswith("set_") and schemas:
            blocks = [self._block(rng, schemas, entities) for _ in range(rng.randint(2, 6))]
            if kind != "set_blocks":
                return Call(kind, blocks[0])
            names = ("schema", "version", "entity", "entity_version")
            distinct = {block[:4]: block[4] for block in blocks}
            return Call(
                kind, ([{**dict(zip(names, which, strict=True)), "mapping": distinct[which]} for which in distinct],)
            )
        return self._version(rng, schemas)

    def _version(self, rng: random.Random, schemas: dict[str, dict[int, list[str]]]) -> Call:
        schema = rng.choice(SCHEMAS)
        if schema in schemas and rng.random() < 0.05:
            version = rng.choice(list(schemas[schema]))
        elif self.late and rng.random() < 0.3:
            version = self.late.pop(0)
        else:
            if rng.random() < 0.3:
                self.late.append(next(self.numbers))
            version = next(self.numbers)
        return Call("add_schema_version", (schema, version, some_attributes(rng)))

    def _elevation(self, rng: random.Random, entities: dict[str, dict[int, list[str]]]) -> Call:
        missing = [entity for entity in ENTITIES if entity not in entities]
        entity = rng.choice(missing or ENTITIES)
        return Call("add_entity_version", (entity, next(self.numbers), some_attributes(rng)))

    def _block(
        self, rng: random.Random, schemas: dict[str, dict[int, list[str]]], entities: dict[str, dict[int, list[str]]]
    ) -> tuple[str, int, str, int, dict[str, str]]:
        schema, entity = rng.choice(list(schemas)), rng.choice(list(entities))
        version, entity_version = rng.choice(list(schemas[schema])), max(entities[entity])
        sources, targets = schemas[schema][version], entities[entity][entity_version]
        size = rng.randint(0, min(len(sources), len(targets)))
        pairs = zip(rng.sample(targets, size), rng.sample(sources, size), strict=True)
        return schema, version, entity, entity_version, dict(pairs)


def some_attributes(rng: random.Random) -> list[dict[str, str]]:
    chosen = rng.sample(ATTRIBUTES, rng.randint(5, 8))
    attributes = [{"name": name, "type": "int64" if rng.random() < 0.95 else "string"} for name in chosen]
    if rng.random() < 0.3:
        attributes[0]["renamed_from"] = rng.choice([name for name in ATTRIBUTES if name not in chosen])
    return attributes


def live(connection: psycopg.Connection, kind: str) -> dict[str, dict[int, list[str]]]:
    """The live versions of all schemas or entities, with the names of their attributes."""
    columns = {
        "schema": "select schema, version, attribute from metl.schema_attributes where is_live",
        "entity": "select entity, entity_version, entity_attribute from metl.entity_attributes where is_live",
    }
    found: dict[str, dict[int, list[str]]] = {}
    for name, version, attribute in connection.execute(columns[kind].encode()):
        found.setdefault(name, {}).setdefault(version, []).append(attribute)
    return found


def one(cursor: psycopg.Cursor) -> tuple[Any, ...]:
    row = cursor.fetchone()
    assert row is not None
    return row


def rows(connection: psycopg.Connection, query: str, *arguments: Any) -> list[tuple[Any, ...]]:
    """In an order that does not depend on how they are stored."""
    return sorted(connection.execute(query.encode(), arguments), key=repr)


def fingerprint(connection: psycopg.Connection, query: str = "select * from metl.decompaction", *arguments: Any) -> str:
    return hashlib.sha256(repr(rows(connection, query, *arguments)).encode()).hexdigest()


@dataclass
class Run:
    """What many sessions did to one database, and saw in it."""

    dsn: str
    traffic: Traffic = field(default_factory=Traffic)
    over: threading.Event = field(default_factory=threading.Event)
    #: Every committed call by the state that it returned; no state is returned twice.
    history: list[tuple[int, Call]] = field(default_factory=list)
    seen: list[tuple[int, str]] = field(default_factory=list)
    beaten: int = 0

    def write(self, seed: int) -> None:
        rng = random.Random(seed)
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            while not self.over.is_set():
                time.sleep(rng.uniform(0, 0.05))
                try:
                    self.history += (
                        self._transact(connection, rng) if rng.random() < 0.4 else self._call(connection, rng)
                    )
                except BEATEN_TO_IT:
                    self.beaten += 1

    def _call(self, connection: psycopg.Connection, rng: random.Random) -> list[tuple[int, Call]]:
        call = self.traffic.call(connection, rng)
        return [(call(connection), call)]

    def _transact(self, connection: psycopg.Connection, rng: random.Random) -> list[tuple[int, Call]]:
        """Several calls that count together, or not at all; the numbers of what is undone go to others."""
        done: list[tuple[int, Call]] = []
        with connection.transaction():
            for _ in range(rng.randint(1, 4)):
                done += self._call(connection, rng)
                time.sleep(rng.uniform(0, 0.01))
                if rng.random() < 0.3:
                    with connection.transaction():
                        self._call(connection, rng)
                        raise psycopg.Rollback
            if rng.random() < 0.3:
                done.clear()
                raise psycopg.Rollback
        return done

    def read_in_a_transaction(self) -> None:
        with psycopg.connect(self.dsn) as connection:
            connection.isolation_level = IsolationLevel.REPEATABLE_READ
            while not self.over.wait(0.08):
                with connection.transaction():
                    state = one(connection.execute("select metl.current_state()"))[0]
                    # Time for others to write, which must not show.
                    time.sleep(0.02)
                    self.seen.append((state, fingerprint(connection)))

    def read_in_a_statement(self) -> None:
        """At the default isolation, one statement sees one state."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            while not self.over.wait(0.1):
                found = connection.execute(
                    "select clock.state, one.* from (select metl.current_state() as state) as clock "
                    "left join metl.decompaction as one on true"
                ).fetchall()
                ones = sorted((row[1:] for row in found if row[1] is not None), key=repr)
                self.seen.append((found[0][0], hashlib.sha256(repr(ones).encode()).hexdigest()))

    def work(self, seconds: float) -> None:
        jobs: list[Callable[[], None]] = [self.read_in_a_transaction, self.read_in_a_statement]
        jobs += [lambda seed=seed: self.write(seed) for seed in range(WRITERS)]  # type: ignore[misc]
        with ThreadPoolExecutor(len(jobs)) as pool:
            futures = [pool.submit(job) for job in jobs]
            for future in futures:
                future.add_done_callback(self._stop_if_failed)
            self.over.wait(seconds)
            self.over.set()
        for future in futures:
            future.result()
        self.history.sort(key=lambda entry: entry[0])

    def _stop_if_failed(self, future: Future[None]) -> None:
        if future.exception() is not None:
            self.over.set()


@pytest.mark.timeout(120 + 4 * SECONDS)
def test_many_writers_and_readers_at_once(database: str, postgres: str, template: str) -> None:
    run = Run(database)
    run.work(SECONDS)

    # The test would be worth little if they had not met.
    assert len({call.function for _, call in run.history}) > len(KINDS) / 2, "the traffic was mixed"
    assert run.beaten < len(run.history)
    states = [state for state, _ in run.history]
    with psycopg.connect(database, autocommit=True) as connection:
        assert states == list(range(1, len(states) + 1)), "no gaps, and nothing of what was rolled back"
        assert [row[0] for row in connection.execute("select state from metl.states order by state")] == states
        assert one(connection.execute("select metl.current_state()"))[0] == states[-1]
        assert connection.execute("select * from metl.check()").fetchall() == []

        seen = dict(run.seen)
        assert len(seen) > SECONDS, "readers saw many states"
        assert len(set(run.seen)) == len(seen), "whoever saw a state saw the same"
        remembered = {
            state: fingerprint(connection, "select * from metl.decompaction_at(%s)", state) for state in sorted(seen)
        }
        assert seen == remembered

        with scratch_database(postgres, template) as name:
            replay(make_conninfo(postgres, dbname=name), run.history, seen)
            with psycopg.connect(postgres, dbname=name) as second:
                for query in (
                    "select * from metl.decompaction",
                    "select * from metl.dusb",
                    "select state, kind, schema, version, entity, entity_version, lost from metl.notices",
                    "select state, cause, summary from metl.states",
                ):
                    assert rows(connection, query) == rows(second, query)


def replay(dsn: str, history: list[tuple[int, Call]], seen: dict[int, str]) -> None:
    """The same calls one after the other give the same states, with what the readers saw in them."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("set synchronous_commit = off")
        for state, call in history:
            assert call(connection) == state
            if state in seen:
                assert fingerprint(connection) == seen[state], f"after {call}, state {state}"


@pytest.fixture
def two(database: str) -> Iterator[tuple[psycopg.Connection, psycopg.Connection]]:
    with psycopg.connect(database, autocommit=True) as first, psycopg.connect(database, autocommit=True) as second:
        yield first, second


def wait_until_blocked(connection: psycopg.Connection) -> None:
    """By another connection, since the blocked one cannot tell."""
    pid = connection.info.backend_pid
    with psycopg.connect(connection.info.dsn, password=connection.info.password, autocommit=True) as observer:
        end = time.monotonic() + 10
        while not one(observer.execute("select pg_blocking_pids(%s)", [pid]))[0]:
            assert time.monotonic() < end, "nothing blocked it"
            time.sleep(0.01)


ADD = Call("add_schema_version", ("orders", 1, [{"name": "a", "type": "int32"}, {"name": "b", "type": "int32"}]))


def test_the_slower_of_two_is_told_what_the_faster_one_did(
    two: tuple[psycopg.Connection, psycopg.Connection],
) -> None:
    first, second = two
    with ThreadPoolExecutor(1) as pool:
        with first.transaction():
            assert ADD(first) == 1
            slower = pool.submit(ADD, second)
            wait_until_blocked(second)
        with pytest.raises(errors.DuplicateObject, match="exists already, since state 1"):
            slower.result()


def test_the_number_of_a_write_that_was_undone_goes_to_the_next(
    two: tuple[psycopg.Connection, psycopg.Connection],
) -> None:
    first, second = two
    with ThreadPoolExecutor(1) as pool:
        with first.transaction():
            assert ADD(first) == 1
            slower = pool.submit(ADD, second)
            wait_until_blocked(second)
            raise psycopg.Rollback
        assert slower.result() == 1


SHRUNK = Call("confirm_notices", (4,))
VANISHED = Call("confirm_notices", (5,))
SET_BLOCK = Call("set_block", ("orders", 1, "order", 1, {"c": "b"}))


@pytest.mark.parametrize(
    "calls",
    [(SHRUNK, VANISHED), (SHRUNK, SET_BLOCK)],
    ids=lambda calls: " and ".join(call.function for call in calls),
)
def test_opposite_orders_do_not_end_in_a_deadlock(
    two: tuple[psycopg.Connection, psycopg.Connection], calls: tuple[Call, Call]
) -> None:
    first, second = two
    ADD(first)
    Call("add_entity_version", ("order", 1, [{"name": "c", "type": "int32"}, {"name": "d", "type": "int32"}]))(first)
    Call("set_block", ("orders", 1, "order", 1, {"c": "a", "d": "b"}))(first)
    assert Call("add_schema_version", ("orders", 2, [{"name": "a", "type": "int32"}]))(first) == 4
    assert Call("add_schema_version", ("orders", 3, [{"name": "b", "type": "int32"}]))(first) == 5

    def backwards() -> None:
        with second.transaction():
            for call in reversed(calls):
                call(second)

    with ThreadPoolExecutor(1) as pool:
        with first.transaction():
            calls[0](first)
            other = pool.submit(backwards)
            wait_until_blocked(second)
            calls[1](first)
        other.result()
