"""Rows that differ are looked at again: only those that arrive meanwhile were in flight."""

import time
from collections.abc import Callable

import pytest

from tests.compare.conftest import World
from tests.compare.test_differences import counts

NAMES = "update warehouse.person set name = %s where _key = %s::jsonb"


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Lets something happen in each pause between two looks, the last of it again and again."""

    def let(*steps: Callable[[], object]) -> None:
        waiting = list(steps)

        def pause(seconds: float) -> None:
            (waiting.pop(0) if len(waiting) > 1 else waiting[0])()
            time.sleep(seconds)

        monkeypatch.setattr("metl.warehouse.compare.recheck.sleep", pause)

    return let


def test_rows_that_arrive_while_we_wait(world: World, meanwhile: Callable[..., None]) -> None:
    world.source.execute("insert into customer (id, name) values (2000, 'new')")
    world.source.execute("update customer set name = 'newer' where id = 1")
    world.source.execute("delete from customer where id = 2")
    # Nobody brings this one: what comes by SQL is older than the last message about it.
    world.source.execute("update customer set name = 'lost' where id = 3")
    world.send(3, {"number": 3, "name": "row 3"})
    meanwhile(
        lambda: world.warehouse.execute(NAMES, ["newer", '{"id": 1}']),
        lambda: world.warehouse.execute("update warehouse.person set _deleted = true where number = 2"),
        world.load,
    )
    found = world.compare(wait="4", code=3)
    assert counts(found) == {"equal": 997, "in_flight": 3, "different": 1}
    assert found["keys"]["different"] == [{"id": 3}]


def test_the_wait_ends_when_nothing_differs_any_more(world: World, meanwhile: Callable[..., None]) -> None:
    world.source.execute("update customer set name = 'newer' where id = 1")
    began = time.monotonic()
    meanwhile(lambda: world.warehouse.execute(NAMES, ["newer", '{"id": 1}']))
    found = world.compare(wait="60")
    assert counts(found) == {"equal": 999, "in_flight": 1} and found["keys"] == {"in_flight": [{"id": 1}]}
    assert time.monotonic() - began < 20


def test_a_row_that_changes_all_the_time(world: World, meanwhile: Callable[..., None]) -> None:
    """In flight where the warehouse follows; where it stands still, the row differs, however often it changes."""
    world.source.execute("update customer set name = 'x' where id in (1, 2)")

    def change() -> None:
        world.source.execute("update customer set name = name || 'x' where id in (1, 2)")
        world.warehouse.execute("update warehouse.person set name = name || 'y' where number = 1")

    meanwhile(change)
    found = world.compare(wait="1", code=3)
    assert found["keys"] == {"in_flight": [{"id": 1}], "different": [{"id": 2}]}


def test_a_row_that_comes_back(world: World, meanwhile: Callable[..., None]) -> None:
    """The source has no name for a row that was gone at the first look: it is looked for by its key in the end."""
    world.source.execute("create table kept as select * from customer where id = 5")
    world.source.execute("delete from customer where id in (5, 6)")
    meanwhile(lambda: world.source.execute("insert into customer select * from kept on conflict do nothing"))
    found = world.compare(wait="1", code=3)
    assert found["keys"] == {"in_flight": [{"id": 5}], "extra": [{"id": 6}]}


def test_jobs_that_are_behind_are_named(world: World) -> None:
    world.warehouse.execute("delete from warehouse.person where number = 1")
    started = "select metl.start_job('map', '/elsewhere', '00000000-0000-0000-0000-000000000001')"
    world.warehouse.execute(started)
    at = '"2026-11-18T12:00Z"'
    counts = '"state": 1, "rows_in": 1, "rows_out": 1, "rows_filtered": 0, "lag": 1234'
    progress = f'{{"began_at": {at}, "ended_at": {at}, {counts}}}'
    record = "select metl.record_batch('map', '00000000-0000-0000-0000-000000000001', 1, %s)"
    world.warehouse.execute(record, [progress])
    done = world.metl("compare", "person", "--wait", "0")
    assert done.exit_code == 3
    assert "Job map is 1,234 messages behind, so that differences may be in flight." in done.stdout
