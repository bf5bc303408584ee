"""Jobs run once, stop when told to, give way to who comes after them, and say how it goes."""

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg import errors
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from tests.matrix.refusal import UNKNOWN, WRONG, Connection, assert_clear, refusal

STOPPED = "MT001"
IN_USE = "55006"
FIRST, SECOND, THIRD = (uuid.UUID(int=number) for number in (1, 2, 3))
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@contextmanager
def session(dsn: str) -> Iterator[Connection]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture
def one(database: str) -> Iterator[Connection]:
    with session(database) as connection:
        yield connection


@pytest.fixture
def other(database: str) -> Iterator[Connection]:
    with session(database) as connection:
        yield connection


def start(connection: Connection, instance: uuid.UUID, job: str = "map", checkpoint: str = "/c", **about: str) -> None:
    connection.execute("select metl.start_job(%s, %s, %s, %s)", [job, checkpoint, instance, Jsonb(about)])


def begin(connection: Connection, instance: uuid.UUID, job: str = "map") -> bool:
    row = connection.execute("select metl.begin_batch(%s, %s)", [job, instance]).fetchone()
    assert row is not None
    return bool(row[0])


def report(connection: Connection, instance: uuid.UUID, status: str, reason: str | None = None) -> None:
    connection.execute("select metl.report_job('map', %s, %s, %s)", [instance, status, reason])


def progress(number: int = 0, **changes: object) -> dict[str, object]:
    """A batch of two seconds; the next begins when it ends."""
    began = NOON + timedelta(seconds=2 * number)
    return {
        "state": 0, "began_at": began.isoformat(), "ended_at": (began + timedelta(seconds=2)).isoformat(),
        "rows_in": 10, "rows_out": 7, "rows_filtered": 1, "dead": {"unknown version": 2},
        "latency_ms": {"p50": 4, "p90": 5, "p99": 6, "max": 7}, "matrix_rows": 3, "matrix_bytes": 400, "lag": 5,
        "positions": {"shop": {"0": [0, 10]}},
    } | changes  # fmt: skip


def record(connection: Connection, instance: uuid.UUID, number: int, **changes: object) -> None:
    given = Jsonb(progress(number, **changes))
    connection.execute("select metl.record_batch('map', %s, %s, %s)", [instance, number, given])


def job(connection: Connection, name: str = "map") -> dict[str, Any]:
    with connection.cursor(row_factory=dict_row) as cursor:
        [row] = cursor.execute("select * from metl.jobs where job = %s", [name]).fetchall()
    return row


def locks(connection: Connection) -> int:
    """How often this session would have to give an advisory lock back."""
    count = 0
    while connection.execute("""
        select pg_advisory_unlock((classid::bigint << 32) | objid::bigint) from pg_locks
        where locktype = 'advisory' and pid = pg_backend_pid() limit 1
    """).fetchall():
        count += 1
    return count


def test_a_job_runs_once(one: Connection, other: Connection) -> None:
    start(one, FIRST)
    with pytest.raises(errors.ObjectInUse) as refused:
        start(other, SECOND, checkpoint="/elsewhere")
    said = refused.value.diag
    assert said.message_primary == "Job 'map' is already running on checkpoint '/c'."
    assert str(one.info.backend_pid) in str(said.message_detail) and str(FIRST) in str(said.message_detail)
    assert one.info.user in str(said.message_detail) and "metl.stop_job('map')" in str(said.message_hint)
    assert (job(one)["status"], job(one)["instance"], job(one)["checkpoint"]) == ("starting", FIRST, "/c")
    start(other, SECOND, "another", "/elsewhere")
    assert locks(other) == 2, "whoever is refused keeps nothing"


def test_a_checkpoint_has_one_job(one: Connection, other: Connection) -> None:
    start(one, FIRST)
    for connection in (one, other):
        with pytest.raises(errors.ObjectInUse, match="Job 'map' is already running on checkpoint '/c'"):
            start(connection, SECOND, "another")
    assert one.execute("select job from metl.jobs").fetchall() == [("map",)]
    assert locks(other) == 0 and locks(one) == 2


def test_starting_again_in_the_same_session_takes_nothing_twice(one: Connection, other: Connection) -> None:
    start(one, FIRST, host="a")
    began = job(one)["started_at"]
    start(one, FIRST, host="b")
    assert (job(one)["started_at"], job(one)["about"]) == (began, {"host": "b"})
    start(one, FIRST, checkpoint="/new")
    start(other, SECOND, "another", "/c")
    assert job(one)["checkpoint"] == "/new"
    assert locks(one) == 2


def test_a_killed_session_frees_its_job(one: Connection, other: Connection, database: str) -> None:
    start(one, FIRST)
    report(one, FIRST, "running")
    assert job(other)["running"] is True
    other.execute("select pg_terminate_backend(%s, 10000)", [one.info.backend_pid])
    assert (job(other)["running"], job(other)["status"]) == (False, "running")
    start(other, SECOND, checkpoint="/new")
    assert (job(other)["running"], job(other)["status"], job(other)["checkpoint"]) == (True, "starting", "/new")


def test_the_same_instance_comes_again_after_its_connection_broke(one: Connection, other: Connection) -> None:
    start(one, FIRST)
    record(one, FIRST, 0)
    one.close()
    start(other, FIRST)
    assert begin(other, FIRST)
    assert job(other)["rows_in"] == 10, "and goes on counting"


def test_one_that_was_superseded_never_gets_it_back(database: str) -> None:
    with session(database) as connection:
        start(connection, FIRST)
    with session(database) as connection:
        start(connection, SECOND)
    with session(database) as connection:
        for call in (lambda: start(connection, FIRST), lambda: begin(connection, FIRST)):
            with pytest.raises(errors.ObjectInUse, match=f"Instance {FIRST} of job 'map' was superseded") as refused:
                call()
            assert str(SECOND) in str(refused.value.diag.message_detail)
        with pytest.raises(errors.ObjectInUse, match="superseded"):
            report(connection, FIRST, "failed")
        assert locks(connection) == 0
        assert (job(connection)["status"], job(connection)["instance"]) == ("starting", SECOND)
        start(connection, SECOND)
        start(connection, THIRD)
        assert begin(connection, THIRD)


def test_a_batch_begins_in_the_query_that_reads_the_matrix(one: Connection, other: Connection) -> None:
    start(one, FIRST)
    query = "select state from metl.current_state() as state where metl.begin_batch('map', %s)"
    assert one.execute(query, [FIRST]).fetchall() == [(0,)]
    other.execute("select metl.stop_job('map')")
    with pytest.raises(psycopg.Error, match="Job 'map' was told to stop") as refused:
        one.execute(query, [FIRST])
    assert refused.value.sqlstate == STOPPED


def test_who_is_told_to_stop_is_stopping_until_it_has_stopped(one: Connection, other: Connection) -> None:
    start(one, FIRST)
    report(one, FIRST, "running")
    other.execute("select metl.stop_job('map')")
    assert job(one)["status"] == "stopping"
    report(one, FIRST, "running")
    assert job(one)["status"] == "stopping", "whatever it says before it has stopped"
    start(one, FIRST)
    assert job(one)["status"] == "stopping", "also when it comes again"
    with pytest.raises(psycopg.Error, match="told to stop"):
        begin(one, FIRST)
    report(one, FIRST, "stopped", "told to")
    assert (job(one)["status"], job(one)["reason"]) == ("stopped", "told to")
    other.execute("select metl.stop_job('map')")
    assert job(one)["status"] == "stopped"
    start(one, SECOND)
    assert (job(one)["status"], job(one)["reason"], begin(one, SECOND)) == ("starting", None, True)


def test_batches_are_recorded_once_and_added_up(one: Connection, other: Connection) -> None:
    one.execute("select metl.add_schema_version('shop', 1, '[]')")
    start(one, FIRST)
    assert {job(one)[name] for name in ("last_batch", "state", "states_behind", "rows_per_second", "lag")} == {None}
    record(one, FIRST, 0)
    record(one, FIRST, 0, rows_in=99)
    record(one, FIRST, 1, state=1, rows_in=100, dead={"unknown version": 1, "malformed": 4}, lag=0)
    one.execute("select metl.add_schema_version('shop', 2, '[]')")
    found = job(other)
    assert {name: found[name] for name in ("last_batch", "last_batch_at", "state", "states_behind", "lag")} == {
        "last_batch": 1, "last_batch_at": NOON + timedelta(seconds=4), "state": 1, "states_behind": 1, "lag": 0
    }  # fmt: skip
    assert (found["rows_in"], found["rows_out"], found["rows_filtered"]) == (110, 14, 2)
    assert (found["dead"], found["dead_by_reason"]) == (7, {"unknown version": 3, "malformed": 4})
    assert (found["rows_per_second"], found["matrix_rows"], found["matrix_bytes"]) == (50, 3, 400)
    with one.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute("select * from metl.job_batches order by batch").fetchall()
    wanted = progress(0) | {"job": "map", "instance": FIRST, "batch": 0, "behind_ms": None}
    wanted |= {"began_at": NOON, "ended_at": NOON + timedelta(seconds=2)}
    assert rows[0] == wanted and len(rows) == 2


def test_an_idle_batch_leaves_the_last_latency_to_be_seen(one: Connection) -> None:
    start(one, FIRST)
    record(one, FIRST, 0)
    record(one, FIRST, 1, rows_in=0, latency_ms=None, dead=None, positions=None, lag=None, matrix_bytes=None)
    found = job(one)
    assert (found["last_batch"], found["rows_per_second"], found["lag"]) == (1, 0, None)
    assert found["latency_ms"] == {"p50": 4, "p90": 5, "p99": 6, "max": 7}
    assert one.execute("select dead, positions from metl.job_batches where batch = 1").fetchall() == [({}, {})]


def test_the_next_instance_counts_from_zero_and_late_batches_are_kept(one: Connection) -> None:
    start(one, FIRST)
    record(one, FIRST, 0)
    start(one, SECOND)
    assert (job(one)["rows_in"], job(one)["dead_by_reason"], job(one)["last_batch"]) == (0, {}, 0)
    record(one, SECOND, 1)
    record(one, FIRST, 1)
    assert job(one)["rows_in"] == 10
    assert len(one.execute("select * from metl.job_batches").fetchall()) == 3


def test_what_all_instances_did_is_added_up_beside_the_last_one(one: Connection) -> None:
    for number, instance in enumerate((FIRST, SECOND, THIRD)):
        start(one, instance)
        if instance != THIRD:
            record(one, instance, number, dead={"malformed": number, "unknown version": 1})
    start(one, uuid.UUID(int=4), "another", "/elsewhere")
    found = job(one)
    assert [found[name] for name in ("rows_in", "rows_out", "rows_filtered", "dead")] == [0, 0, 0, 0]
    assert [found[f"{name}_ever"] for name in ("rows_in", "rows_out", "rows_filtered", "dead")] == [20, 14, 2, 3]
    assert job(one, "another")["dead_ever"] == 0


def test_a_job_is_behind_as_long_as_something_waits(one: Connection) -> None:
    start(one, FIRST)
    record(one, FIRST, 0, behind_ms=1_454_342, latency_ms=None, lag=900)
    assert (job(one)["behind_ms"], job(one)["latency_ms"]) == (1_454_342, None)
    record(one, FIRST, 1, behind_ms=3, lag=0)
    assert (job(one)["behind_ms"], job(one)["latency_ms"]["p50"]) == (None, 4)


def test_jobs_never_wait_for_who_changes_the_matrix(one: Connection, other: Connection) -> None:
    start(one, FIRST)
    with other.transaction():
        other.execute("select metl.add_schema_version('shop', 1, '[]')")
        other.execute("select metl.stop_job('map')")
        one.execute("set lock_timeout = '1s'")
        assert begin(one, FIRST)
        record(one, FIRST, 0)
        start(one, SECOND, "another", "/elsewhere")
        assert job(one)["rows_in"] == 10


@pytest.mark.parametrize(
    ("call", "sqlstate", "value"),
    [
        ("start_job(null, '/c', gen_random_uuid())", WRONG, "null"),
        ("start_job('map', ' ', gen_random_uuid())", WRONG, "' '"),
        ("start_job('map', '/c', null)", WRONG, "null"),
        ("start_job('map', '/c', gen_random_uuid(), '[1]')", WRONG, "[1]"),
        ("start_job('map', '/c', gen_random_uuid(), null)", WRONG, "null"),
        ("begin_batch('nobody', gen_random_uuid())", UNKNOWN, "'nobody'"),
        ("begin_batch(null, null)", UNKNOWN, "null"),
        ("begin_batch('known', null)", IN_USE, "null"),
        ("stop_job('nobody')", UNKNOWN, "'nobody'"),
        ("stop_job(null)", UNKNOWN, "null"),
        ("report_job('nobody', gen_random_uuid(), 'running')", UNKNOWN, "'nobody'"),
        ("report_job('known', null, 'running')", IN_USE, "null"),
        ("report_job('known', gen_random_uuid(), 'fine')", WRONG, "'fine'"),
        ("report_job('known', gen_random_uuid(), null)", WRONG, "null"),
    ],
)
def test_calls_that_make_no_sense_are_refused(connection: Connection, call: str, sqlstate: str, value: str) -> None:
    connection.execute("select metl.start_job('known', '/known', gen_random_uuid())")
    assert_clear(refusal(connection, f"select metl.{call}"), sqlstate, value)


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (None, "null"),
        ([], "[]"),
        ({}, "state is missing"),
        (progress(rows_in=None), "rows_in is missing"),
        (progress(rows="1"), "nobody knows rows"),
        (progress(job="other"), "nobody knows job"),
        (progress(rows_in="many"), '"many"'),
        (progress(rows_out=1.5), '"1.5"'),
        (progress(lag=-1), "below 0"),
        (progress(behind_ms=-1), "below 0"),
        (progress(ended_at="noon"), '"noon"'),
        (progress(dead=3), "dead must be an object, but it is 3"),
        (progress(dead={"why": "2"}), "'why' cannot be \"2\""),
        (progress(dead={"why": -2}), "'why' cannot be -2"),
        (progress(latency_ms=[1]), "latency_ms must be an object, but it is [1]"),
        (progress(state=1_000_000), "there is no state 1000000"),
    ],
)
def test_progress_that_makes_no_sense_is_refused(connection: Connection, given: object, value: str) -> None:
    start(connection, FIRST)
    call = "select metl.record_batch('map', %s, 7, %s)"
    error = refusal(connection, call, FIRST, None if given is None else Jsonb(given))
    assert_clear(error, WRONG, value)
    assert "Batch 7 of job 'map' cannot be recorded" in str(error)


def test_only_who_was_started_records(connection: Connection) -> None:
    start(connection, FIRST)
    call = "select metl.record_batch(%s, %s, %s, %s)"
    assert_clear(refusal(connection, call, "nobody", FIRST, 0, Jsonb(progress())), UNKNOWN, "'nobody'")
    assert_clear(refusal(connection, call, "map", SECOND, 0, Jsonb(progress())), UNKNOWN, str(SECOND))
    assert_clear(refusal(connection, call, "map", None, 0, Jsonb(progress())), UNKNOWN, "null")
    for number in (None, -1):
        error = refusal(connection, call, "map", FIRST, number, Jsonb(progress()))
        assert_clear(error, WRONG, "null" if number is None else "-1")


def test_two_hundred_thousand_batches_are_no_burden(one: Connection) -> None:
    start(one, FIRST)
    record(one, FIRST, 0)
    one.execute(
        """
        insert into metl.job_batch (job, instance, batch, state, began_at, ended_at, rows_in, rows_out, rows_filtered)
        select 'map', %s, n, 0, %s + n * interval '2 s', %s + n * interval '2 s', 0, 0, 0
        from generate_series(1, 200000) as n
        """,
        [FIRST, NOON, NOON],
    )
    one.execute("analyze metl.job_batch")
    seconds = []
    for _ in range(5):
        began = time.perf_counter()
        assert (job(one)["last_batch"], job(one)["latency_ms"]["p50"]) == (200_000, 4)
        seconds.append(time.perf_counter() - began)
    assert min(seconds) < 0.1
