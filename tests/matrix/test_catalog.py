"""What an installation leaves in the catalog: all of it described, the same however it came there."""

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb

from metl.db.install import install, scripts
from metl.home import Home
from metl.stack.postgres import ADMIN, Postgres
from tests.matrix.catalog import assert_same, dump, empty_database, psql
from tests.stack.conftest import Metl

DOT_ALL = re.M | re.S
#: Every kind of object that somebody may meet in schema metl: its names, and the comments on them.
DESCRIBED = {
    "schema": "select nspname, obj_description(oid, 'pg_namespace') from pg_namespace where nspname = 'metl'",
    "table or view": """
        select relname, obj_description(oid, 'pg_class') from pg_class
        where relnamespace = 'metl'::regnamespace and relkind in ('r', 'v', 'm', 'p')
    """,
    "column": """
        select relname || '.' || attname, col_description(attrelid, attnum)
        from pg_attribute inner join pg_class on attrelid = pg_class.oid
        where
            relnamespace = 'metl'::regnamespace and attnum > 0 and not attisdropped
            -- What others than the owner can see.
            and (relkind = 'v' and relname not like '\\_%' or relname in ('type', 'accepted_type'))
    """,
    # Those that a constraint or an identity column brings along are described by it.
    "index": """
        select relname, obj_description(pg_class.oid, 'pg_class')
        from pg_class left join pg_constraint on conindid = pg_class.oid
        where relnamespace = 'metl'::regnamespace and relkind in ('i', 'I') and conindid is null
    """,
    "sequence": """
        select relname, obj_description(oid, 'pg_class') from pg_class
        where
            relnamespace = 'metl'::regnamespace and relkind = 'S'
            and not exists (select from pg_depend where objid = pg_class.oid and deptype = 'i')
    """,
    "function": """
        select oid::regprocedure::text, obj_description(oid, 'pg_proc') from pg_proc
        where pronamespace = 'metl'::regnamespace
    """,
    "type": """
        select typname, obj_description(pg_type.oid, 'pg_type')
        from pg_type left join pg_class on typrelid = pg_class.oid
        where typnamespace = 'metl'::regnamespace and (relkind = 'c' or typtype in ('d', 'e', 'r'))
    """,
    "trigger": """
        select tgname, obj_description(pg_trigger.oid, 'pg_trigger')
        from pg_trigger inner join pg_class on tgrelid = pg_class.oid
        where relnamespace = 'metl'::regnamespace and not tgisinternal
    """,
    # Keys and references say all there is to say by their names; a check holds a rule, which has a reason.
    "check": """
        select conname, obj_description(oid, 'pg_constraint') from pg_constraint
        where connamespace = 'metl'::regnamespace and contype in ('c', 'x')
    """,
}


@pytest.fixture(scope="module")
def fresh(postgres: str, template: str) -> str:
    """The catalog of an installation in one go, which every other way must lead to as well."""
    return dump(make_conninfo(postgres, dbname=template))


@pytest.mark.parametrize("kind", DESCRIBED)
def test_everything_has_a_comment(postgres: str, template: str, kind: str) -> None:
    with psycopg.connect(postgres, dbname=template) as connection:
        found = connection.execute(DESCRIBED[kind].encode()).fetchall()
    assert found or kind == "sequence"
    silent = sorted(name for name, comment in found if not (comment or "").strip())
    assert not silent, f"no comment on {kind} {', '.join(silent)}"


def test_every_file_is_included_once(root: Path) -> None:
    sql_folder = root / "sql"
    included = [script.path for script in scripts(sql_folder / "install.sql")]
    # psql includes apply.sql for each migration; the roles and the database are there before anything is installed.
    others = {sql_folder / name for name in ("install.sql", "roles.sql", "migrations/apply.sql")}
    assert sorted(included) == sorted(set(sql_folder.rglob("*.sql")) - others - set(sql_folder.glob("*/index.sql")))


def test_install_sql_only_includes(root: Path) -> None:
    """Reading it is reading the architecture."""
    for index in (root / "sql" / "install.sql", *domain_indexes(root)):
        lines = index.read_text().splitlines()
        assert [line for line in lines if line and not re.match(r"-- |\\ir \S+\.sql$", line)] == [], index


def domain_indexes(root: Path) -> list[Path]:
    return [path for path in (root / "sql").glob("*/index.sql") if path.parent.name != "migrations"]


def test_every_file_holds_the_object_it_is_named_after(root: Path, postgres: str, template: str) -> None:
    paths = [script.path for index in domain_indexes(root) for script in scripts(index)]
    for path in paths:
        text = path.read_text()
        # A trigger stands beside the function that it calls.
        made = re.findall(
            r"^create or replace (?:function|view|trigger\b.*?execute function) metl\.(\w+)", text, DOT_ALL
        )
        made += re.findall(r"^comment on (?:function|view) metl\.(\w+)", text, re.M)
        assert set(made) == {path.stem}, path
        assert set(re.findall(r"^(?:create|alter|drop|insert|update|delete|grant|revoke|do)\b.*", text, re.M)) == set(
            re.findall(r"^create or replace (?:function|view|trigger) .*", text, re.M)
        ), path
    with psycopg.connect(postgres, dbname=template) as connection:
        objects = connection.execute("""
            select proname from pg_proc where pronamespace = 'metl'::regnamespace
            union
            select relname from pg_class where relnamespace = 'metl'::regnamespace and relkind = 'v'
        """).fetchall()
    # Those that apply migrations are beside them.
    installers = {path.stem for path in (root / "sql" / "migrations").glob("_*.sql")}
    assert sorted(path.stem for path in paths) == sorted({name for (name,) in objects} - installers)


def test_installing_again_changes_nothing(database: str, fresh: str) -> None:
    when = "select * from metl.migration order by number"
    with psycopg.connect(database) as connection:
        before = connection.execute(when).fetchall()
    done = install(database)
    assert done.migrations == []
    with psycopg.connect(database) as connection:
        assert connection.execute(when).fetchall() == before
    assert_same(dump(database), fresh)


def test_an_update_keeps_what_was_written(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("select metl.add_schema_version('orders', 1, %s)", [attributes("a", "b")])
        connection.execute("select metl.add_entity_version('order', 1, %s)", [attributes("c")])
        connection.execute("""select metl.set_block('orders', 1, 'order', 1, '{"c": "a"}')""")
        connection.execute("insert into metl.accepted_type (source_type, type) values ('our_money', 'decimal')")
        connection.execute("select metl.set_topic('orders', 'plain', version => 1)")
        connection.execute("select metl.start_job('map', '/checkpoint', gen_random_uuid())")
        # Each kind that some migration added: an earlier one that runs again must not refuse it.
        for kind in ("initial_load", "load", "capture_remove"):
            connection.execute("select metl.begin_operation(%s, 'a test')", [kind])
        connection.execute(
            """select metl.report_connectors('http://here', '[{"connector": "shop", "status": "failed"}]')"""
        )
        queries = [
            b"select * from metl.decompaction",
            b"select * from metl.states",
            b"select * from metl.accepted_type",
            b"select * from metl.topics",
            b"select * from metl.jobs",
            b"select * from metl.operations",
            b"select * from metl.connectors",
        ]
        before = [connection.execute(query).fetchall() for query in queries]
        install(database)
        assert [connection.execute(query).fetchall() for query in queries] == before


def test_an_update_takes_back_rights_that_are_not_in_the_access_matrix(database: str, fresh: str) -> None:
    """An older release, or somebody in a hurry, may have given more than the matrix of today does."""
    with psycopg.connect(database) as connection:
        connection.execute("grant select, insert on metl.block to metl_reader")
        connection.execute("grant execute on function metl.set_block to metl_job")
        connection.execute("grant execute on function metl._begin_state to metl_steward")
        connection.execute("grant usage on schema metl to public")
        connection.execute("grant select on metl.decompaction to public")
        connection.execute("grant execute on function metl.check to public")
    install(database)
    assert_same(dump(database), fresh)


@pytest.mark.parametrize("options", [(), ("-1",)], ids=["in many transactions", "in one"])
def test_psql_installs_the_same(
    postgres: str, root: Path, fresh: str, tmp_path: Path, options: tuple[str, ...]
) -> None:
    with empty_database(postgres) as dsn:
        for _ in range(2):
            assert psql(dsn, root / "sql" / "install.sql", tmp_path, *options) == "", "no warnings"
            assert_same(dump(dsn), fresh)


@pytest.fixture
def metl(tmp_path: Path) -> Iterator[Metl]:
    command = Metl(tmp_path / "home")
    yield command
    command("down")
    assert command.processes() == []


def test_an_owner_without_any_other_right_installs_without_the_roles(metl: Metl, root: Path, tmp_path: Path) -> None:
    """On a server that never saw sql/roles.sql; a server of its own, whose roles are taken away first."""
    metl("up", "postgres")
    server = Postgres(Home(metl.home))
    password = "only a test's"
    with psycopg.connect(server.dsn(ADMIN, ADMIN), autocommit=True) as admin:
        admin.execute("drop role metl_reader, metl_job, metl_steward")
        admin.execute(sql.SQL("create role somebody login password {}").format(sql.Literal(password)))
        admin.execute("create database theirs owner somebody")
    dsn = make_conninfo(server.dsn("somebody", "theirs"), password=password)

    said = psql(dsn, root / "sql" / "install.sql", tmp_path)
    for role in ("metl_reader", "metl_job", "metl_steward"):
        assert f"There is no role {role}: run sql/roles.sql and then sql/grants.sql to let it in." in said
    install(dsn)
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute("select rolsuper or rolcreaterole from pg_roles where rolname = user").fetchone()
        assert row == (False,)
        connection.execute("select metl.add_schema_version('orders', 1, %s)", [attributes("a")])
        assert connection.execute("select state, who from metl.states").fetchall() == [(1, "somebody")]

    # As the notice says: the administrator makes the roles, the owner lets them in.
    metl("up", "postgres")
    assert psql(dsn, root / "sql" / "grants.sql", tmp_path) == ""
    with psycopg.connect(dsn) as connection:
        row = connection.execute("select has_function_privilege('metl_steward', 'metl.check()', 'execute')").fetchone()
        assert row == (True,)


def test_whoever_listens_is_told_of_every_change(database: str) -> None:
    with (
        psycopg.connect(database, autocommit=True) as listener,
        psycopg.connect(database, autocommit=True) as writer,
    ):
        listener.execute("listen metl_state")
        writer.execute("select metl.add_schema_version('orders', 1, %s)", [attributes("a", "b")])
        with writer.transaction(force_rollback=True):
            writer.execute("select metl.add_schema_version('orders', 2, %s)", [attributes("a")])
        with writer.transaction():
            writer.execute("select metl.add_entity_version('order', 1, %s)", [attributes("c")])
            writer.execute("""select metl.set_block('orders', 1, 'order', 1, '{"c": "a"}')""")
        writer.execute("select metl.delete_schema_version('orders', 1)")
        told = list(listener.notifies(timeout=10, stop_after=4))
        assert [(each.channel, each.payload) for each in told] == [("metl_state", str(n)) for n in range(1, 5)]
        assert list(listener.notifies(timeout=0.2)) == [], "what was undone is not told"


def attributes(*names: str) -> Jsonb:
    return Jsonb([{"name": name, "type": "int32"} for name in names])
