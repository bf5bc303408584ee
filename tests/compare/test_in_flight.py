"""Rows that differ are rechecked: only those that become equal meanwhile were in flight."""

import time
from collections.abc import Callable

import pytest

from tests.compare.conftest import World
from tests.compare.test_differences import counts

NAMES = "update warehouse.person set name = %s where _key = %s::jsonb"


@pytest.fixture
def in_pauses(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Runs one step in each pause between two rechecks, the last one repeatedly."""

    def run_in_pauses(*steps: Callable[[], object]) -> None:
        pending = list(steps)

        def pause(seconds: float) -> None:
            (pending.pop(0) if len(pending) > 1 else pending[0])()
            time.sleep(seconds)

        monkeypatch.setattr("metl.warehouse.compare.differences.sleep", pause)

    return run_in_pauses


def test_rows_that_arrive_while_we_wait(world: World, in_pauses: Callable[..., None]) -> None:
    world.source.execute("insert into customer (id, name) values (2000, 'new')")
    world.source.execute("update customer set name = 'newer' where id = 1")
    world.source.execute("delete from customer where id = 2")
    # This one stays different: the initial load is older than the last message about the row.
    world.source.execute("update customer set name = 'lost' where id = 3")
    world.send(3, {"number": 3, "name": "row 3"})
    in_pauses(
        lambda: world.warehouse.execute(NAMES, ["newer", '{"id": 1}']),
        lambda: world.warehouse.execute("update warehouse.person set _deleted = true where number = 2"),
        world.load,
    )
    comparison = world.compare(wait="4", code=3)
    assert counts(comparison) == {"equal": 997, "in_flight": 3, "different": 1}
    assert comparison["keys"]["different"] == [{"id": 3}]


def test_the_wait_ends_when_nothing_differs_any_more(world: World, in_pauses: Callable[..., None]) -> None:
    world.source.execute("update customer set name = 'newer' where id = 1")
    began = time.monotonic()
    in_pauses(lambda: world.warehouse.execute(NAMES, ["newer", '{"id": 1}']))
    comparison = world.compare(wait="60")
    assert counts(comparison) == {"equal": 999, "in_flight": 1} and comparison["keys"] == {"in_flight": [{"id": 1}]}
    assert time.monotonic() - began < 20


def test_a_row_that_changes_all_the_time(world: World, in_pauses: Callable[..., None]) -> None:
    """In flight if the warehouse changes, too; else the row differs, however often the source changes."""
    world.source.execute("update customer set name = 'x' where id in (1, 2)")

    def change() -> None:
        world.source.execute("update customer set name = name || 'x' where id in (1, 2)")
        world.warehouse.execute("update warehouse.person set name = name || 'y' where number = 1")

    in_pauses(change)
    comparison = world.compare(wait="1", code=3)
    assert comparison["keys"] == {"in_flight": [{"id": 1}], "different": [{"id": 2}]}


def test_a_row_that_is_inserted_again(world: World, in_pauses: Callable[..., None]) -> None:
    """The primary key of a row that was deleted first is unknown: the last recheck scans for its message key."""
    world.source.execute("create table kept as select * from customer where id = 5")
    world.source.execute("delete from customer where id in (5, 6)")
    in_pauses(lambda: world.source.execute("insert into customer select * from kept on conflict do nothing"))
    comparison = world.compare(wait="1", code=3)
    assert comparison["keys"] == {"in_flight": [{"id": 5}], "extra": [{"id": 6}]}


def test_jobs_that_are_behind_are_named(world: World) -> None:
    world.warehouse.execute("delete from warehouse.person where number = 1")
    started = "select metl.start_job('map', '/elsewhere', '00000000-0000-0000-0000-000000000001')"
    world.warehouse.execute(started)
    at = '"2026-11-18T12:00Z"'
    counts = '"state": 1, "rows_in": 1, "rows_out": 1, "rows_filtered": 0, "lag": 1234'
    progress = f'{{"began_at": {at}, "ended_at": {at}, {counts}}}'
    record = "select metl.record_batch('map', '00000000-0000-0000-0000-000000000001', 1, %s)"
    world.warehouse.execute(record, [progress])
    done = world.metl("entities", "compare", "person", "--wait", "0")
    assert done.exit_code == 3
    assert "Job map is 1,234 messages behind, so that differences may be in flight." in done.stdout
