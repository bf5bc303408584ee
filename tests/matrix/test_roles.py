"""What stewards, jobs and readers may do, seen by people who log in as them."""

import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import errors, sql

from tests.conftest import scratch_database
from tests.matrix.roles import IS_PRIVATE, IS_PUBLIC, ROLES, attributes, call, functions, member, relations


@pytest.fixture(scope="module")
def owner(postgres: str, template: str) -> Iterator[psycopg.Connection]:
    """In a database for all tests here that change nothing, with a little in it to be read."""
    with (
        scratch_database(postgres, template) as name,
        psycopg.connect(postgres, dbname=name, autocommit=True) as connection,
    ):
        for each in HISTORY[:6]:
            call(connection, *each)
        yield connection
        assert call(connection, "current_state") == [(6,)], "nobody wrote"


@pytest.fixture(params=ROLES)
def anybody(owner: psycopg.Connection, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    with member(owner, request.param) as connection:
        yield connection


@pytest.fixture
def steward(database: str) -> Iterator[psycopg.Connection]:
    """In a fresh database, to write to."""
    with psycopg.connect(database, autocommit=True) as connection, member(connection, "metl_steward") as other:
        yield other


FOUND = [
    {"group": "default", "artifact": "payments", "version": number, "type": "AVRO", "position": number}
    for number in (1, 2)
]
#: A small history in which every function that stewards write with has its part.
HISTORY: list[tuple[Any, ...]] = [
    ("add_schema_version", "orders", 1, attributes("a", "b", "c")),
    ("add_schema_version", "orders", 2, attributes("a", "b", "c")),
    ("add_entity_version", "order", 1, attributes("x", "y")),
    ("set_run", "orders", 1, "order", 1, {"x": "a"}),
    ("set_block", "orders", 2, "order", 1, {"x": "a", "y": "b"}),
    ("set_blocks", [{"schema": "orders", "version": 1, "entity": "order", "entity_version": 1, "mapping": {"y": "b"}}]),
    ("set_mappings", '{"(2,orders,1,c,order,1,x)"}'),
    ("set_refs", "orders", 1, {"global_id": 17}),
    ("set_policy", "orders", "order", "confirm"),
    ("add_schema_version", "orders", 3, attributes("b")),
    ("confirm_plan", 1),
    ("add_schema_version", "orders", 4, attributes("c")),
    ("reject_plan", 2),
    ("set_policy", None, None, "auto"),
    ("confirm_notices", 9),
    ("delete_schema_version", "orders", 1),
    ("add_entity_version", "order", 2, attributes("x", "y")),
    ("delete_entity_version", "order", 2),
    ("set_topic", "orders", "plain", "flat"),
    ("unset_topic", "orders"),
    ("note_registry_versions", "apicurio", None, FOUND, "2026-01-01"),
    ("take_registry_version", 1, attributes("a"), {"global_id": 1}),
    ("take_registry_version", 2, None, None, "It is no schema."),
    ("retry_registry_versions", "payments"),
    ("note_registry_versions", "apicurio", None, [], "2026-01-01", "{1}"),
    ("end_registry_version", 1),
    ("add_entity_version", "order", 3, attributes("x")),
    ("set_column_policy", "order", "x", "clear"),
    ("clear_columns", "order"),
    ("forget_warehouse_table", "order"),
    ("forget_positions", "orders"),
]
#: The same for what jobs call, the last of which is for stewards as well.
INSTANCE = uuid.UUID(int=1)
BATCH = {
    "state": 0,
    "began_at": "2026-01-01",
    "ended_at": "2026-01-02",
    "rows_in": 1,
    "rows_out": 1,
    "rows_filtered": 0,
}
JOB: list[tuple[Any, ...]] = [
    ("start_job", "map", "/checkpoint", INSTANCE),
    ("begin_batch", "map", INSTANCE),
    ("record_batch", "map", INSTANCE, 0, BATCH),
    ("report_job", "map", INSTANCE, "running"),
    ("open_warehouse", "map"),
    ("staged_entities", "map"),
    ("merge_warehouse", "map", "order"),
    ("stop_job", "map"),
]
#: What jobs call to collect dead letters and stewards to send them again; operations are begun by both.
LETTER = {
    "partition": 0,
    "offset": 0,
    "at": "2026-01-01",
    "key": None,
    "value": "YQ==",
    "headers": [],
    "error_headers": {},
}
COLLECTING: list[tuple[Any, ...]] = [
    ("collect_letters", "dead", [LETTER], {"0": 1}),
    ("send_due_letters", "orders", 1, None),
]
OPERATING: list[tuple[Any, ...]] = [
    ("begin_operation", "reset", "a test"),
    ("end_operation", 1),
    ("report_connectors", "http://here", [{"connector": "shop", "status": "running"}]),
    ("open_initial_load", "order"),
    ("merge_initial_load", "order", "orders", "orders", 2, "2026-01-01", "{x}"),
]
SENDING: list[tuple[Any, ...]] = [
    ("letter_payload", 1),
    ("begin_operation", "replay", "a test"),
    ("send_letters", [1], 1),
    ("give_up_letters", [1], "a test"),
]
#: The same for what only reads, to be called when the first six of the history have happened.
READS: list[tuple[Any, ...]] = [
    ("current_state",),
    ("decompaction_at", 6),
    ("diff", 0, 6),
    ("matrix_block", "orders", 1, "order", 1),
    ("feeds", "orders", 2),
    ("fed_by", "order", 1),
    ("search", "order"),
    ("progression", "orders"),
    ("coverage", "order", 1),
    ("policy_of", "orders", "order"),
    ("simulate", "orders", attributes("a")),
    ("plan_schema_version", "orders", 3, attributes("a")),
    ("cast_effect", "string", "boolean"),
    ("plan_renames", "orders", 3, attributes("a", "bb", "c")),
    ("plan_schema_version_end", "orders", 2),
    ("plan_entity_version", "order", 2, attributes("x")),
    ("plan_entity_version_end", "order", 1),
    ("plan_block", "orders", 2, "order", 1, {}),
    ("plan_run", "orders", 1, "order", 1, {}),
    ("matrix_at", 6),
    ("draft_entity_version", "order", attributes("x")),
    ("check_mappings", '{"(2,orders,1,d,order,1,x)"}'),
    ("plan_mappings", '{"(2,orders,1,a,order,1,x)"}'),
]


def test_the_steward_writes_through_every_writing_function(
    owner: psycopg.Connection, steward: psycopg.Connection
) -> None:
    writers = {each[0] for each in [*HISTORY, *JOB, *COLLECTING, *OPERATING, *SENDING]}
    writers -= {"begin_batch", "letter_payload"}
    assert writers == set(functions(owner, f"{IS_PUBLIC} and provolatile = 'v'"))
    for each in HISTORY:
        call(steward, *each)
    assert call(steward, "check") == []
    me = steward.info.user
    assert steward.execute("select distinct who from metl.states").fetchall() == [(me,)]
    assert steward.execute("select distinct created_by, decided_by from metl.plans").fetchall() == [(me, me)]
    assert steward.execute("select distinct set_by from metl.policies").fetchall() == [(me,)]


def test_nobody_touches_a_table(owner: psycopg.Connection, anybody: psycopg.Connection) -> None:
    tables = relations(owner, "relkind = 'r'")
    # PostgreSQL would let writes through to the table below, if the rights allowed it.
    updatable = relations(owner, "relkind = 'v' and pg_relation_is_updatable(oid, false) <> 0")
    assert "block" in tables and "notices" in updatable
    for name in tables + updatable:
        [column] = owner.execute(
            "select attname from pg_attribute where attrelid = %s::regclass order by attnum desc limit 1",
            [f"metl.{name}"],
        ).fetchall()
        statements = [
            "insert into metl.{table} default values",
            "update metl.{table} set {column} = default",
            "delete from metl.{table}",
            "lock table metl.{table} in share mode",
        ]
        if name in tables:
            statements.append("truncate metl.{table}")
        for statement in statements:
            with pytest.raises(errors.InsufficientPrivilege), anybody.transaction():
                anybody.execute(sql.SQL(statement).format(table=sql.Identifier(name), column=sql.Identifier(column[0])))


def test_nobody_reads_what_is_internal(owner: psycopg.Connection, anybody: psycopg.Connection) -> None:
    """The table of types is the exception: it is there to be looked up."""
    internal = set(relations(owner, r"(relkind = 'r' or relname like '\_%') and relkind in ('r', 'v')"))
    assert {"type", "accepted_type"} < internal
    for name in sorted(internal - {"type", "accepted_type"}):
        with pytest.raises(errors.InsufficientPrivilege):
            anybody.execute(sql.SQL("select * from metl.{}").format(sql.Identifier(name)))


def test_nobody_uses_a_sequence(owner: psycopg.Connection, anybody: psycopg.Connection) -> None:
    """Whoever could draw or set numbers could make a later write fail."""
    sequences = relations(owner, "relkind = 'S'")
    assert sequences
    for sequence in sequences:
        for statement in ("select nextval({})", "select setval({}, 1)"):
            with pytest.raises(errors.InsufficientPrivilege):
                anybody.execute(sql.SQL(statement).format(sql.Literal(f"metl.{sequence}")))


def test_nobody_calls_a_private_function(owner: psycopg.Connection, anybody: psycopg.Connection) -> None:
    private = functions(owner, IS_PRIVATE)
    assert "_begin_state" in private
    for name, arguments in private.items():
        nothing = sql.SQL(", ").join([sql.NULL] * arguments)
        with pytest.raises(errors.InsufficientPrivilege):
            anybody.execute(sql.SQL("select metl.{}({})").format(sql.Identifier(name), nothing))


def test_nobody_makes_anything_in_the_schema(anybody: psycopg.Connection) -> None:
    """A function or table of somebody else beside ours would be one that our functions might trip over."""
    for statement in ("create table metl.mine ()", "create view metl.mine as select 1", "create type metl.mine as ()"):
        with pytest.raises(errors.InsufficientPrivilege):
            anybody.execute(statement.encode())


def test_jobs_start_and_tell_how_they_are(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection, member(connection, "metl_job") as job:
        for each in JOB:
            call(job, *each)
            if each[0] == "open_warehouse":
                [(staged,)] = job.execute("select metl.open_warehouse('map')").fetchall()
                job.execute(f"insert into warehouse.{staged} (entity) values ('order')".encode())
        found = job.execute("select job, status, running, rows_in from metl.jobs").fetchall()
        assert found == [("map", "stopping", True, 1)]
        assert len(job.execute("select * from metl.job_batches").fetchall()) == 1
        assert job.execute("select * from metl.topics, metl.topic_rules").fetchall() == []


def test_only_jobs_do_what_jobs_do(owner: psycopg.Connection) -> None:
    for role in ("metl_reader", "metl_steward"):
        with member(owner, role) as connection:
            for each in JOB[:-1]:
                with pytest.raises(errors.InsufficientPrivilege):
                    call(connection, *each)
            refusal = errors.UndefinedObject if role == "metl_steward" else errors.InsufficientPrivilege
            with pytest.raises(refusal):
                call(connection, *JOB[-1])


def test_jobs_collect_letters_and_stewards_send_them(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as owner:
        call(owner, "add_entity_version", "order", 1, attributes("x"))
        with member(owner, "metl_job") as job:
            for each in [*COLLECTING, *OPERATING]:
                call(job, *each)
            for each in SENDING:
                if each[0] != "begin_operation":
                    with pytest.raises(errors.InsufficientPrivilege):
                        call(job, *each)
            assert job.execute("select letter, value_bytes from metl.dead_letters").fetchall() == [(1, 1)]
        with member(owner, "metl_steward") as steward:
            for each in COLLECTING:
                with pytest.raises(errors.InsufficientPrivilege):
                    call(steward, *each)
            assert [bytes(row[1]) for row in call(steward, *SENDING[0])] == [b"a"]
            for each in [*OPERATING[2:], *SENDING[1:]]:
                call(steward, *each)
            assert steward.execute("select status, replays from metl.dead_letters").fetchall() == [("given_up", 1)]
            assert steward.execute("select count(distinct who) from metl.operations").fetchall() == [(2,)]
        with member(owner, "metl_reader") as reader:
            for each in [*COLLECTING, *OPERATING, *SENDING]:
                with pytest.raises(errors.InsufficientPrivilege):
                    call(reader, *each)


@pytest.mark.parametrize("role", ["metl_reader", "metl_job"])
def test_readers_and_jobs_do_not_write(owner: psycopg.Connection, role: str) -> None:
    with member(owner, role) as connection:
        for each in HISTORY:
            with pytest.raises(errors.InsufficientPrivilege):
                call(connection, *each)


def test_readers_see_the_views_and_search(owner: psycopg.Connection) -> None:
    views = relations(owner, r"relkind = 'v' and relname not like '\_%'")
    # Of payloads, and of what was mapped by jobs that never were, there is nothing to be read.
    readers = {each[0] for each in READS} | {"check", "begin_batch", "letter_payload", "outdated"}
    assert readers == set(functions(owner, f"{IS_PUBLIC} and provolatile <> 'v'"))
    with member(owner, "metl_reader") as reader:
        for view in [*views, "type", "accepted_type"]:
            query = sql.SQL("select * from metl.{}").format(sql.Identifier(view))
            assert reader.execute(query).fetchall() == owner.execute(query).fetchall(), view
        for each in READS:
            found = call(reader, *each)
            assert found and found == call(owner, *each), each
        assert call(reader, "check") == []


def test_jobs_read_the_matrix(owner: psycopg.Connection) -> None:
    with member(owner, "metl_job") as job:
        assert call(job, "current_state") == [(6,)]
        ones = set(job.execute("select * from metl.decompaction").fetchall())
        assert ones == set(call(job, "decompaction_at", 6)) and len(ones) == 3
        assert len(call(job, "feeds", "orders", 2)) == 2
        with pytest.raises(errors.InsufficientPrivilege):
            job.execute("select * from metl.plans")


def test_what_the_caller_puts_into_the_way_is_not_taken_for_ours(steward: psycopg.Connection) -> None:
    """Functions with the owner's rights must not run anything of the caller's."""
    steward.execute("create temporary table clock (state bigint)")
    for built_in in ("lower(text)", "format(text, text)", "left(text, int)"):
        steward.execute(
            f"create function pg_temp.{built_in} returns text language sql as $$ select 1 / 0 || 'ours' $$".encode()
        )
    steward.execute("set search_path = pg_temp, metl, pg_catalog")
    for each in HISTORY:
        call(steward, *each)
    assert call(steward, "check") == []
    steward.execute("select * from metl.topics, metl.jobs")
    # Or else the role could not be dropped before its session has wound up.
    steward.execute("drop owned by current_user")
