"""Databases of earlier releases become what a fresh installation is, and keep their data."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from metl.db.install import install
from tests.matrix.catalog import assert_same, dump, empty_database, psql

HERE = Path(__file__).parent
#: Frozen trees, with what they can hold.
RELEASES = {"oldest": ["oldest"], "before_checksums": ["oldest", "before_checksums"]}
Install = Callable[[str], object]


@pytest.fixture(params=["metl install", "psql", "psql -1"])
def upgrade(request: pytest.FixtureRequest, root: Path, tmp_path: Path) -> Install:
    if request.param == "metl install":
        return install
    options = request.param.split()[1:]

    def by_psql(dsn: str) -> None:
        assert psql(dsn, root / "sql" / "install.sql", tmp_path, *options) == "", "no warnings"

    return by_psql


@contextmanager
def old_database(postgres: str, release: str, data: list[str]) -> Iterator[str]:
    with empty_database(postgres) as dsn:
        psql(dsn, HERE / "releases" / f"{release}.sql", HERE, "-1")
        for name in data:
            psql(dsn, HERE / "data" / f"{name}.sql", HERE)
        yield dsn


def with_sorted_columns(catalog: str) -> str:
    """An upgrade adds columns to tables at their end; which place they have is the only difference allowed."""
    return re.sub(
        r"^CREATE TABLE (\S+) \(\n(.*?)\n\);$",
        lambda table: "\n".join([table[1], *sorted(line.rstrip(",") for line in table[2].splitlines())]),
        catalog,
        flags=re.M | re.S,
    )


@pytest.mark.parametrize("release", RELEASES)
def test_an_upgrade_leaves_the_catalog_of_a_fresh_installation(
    postgres: str, template: str, release: str, upgrade: Install
) -> None:
    fresh = dump(make_conninfo(postgres, dbname=template))
    with old_database(postgres, release, []) as dsn:
        upgrade(dsn)
        assert_same(with_sorted_columns(dump(dsn)), with_sorted_columns(fresh))
        if release != "oldest":
            assert_same(dump(dsn), fresh)


def test_no_function_of_an_earlier_release_stays(postgres: str, template: str, root: Path) -> None:
    """An old overload, with the owner's rights, would be called or granted again. trees/functions.txt has them all."""
    ever = (HERE / "releases" / "functions.txt").read_text().splitlines()
    dropped = re.findall(r"^drop function if exists (.*);$", (root / "sql" / "dropped.sql").read_text(), re.M)
    assert dropped == sorted(set(dropped))
    with psycopg.connect(postgres, dbname=template) as connection:
        query = "select signature from unnest(%s::text[]) as signature where to_regprocedure(signature) is not null"
        assert connection.execute(query, [dropped]).fetchall() == []
        living = {signature for (signature,) in connection.execute(query, [ever])}
    assert set(ever) - living - set(dropped) == set()


def tables(connection: psycopg.Connection) -> dict[str, list[str]]:
    """The columns of every table of METL, of the warehouse too."""
    return dict(
        connection.execute("""
            select attrelid::regclass::text, array_agg(attname::text order by attname)
            from pg_attribute inner join pg_class on attrelid = pg_class.oid
            where
                relnamespace in (to_regnamespace('metl'), to_regnamespace('warehouse'))
                and relkind = 'r' and attnum > 0 and not attisdropped
            group by attrelid
        """).fetchall()
    )


def contents(connection: psycopg.Connection, columns: dict[str, list[str]]) -> dict[str, list[tuple[Any, ...]]]:
    found = {}
    for table, names in columns.items():
        query = sql.SQL("select {} from {} as t order by t::text").format(
            sql.SQL(", ").join(map(sql.Identifier, names)),
            sql.SQL(table),
        )
        found[table] = connection.execute(query).fetchall()
    return found


@pytest.mark.parametrize("release", RELEASES)
def test_an_upgrade_keeps_all_data(postgres: str, release: str, upgrade: Install) -> None:
    with old_database(postgres, release, RELEASES[release]) as dsn:
        with psycopg.connect(dsn) as connection:
            columns = tables(connection)
            # An operation of kind load, of which an earlier migration knew nothing, used to fail every later upgrade.
            before = contents(connection, columns)
            empty = {table for table, rows in before.items() if not rows}
            assert not empty, "every table has something to lose"
            ones = connection.execute("select * from metl.decompaction order by 1, 2, 3, 4, 5, 6").fetchall()
            history = [
                connection.execute(f"select * from metl.decompaction_at({state}) order by 1, 2, 3, 4, 5, 6").fetchall()
                for state in range(14)
            ]
        upgrade(dsn)
        with psycopg.connect(dsn) as connection:
            after = contents(connection, columns)
            for table, rows in before.items():
                # An upgrade adds types and migrations.
                if table in ("metl.type", "metl.accepted_type", "metl.migration"):
                    assert set(rows) <= set(after[table]), table
                else:
                    assert sorted(rows, key=str) == sorted(after[table], key=str), table
            assert connection.execute("select * from metl.decompaction order by 1, 2, 3, 4, 5, 6").fetchall() == ones
            assert [
                connection.execute(f"select * from metl.decompaction_at({state}) order by 1, 2, 3, 4, 5, 6").fetchall()
                for state in range(14)
            ] == history
            assert connection.execute("select * from metl.check()").fetchall() == []


@pytest.mark.parametrize("release", RELEASES)
def test_work_goes_on_after_an_upgrade(postgres: str, release: str) -> None:
    with old_database(postgres, release, RELEASES[release]) as dsn:
        install(dsn)
        with psycopg.connect(dsn) as connection:
            # The plan that waits is confirmed with the losses that it was shown with.
            [(plan, lost)] = connection.execute(
                "select plan_id, lost from metl.plans where decision = 'waiting' and name = 'orders'"
            ).fetchall()
            assert [(cell["attribute"], cell["entity_attribute"]) for cell in lost] == [("total", "sum")]
            connection.execute("select metl.confirm_plan(%s)", [plan])
            notices = connection.execute(
                "select confirmed_at is not null from metl.notices where kind = 'waiting' and schema = 'orders'"
            ).fetchall()
            assert set(notices) == {(True,)}
            connection.execute("""
                select metl.add_schema_version('orders', 7, '[{"name": "other", "type": "int32"}]')
            """)
            connection.execute("""select metl.set_block('orders', 7, 'order', 2, '{"number": "other"}')""")
            assert connection.execute("select * from metl.check()").fetchall() == []


def test_rows_are_merged_into_tables_of_an_earlier_release(postgres: str) -> None:
    with old_database(postgres, "before_checksums", RELEASES["before_checksums"]) as dsn:
        install(dsn)
        with psycopg.connect(dsn) as connection:
            [(staged,)] = connection.execute("select metl.open_warehouse('map')").fetchall()
            connection.execute(
                sql.SQL("""
                    insert into warehouse.{} (
                        entity, source, key, partition, "offset", at, op, after, state, schema, version
                    ) values (
                        'order', 'orders', '{{"id": 1}}', '0', '7', '3000', 'u', '{{"sum": 13.75}}', '14', 'orders', '5'
                    )
                """).format(sql.Identifier(staged))
            )
            connection.execute("select metl.merge_warehouse('map', 'order')")
            found = connection.execute('select _key, sum::text from warehouse."order" order by _key').fetchall()
            assert found == [({"id": 1}, "13.75"), ({"id": 3}, "3.25")]
