"""A database that is not ready gets a sentence with the way out, and nothing is left behind in it."""

import os
import signal
import subprocess
import sys
import time

import psutil
import psycopg
import pytest
from click.testing import CliRunner
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from metl.cli import main
from metl.marts.dbt import environment
from tests.conftest import scratch_database
from tests.dbt.conftest import Dbt
from tests.matrix.roles import member


def test_a_database_without_metl(postgres: str, dbt_on: Dbt) -> None:
    with scratch_database(postgres) as name:
        dsn = make_conninfo(postgres, dbname=name)
        for command in ("build", "compile"):
            done = Dbt(dsn, dbt_on.home.path)(command)
            assert done.returncode != 0
            assert f"Database {name} has no METL in it. Run: metl install" in done.stdout
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
    assert CliRunner().invoke(main, ["marts", "dbt", "bild"], env=environment).exit_code == 2
    assert CliRunner().invoke(main, ["marts", "dbt", "--version"], env=environment).exit_code == 0


def test_a_database_that_does_not_answer() -> None:
    result = CliRunner().invoke(main, ["marts", "build"], env={"METL_DSN": "postgresql://ada:secret@127.0.0.1:1/metl"})
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


def test_somebody_who_is_not_the_owner(dbt_on: Dbt) -> None:
    with psycopg.connect(dbt_on.dsn, autocommit=True) as owner, member(owner, "metl_reader") as reader:
        dsn = make_conninfo(dbt_on.dsn, user=reader.info.user, password=reader.info.password)
        done = Dbt(dsn, dbt_on.home.path)("build")
        assert done.returncode != 0
        assert f"{reader.info.user} may not build the marts" in done.stdout
        assert f"Run it as the owner of METL, {owner.info.user}." in done.stdout


def test_what_stands_in_the_way_of_a_mart(dbt_on: Dbt) -> None:
    with psycopg.connect(dbt_on.dsn) as connection:
        connection.execute("create schema metl_marts")
        connection.execute("create table metl_marts.states (state bigint)")
        connection.execute("create view metl_marts.dpm as select 1 as something_else")
    done = dbt_on("run", "--select", "states", "dpm")
    assert done.returncode == 1
    assert '"metl_marts"."states" is a table and not a view of METL. Rename or drop it' in done.stdout
    assert 'run: drop view "metl_marts"."dpm" cascade' in done.stdout


def test_dbt_goes_where_the_dsn_leads(dbt_on: Dbt, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where libpq fills in what the DSN does not say."""
    parts = conninfo_to_dict(dbt_on.dsn)
    host, port = parts["host"], parts["port"]
    name = str(parts.pop("dbname"))
    monkeypatch.setenv("PGDATABASE", name)
    monkeypatch.setenv("DBT_TARGET", "of another project")
    parts |= {"host": f"{host},{host}", "port": f"1,{port}"}
    found = environment(dbt_on.home, make_conninfo("", **parts))
    assert (found["PGDATABASE"], found["PGPORT"], found["PGHOST"]) == (name, str(port), host)
    assert "DBT_TARGET" not in found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_dbt_ends_with_the_command(dbt_on: Dbt, number: signal.Signals) -> None:
    """Also while it waits for a lock, where its connections would go on waiting."""
    environment = {**os.environ, "METL_DSN": dbt_on.dsn, "METL_HOME": str(dbt_on.home.path)}
    with psycopg.connect(dbt_on.dsn) as holder, psycopg.connect(dbt_on.dsn, autocommit=True) as watcher:
        holder.execute("lock table metl.state in access exclusive mode")
        command = subprocess.Popen(
            [sys.executable, "-m", "metl", "marts", "dbt", "run"],
            env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        waiting = (
            "select count(*) from pg_stat_activity where datname = current_database() and application_name = 'dbt'"
        )
        await_count(watcher, f"{waiting} and wait_event_type = 'Lock'", at_least=1)
        command.send_signal(number)
        said, _ = command.communicate(timeout=20)
        assert command.returncode == 130
        assert said.splitlines()[-1] == "Error: Interrupted. What this command had started was stopped.", said
        assert "resource_tracker" not in said and "Traceback" not in said
        await_count(watcher, waiting, at_most=0)


def await_count(connection: psycopg.Connection, query: str, at_least: int = 0, at_most: int = 1_000) -> None:
    end = time.monotonic() + 30
    while not at_least <= (found := connection.execute(query.encode()).fetchone() or (0,))[0] <= at_most:
        assert time.monotonic() < end, found
        time.sleep(0.1)


def test_lineage_leaves_no_dbt_behind(dbt_on: Dbt) -> None:
    command = subprocess.Popen(
        [sys.executable, "-m", "metl", "marts", "lineage", "dpm"],
        env={**os.environ, "METL_DSN": dbt_on.dsn, "METL_HOME": str(dbt_on.home.path)},
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    end = time.monotonic() + 30
    while not (children := psutil.Process(command.pid).children()):
        assert time.monotonic() < end
        time.sleep(0.1)
    command.send_signal(signal.SIGTERM)
    said, _ = command.communicate(timeout=20)
    assert command.returncode == 130 and "Interrupted" in said and "Traceback" not in said
    gone, alive = psutil.wait_procs(children, timeout=10)
    assert gone and not alive
