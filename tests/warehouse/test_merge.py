"""Whatever comes twice, late or in another order, the table is the one that the history of the rows defines."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.conninfo import make_conninfo

from tests.conftest import scratch_database
from tests.warehouse.staging import Staged, merge, start, table

SOURCES = ("shop.a", "shop.b")
# Only there to make the table larger.
OTHERS = "shop.others"
# What each version of each source brings.
BLOCKS = {1: ("x", "y", "z"), 2: ("x", "y"), 3: ("z",)}
ALL = ("x", "y", "z")


@pytest.fixture(scope="module")
def connection(postgres: str, template: str) -> Iterator[psycopg.Connection]:
    with (
        scratch_database(postgres, template) as name,
        psycopg.connect(make_conninfo(postgres, dbname=name), autocommit=True) as connection,
    ):
        typed = json.dumps([{"name": name, "type": "integer"} for name in ALL])
        connection.execute("select metl.add_entity_version('thing', 1, %s)", [typed])
        for source in SOURCES:
            for version, block in BLOCKS.items():
                connection.execute("select metl.add_schema_version(%s, %s, %s)", [source, version, typed])
                mapping = json.dumps({name: name for name in block})
                connection.execute("select metl.set_block(%s, %s, 'thing', 1, %s)", [source, version, mapping])
        start(connection)
        yield connection


@dataclass
class Row:
    """As the model has it: the value of each column and the offset that wrote it."""

    partition: int
    offset: int = -1
    at: int | None = 0
    deleted: bool = True
    version: int | None = None
    values: dict[str, int | None] = field(default_factory=lambda: dict.fromkeys(ALL))
    written: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ALL, -1))

    def take(self, record: Staged) -> None:
        brought = ALL if record.op in "cd" else [n for n in BLOCKS[record.version or 1] if n not in record.unavailable]
        for name in brought:
            self.values[name] = (record.after or {}).get(name)
            self.written[name] = record.offset
        self.offset, self.at, self.version = record.offset, record.at, record.version
        self.deleted = record.op == "d"

    def empty(self) -> None:
        self.deleted = True
        self.values = dict.fromkeys(ALL)
        self.written = dict.fromkeys(ALL, self.offset)

    def cells(self, source: str, key: str, state: int) -> tuple[str | None, ...]:
        kept = {name: [at, state if at >= 0 else 0] for name, at in self.written.items() if at != self.offset}
        said = (
            source, json.dumps(json.loads(key)), self.partition, self.offset, self.at, str(self.deleted).lower(), state,
            source if self.version else None, self.version,
            json.dumps(dict(sorted(kept.items()))) if kept else None, *(self.values[name] for name in ALL),
        )  # fmt: skip
        return tuple(None if each is None else str(each) for each in said)


@dataclass
class History:
    records: list[Staged]
    rows: dict[tuple[str, str], Row]
    state: int

    def expected(self) -> list[tuple[str | None, ...]]:
        return [row.cells(*at, self.state) for at, row in sorted(self.rows.items())]


@st.composite
def histories(draw: st.DrawFn, state: int) -> History:
    """What can happen to a few rows: they are created, changed, deleted, created again, and truncated now and then."""
    rows: dict[tuple[str, str], Row] = {}
    records: list[Staged] = []
    offsets: dict[tuple[str, int], int] = {}
    for at in range(1, draw(st.integers(1, 25)) + 1):
        source, number = draw(st.sampled_from(SOURCES)), draw(st.integers(1, 3))
        partition, key = number % 2, f'{{"id":{number}}}'
        offset = offsets[source, partition] = offsets.get((source, partition), -1) + draw(st.integers(1, 3))
        row = rows.get((source, key))
        alive = row is not None and not row.deleted
        version = draw(st.sampled_from(list(BLOCKS)))
        op = draw(st.sampled_from(["u", "u", "r", "d", "d", "t"] if alive else ["c"]))
        after = {name: at for name in BLOCKS[version] if draw(st.booleans())} if op in "cru" else None
        lost = [name for name in BLOCKS[version] if name not in (after or {})] if op == "u" else []
        unavailable = tuple(draw(st.lists(st.sampled_from(lost), unique=True))) if lost else ()
        tombstone = op == "d" and draw(st.booleans())
        record = Staged(
            "thing", source, None if op == "t" else key, partition, offset, at, op, after, state,
            None if tombstone else version, unavailable,
        )  # fmt: skip
        if op == "t":
            record = Staged("thing", source, "null", partition, offset, at, op, None, state, version)
            for (where, _), each in rows.items():
                if where == source and not each.deleted:
                    each.empty()
        else:
            rows.setdefault((source, key), Row(partition)).take(record)
        records.append(record)
    return History(records, rows, state)


@pytest.fixture(scope="module")
def state(connection: psycopg.Connection) -> int:
    [(state,)] = connection.execute("select metl.current_state()").fetchall()
    return int(state)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_order_any_batches(connection: psycopg.Connection, state: int, data: st.DataObject) -> None:
    history = data.draw(histories(state))
    again = data.draw(st.lists(st.sampled_from(history.records), max_size=10))
    order = data.draw(st.permutations(history.records + again))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(order)), max_size=4)))
    with connection.transaction(force_rollback=True):
        if data.draw(st.booleans(), label="the table is much larger than a batch"):
            merge(connection, (replace(one(state, at, key=f'{{"id":{at}}}'), source=OTHERS) for at in range(500)))
        for begin, end in zip([0, *cuts], [*cuts, len(order)], strict=True):
            assert merge(connection, order[begin:end]) == 0
        assert rows(connection) == history.expected()
        merge(connection, history.records)
        assert rows(connection) == history.expected()


def rows(connection: psycopg.Connection) -> list[tuple[str | None, ...]]:
    return [row for row in table(connection, "thing") if row[0] != OTHERS]


def one(state: int, offset: int, op: str = "c", key: str = '{"id":1}', **more: Any) -> Staged:
    after = more.pop("after", {"x": 1, "y": 2, "z": 3})
    return Staged("thing", "shop.a", key, 0, offset, offset, op, after, state, **more)


def test_what_does_not_fit_is_rejected_and_the_rest_goes_on(connection: psycopg.Connection, state: int) -> None:
    batch = [
        one(state, 1),
        one(state, 2, "u", after={"x": 5, "y": 6, "z": "a lot"}),
        one(state, 3, key='{"id":2}', after={"x": "9223372036854775808"}),
        one(state, 4, key='{"id":3}', after={"x": "1.5"}),
        one(state, 5, key='{"id":4}', after={"x": 1e3}),
        one(state, 6, "u", key="null"),
        one(state, 7, "x", key='{"id":5}'),
    ]
    with connection.transaction(force_rollback=True):
        assert merge(connection, batch) == 5
        rows = connection.execute("select _key ->> 'id', x, y from warehouse.thing order by 1").fetchall()
        # The row stays as it was before what was rejected.
        assert rows == [("1", 1, 2), ("4", 1000, None)]
        reasons = connection.execute('select "offset", reason from warehouse._rejected order by 1').fetchall()
        assert [offset for offset, _ in reasons] == [2, 3, 4, 6, 7]
        assert "a lot" in reasons[0][1]
        before = table(connection, "thing"), table_of_rejected(connection)
        merge(connection, batch)
        assert (table(connection, "thing"), table_of_rejected(connection)) == before


@pytest.mark.parametrize("name", ["partition", "offset", "at", "state", "version"])
@pytest.mark.parametrize("number", ["", "-", "1-2", "9" * 20, "one", "1.0"])
def test_a_number_that_is_none_is_rejected_and_stops_nobody(
    connection: psycopg.Connection, state: int, name: str, number: str
) -> None:
    """Headers are what anybody who may write to the topic says."""
    wrong: dict[str, Any] = {name: number}
    with connection.transaction(force_rollback=True):
        batch = [replace(one(state, 1), **wrong), one(state, 2, key='{"id":2}')]
        assert merge(connection, batch) == 1
        assert connection.execute("select _key ->> 'id' from warehouse.thing").fetchall() == [("2",)]
        assert connection.execute("select reason from warehouse._rejected").fetchall() == [("It has no position.",)]


def table_of_rejected(connection: psycopg.Connection) -> list[tuple[Any, ...]]:
    return connection.execute('select * from warehouse._rejected order by "offset"').fetchall()


@pytest.mark.parametrize("place", [0, 4, 8])
@pytest.mark.parametrize(
    "odd",
    [{"key": '{"id":0}'}, {"key": '{"id":0}', "offset": 1}, {"key": '{ "id": 1 }'}, {"key": '{"id":1}'},
     {"after": {"x": "much"}}],
    ids=["there, older", "there, newer", "twice, spelt otherwise", "twice", "does not fit"],
)  # fmt: skip
def test_new_rows_beside_one_that_is_not(
    connection: psycopg.Connection, state: int, place: int, odd: dict[str, Any]
) -> None:
    """As one batch and one by one they are the same table."""
    new = [one(state, 10 + number, key=f'{{"id":{number}}}') for number in range(1, 9)]
    batch = [*new[:place], one(state, **{"offset": 20, "key": '{"id":9}', **odd}), *new[place:]]
    tables = []
    for parts in ([batch], [[record] for record in batch]):
        with connection.transaction(force_rollback=True):
            merge(connection, [one(state, 5, key='{"id":0}', after={"x": 0})])
            rejected = sum(merge(connection, part) for part in parts)
            tables.append((rejected, table(connection, "thing"), table_of_rejected(connection)))
    assert tables[0] == tables[1]
    assert len(tables[0][1]) == 9


def test_records_without_a_key_are_rows_of_their_own(connection: psycopg.Connection, state: int) -> None:
    with connection.transaction(force_rollback=True):
        batch = [one(state, 1, key="null"), one(state, 2, key="null"), one(state, 2, key="null")]
        assert merge(connection, batch) == 0
        assert connection.execute("select _offset from warehouse.thing order by 1").fetchall() == [(1,), (2,)]


def test_a_message_that_is_mapped_anew_replaces_what_it_brought(connection: psycopg.Connection, state: int) -> None:
    """By a later state, which no longer maps z."""
    with connection.transaction(force_rollback=True):
        merge(connection, [one(state, 1)])
        connection.execute("select metl.set_block('shop.a', 1, 'thing', 1, '{\"x\": \"x\"}')")
        merge(connection, [one(state + 1, 1, after={"x": 7})])
        assert connection.execute("select x, y, z from warehouse.thing").fetchall() == [(7, None, None)]
        merge(connection, [one(state, 1)])
        assert connection.execute("select x, y, z from warehouse.thing").fetchall() == [(7, None, None)]


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_deleted_row_that_was_in_another_partition(connection: psycopg.Connection, state: int, cut: int) -> None:
    """As after an initial load by SQL: what tells of the deletion is a delete and a tombstone, in whichever batches."""
    records = [
        replace(one(state, 0, "r"), partition=-1, at=50),
        replace(one(state, 10, "d", after=None), at=60),
        replace(one(state, 11, "d", after=None, version=None), at=61),
    ]
    with connection.transaction(force_rollback=True):
        merge(connection, records[:cut])
        merge(connection, records[cut:] or records)
        query = "select _partition, _offset, _at, _deleted from warehouse.thing"
        assert connection.execute(query).fetchall() == [(0, 11, 61, True)]


def test_a_tombstone_without_a_time_leaves_it_to_the_delete_before_it(
    connection: psycopg.Connection, state: int
) -> None:
    with connection.transaction(force_rollback=True):
        merge(connection, [replace(one(state, 0, "r"), partition=-1, at=50)])
        deleted = one(state, 10, "d", after=None)
        merge(connection, [replace(deleted, at=60), replace(deleted, offset=11, at=None, version=None)])
        assert connection.execute("select _deleted from warehouse.thing").fetchall() == [(True,)]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_a_record_that_was_mapped_again_is_not_whole_any_more(
    connection: psycopg.Connection, state: int, order: tuple[int, ...]
) -> None:
    """What z was first mapped from is in every message, what it is mapped from now is not in the newest one."""
    with connection.transaction(force_rollback=True):
        for mapping in ({"x": "x", "y": "z", "z": "y"}, {"x": "x", "y": "y", "z": "z"}):
            connection.execute("select metl.set_block('shop.a', 1, 'thing', 1, %s)", [json.dumps(mapping)])
        records = [
            one(state + 1, 3, "c", after={"x": 1, "y": 7, "z": 4}),
            one(state + 1, 5, "u", after={"x": 2, "y": None, "z": 5}),
            one(state + 2, 3, "c", after={"x": 1, "y": 4, "z": 7}),
            one(state + 2, 5, "u", after={"x": 2, "y": 5}, unavailable=("z",)),
        ]
        merge(connection, [records[place] for place in order])
        assert connection.execute("select x, y, z from warehouse.thing").fetchall() == [(2, 5, 7)]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_a_column_that_nothing_maps_any_more_is_empty(
    connection: psycopg.Connection, state: int, order: tuple[int, ...]
) -> None:
    """The update was mapped again since."""
    with connection.transaction(force_rollback=True):
        for version, mapping in ((1, {"x": "x", "y": "y"}), (3, {"x": "x"})):
            connection.execute("select metl.set_block('shop.a', %s, 'thing', 1, %s)", [version, json.dumps(mapping)])
        records = [
            one(state, 1),
            one(state, 2, "u", after={"x": 2, "y": 3, "z": 4}),
            one(state + 2, 2, "u", after={"x": 2, "y": 3}),
        ]
        for place in order:
            merge(connection, [records[place]])
        assert connection.execute("select x, y, z from warehouse.thing").fetchall() == [(2, 3, None)]


def test_a_batch_that_is_gone_does_not_count_as_merged(connection: psycopg.Connection) -> None:
    """As after a crash of the server, which empties its unlogged tables."""
    with connection.transaction(force_rollback=True):
        connection.execute("select metl.open_warehouse('warehouse')")
        with pytest.raises(psycopg.Error, match="no records of entity thing in the batch of job warehouse"):
            connection.execute("select metl.merge_warehouse('warehouse', 'thing')")


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 0, 1), (2, 1, 0)])
def test_a_value_that_is_mapped_late_finds_its_place(
    connection: psycopg.Connection, state: int, order: tuple[int, ...]
) -> None:
    """The newest record left it out, and the one before it was mapped first when nobody knew of z."""
    with connection.transaction(force_rollback=True):
        connection.execute("select metl.set_block('shop.a', 1, 'thing', 1, '{\"x\": \"x\"}')")
        connection.execute('select metl.set_block(\'shop.a\', 1, \'thing\', 1, \'{"x": "x", "z": "z"}\')')
        records = [
            one(state + 1, 1, "r", after={"x": 1}),
            one(state + 2, 2, "u", after={"x": 2}, unavailable=("z",)),
            one(state + 2, 1, "r", after={"x": 1, "z": 3}),
        ]
        for place in order:
            merge(connection, [records[place]])
        assert connection.execute("select x, z from warehouse.thing").fetchall() == [(2, 3)]
