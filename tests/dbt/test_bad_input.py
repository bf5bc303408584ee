"""A database that is not ready gets a sentence with the way out, and nothing is left behind in it."""

import psycopg
from click.testing import CliRunner
from psycopg.conninfo import make_conninfo

from metl.cli import main
from tests.conftest import scratch_database
from tests.dbt.conftest import Dbt


def test_a_database_without_metl(postgres: str, dbt_on: Dbt) -> None:
    with scratch_database(postgres) as name:
        dsn = make_conninfo(postgres, dbname=name)
        for command in ("build", "compile"):
            done = Dbt(dsn, dbt_on.home.path)(command)
            assert done.returncode != 0
            assert f"Database {name} has no METL in it" in done.stdout and "Run: metl install" in done.stdout
            assert "Traceback" not in done.stdout
        with psycopg.connect(dsn) as connection:
            found = connection.execute("select nspname from pg_namespace where nspname like 'metl%'").fetchall()
            assert found == []


def test_an_older_metl(dbt_on: Dbt) -> None:
    with psycopg.connect(dbt_on.dsn) as connection:
        connection.execute("drop view metl.schema_refs")
    done = dbt_on("build")
    assert done.returncode != 0
    assert "has an older METL: metl.schema_refs has no column schema. Run: metl install" in done.stdout
    with psycopg.connect(dbt_on.dsn) as connection:
        assert connection.execute("select to_regnamespace('metl_marts')").fetchall() == [(None,)]


def test_the_exit_code_is_dbts_own(dbt_on: Dbt) -> None:
    environment = {"METL_DSN": dbt_on.dsn, "METL_HOME": str(dbt_on.home.path)}
    assert CliRunner().invoke(main, ["dbt", "bild"], env=environment).exit_code == 2
    assert CliRunner().invoke(main, ["dbt", "--version"], env=environment).exit_code == 0


def test_a_database_that_does_not_answer() -> None:
    result = CliRunner().invoke(main, ["dbt", "build"], env={"METL_DSN": "postgresql://ada:secret@127.0.0.1:1/metl"})
    assert result.exit_code == 1
    assert "The database does not answer" in result.stderr
    assert "secret" not in result.output


def test_the_password_is_in_no_file_and_no_argument(dbt_on: Dbt) -> None:
    with psycopg.connect(dbt_on.dsn) as connection:
        password = connection.info.password
    assert password
    dbt_on.succeed("compile", "--debug")
    written = [file for file in dbt_on.home.path.rglob("*") if file.is_file()]
    assert written
    assert [file for file in written if password.encode() in file.read_bytes()] == []
