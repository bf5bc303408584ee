"""What is to be mapped again: only messages of versions whose column set is not the one that they were mapped with."""

import uuid
from typing import Any

import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from tests.matrix.refusal import Connection

TOPIC = "outdated.customer"
INSTANCE = uuid.UUID(int=1)
NAMES = ("id", "name", "city")
STATE = "select metl.current_state()"


class Shop:
    """A table whose messages name their version by a global id, the version's own number, and one job that maps it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._batches = 0
        attributes = Jsonb([{"name": name, "type": "string"} for name in ("number", "label", "town")])
        connection.execute("select metl.add_entity_version('buyer', 1, %s)", [attributes])
        connection.execute("select metl.start_job('map', '/outdated', %s)", [INSTANCE])

    @property
    def state(self) -> int:
        [(state,)] = self._connection.execute(STATE).fetchall()
        return int(state)

    def version(self, number: int, *names: str, **refs: object) -> None:
        attributes = Jsonb([{"name": name, "type": "string"} for name in names or NAMES])
        given = Jsonb(refs or {"global_id": number})
        self._connection.execute("select metl.add_schema_version(%s, %s, %s, %s)", [TOPIC, number, attributes, given])

    def map(self, version: int, **mapping: str) -> None:
        call = "select metl.set_block(%s, %s, 'buyer', 1, %s)"
        self._connection.execute(call, [TOPIC, version, Jsonb(mapping)])

    def read(self, first: int, end: int, **changes: object) -> int:
        """A batch, under the state that there is then."""
        progress = {
            "state": self.state, "began_at": "2026-01-01T12:00Z", "ended_at": "2026-01-01T12:01Z",
            "rows_in": end - first, "rows_out": 0, "rows_filtered": 0, "positions": {TOPIC: {"0": [first, end]}},
        } | changes  # fmt: skip
        call = "select metl.record_batch('map', %s, %s, %s)"
        self._connection.execute(call, [INSTANCE, self._batches, Jsonb(progress)])
        self._batches += 1
        return self.state

    def outdated(self, since: int) -> list[dict[str, Any]]:
        with self._connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute("select * from metl.outdated(%s)", [since]).fetchall()

    def ranges(self, since: int) -> list[tuple[int, int, list[int], list[int]]]:
        return [
            (each["first_offset"], each["next_offset"], each["versions"], each["other_versions"])
            for each in self.outdated(since)
        ]


@pytest.fixture
def shop(connection: Connection) -> Shop:
    made = Shop(connection)
    made.version(1)
    made.map(1, number="id", label="name")
    return made


def test_an_added_version_that_lost_nothing_leaves_nothing_to_map_again(shop: Shop) -> None:
    """Also with a gap, and with first messages of the version that were dead letters until it was known."""
    before = shop.state
    shop.read(0, 100)
    shop.read(100, 120, dead={"unknown_version": 20})
    shop.version(2, *NAMES, "phone")
    assert shop.state > before
    shop.read(130, 200)
    assert shop.outdated(before) == []


def test_a_version_that_lost_a_cell_changes_nothing_for_the_earlier_ones(shop: Shop) -> None:
    before = shop.state
    shop.read(0, 100)
    shop.version(2, "id", "city")
    shop.read(100, 200)
    assert shop.outdated(before) == []


def test_cells_that_are_added_to_a_version_name_it_and_the_states_that_had_the_old_ones(shop: Shop) -> None:
    first = shop.read(0, 100)
    shop.version(2)
    second = shop.read(100, 200)
    shop.map(2, number="id", label="name", town="city")
    shop.read(200, 300)
    [found] = shop.outdated(second)
    assert found == {
        "topic": TOPIC, "partition": 0, "first_offset": 100, "next_offset": 200, "schema": TOPIC, "states": [second],
        "versions": [2], "other_versions": [1],
    }  # fmt: skip
    shop.map(1, number="id")
    assert shop.ranges(second) == [(0, 100, [1], [2]), (100, 300, [1, 2], [])]
    assert {tuple(each["states"]) for each in shop.outdated(second)} == {(first, second, second + 1)}


def test_versions_that_feed_what_another_one_fed_are_mapped_again_as_well(shop: Shop) -> None:
    """Tables take from older records what a newer one does not bring any more."""
    shop.version(2)
    before = shop.read(0, 100)
    shop.map(2, number="id")
    assert shop.ranges(before) == [(0, 100, [1, 2], [])]


def test_with_one_version_all_messages_are_of_it(shop: Shop) -> None:
    before = shop.read(0, 100)
    shop.map(1, number="id", label="city")
    assert shop.ranges(before) == [(0, 100, [1], [])]


def test_what_was_mapped_again_is_right_until_its_own_cells_change(shop: Shop) -> None:
    shop.version(2)
    before = shop.read(0, 100)
    shop.map(2, number="id", label="name", town="city")
    shop.read(0, 60)
    assert shop.ranges(before) == [(60, 100, [2], [1])]
    between = shop.state
    shop.map(2, number="id", label="name")
    assert shop.ranges(between) == [(0, 60, [2], [1])], "of two records of a message the later one counts"


def test_what_no_batch_tells_of_counts_where_cells_changed(shop: Shop) -> None:
    """Under whichever state it was mapped: here one that no batch has."""
    shop.read(0, 100)
    shop.map(1, number="id", label="city")
    between = shop.state
    shop.map(1, number="id", label="name")
    shop.read(110, 200)
    assert shop.ranges(between) == [(100, 110, [1], [])]


def test_letters_that_were_replayed_were_mapped_later(shop: Shop) -> None:
    """The batch that read them did not know their version; what mapped them then is outdated now."""
    shop.read(0, 50)
    shop.read(50, 100, dead={"unknown_version": 3})
    shop.version(2)
    before = shop.state
    shop.map(2, number="id", label="city")
    assert shop.ranges(before) == [(50, 100, [2], [1])]


def test_versions_that_are_deleted_would_only_make_dead_letters(shop: Shop, connection: Connection) -> None:
    shop.version(2)
    before = shop.read(0, 100)
    connection.execute("select metl.delete_schema_version(%s, 1)", [TOPIC])
    assert shop.outdated(before) == []


def test_a_content_that_comes_back_means_the_newest_version(connection: Connection) -> None:
    """A name that comes back is not mapped by itself: messages of version 1 are read as of version 3 from then on."""
    shop = Shop(connection)
    connection.execute("select metl.set_topic(%s, 'ext_json_content_id')", [TOPIC])
    shop.version(1, content_id=7)
    shop.map(1, number="id", label="name")
    before = shop.read(0, 100)
    shop.version(2, "id", content_id=8)
    shop.read(100, 200)
    shop.version(3, content_id=7)
    assert shop.ranges(before) == [(0, 200, [3], [1, 2])]


def test_messages_without_a_version_are_of_the_one_that_their_topic_has(connection: Connection) -> None:
    shop = Shop(connection)
    shop.version(1)
    shop.map(1, number="id", label="name")
    connection.execute("select metl.set_topic(%s, 'plain')", [TOPIC])
    before = shop.read(0, 100)
    shop.version(2)
    assert shop.outdated(before) == [], "the same cells, and now by way of version 2"
    shop.map(2, number="id", label="city")
    assert shop.ranges(before) == [(0, 100, [2], [])]


def test_a_hundred_thousand_batches_are_no_burden(shop: Shop, connection: Connection) -> None:
    before = shop.read(0, 1)
    connection.execute(
        """
        insert into metl.job_batch (
            job, instance, batch, state, began_at, ended_at, rows_in, rows_out, rows_filtered, positions
        )
        select 'map', %s, n, %s, now(), now(), 10, 10, 0, jsonb_build_object(%s::text, jsonb_build_object('0',
            jsonb_build_array(n * 10 - 9, n * 10 + 1)))
        from generate_series(1, 100000) as n
        """,
        [INSTANCE, before, TOPIC],
    )
    shop.map(1, number="id", label="city")
    connection.execute("set local statement_timeout = '10s'")
    assert shop.ranges(before) == [(0, 1_000_001, [1], [])]
