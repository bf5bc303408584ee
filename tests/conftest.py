"""Real parts for every test that asks for them; see tests/parts.py for where they come from."""

import asyncio
import contextlib
import json
import os
import signal
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from pyspark.sql import SparkSession
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from metl.config import port_range
from metl.db.install import install
from metl.home import Home
from metl.jvm import jars
from metl.jvm.spark import local_session
from metl.marts import dbt
from metl.util import signals
from tests import jvm, leftovers
from tests.parts import Source, source

#: Whole folders that stay in one process: their files share a stack.
TOGETHER = ("tests/capture/",)
#: Each test starts what it needs for itself.
APART = "tests/stack/"
#: What takes minutes begins first, so that no process is left with it at the end.
FIRST = ("tests/convergence", "tests/docs", "tests/warehouse/test_jobs.py", "tests/live", "tests/capture", "tests/dbt")


def pytest_configure(config: pytest.Config) -> None:
    if worker := os.environ.get("PYTEST_XDIST_WORKER"):
        _use_own_ports(int(worker.removeprefix("gw")), int(os.environ["PYTEST_XDIST_WORKER_COUNT"]))
        return
    config.option.loadscopereorder = False
    leftovers.mark()
    jvm.use()


def pytest_unconfigure() -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        with signals.shielded():
            leftovers.end()


def _use_own_ports(number: int, count: int) -> None:
    """Two processes would find the same port free at the same moment."""
    ports = port_range()
    share = ports[number * len(ports) // count : (number + 1) * len(ports) // count]
    os.environ["METL_PORTS"] = f"{share[0]}-{share[-1]}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        return next((number for number, start in enumerate(FIRST) if item.nodeid.startswith(start)), len(FIRST))

    items.sort(key=place)


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
    """A file, and so what its tests share, stays in one process."""

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(APART):
            return nodeid
        file = nodeid.split("::")[0]
        return next((folder for folder in TOGETHER if file.startswith(folder)), file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    return Scheduling(config, log)


def pytest_sessionstart() -> None:
    # A polite kill, as of a CI job that is cancelled, stops the servers just as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(scope="session")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    with source(tmp_path_factory.mktemp("parts")) as chosen:
        yield chosen


@pytest.fixture(scope="session")
def postgres(parts: Source) -> str:
    """The DSN of a role that may create databases; no superuser."""
    return parts.address("postgres")


@pytest.fixture(scope="session")
def kafka(parts: Source) -> str:
    return parts.address("kafka")


@pytest.fixture(scope="session")
def registry(parts: Source) -> str:
    return parts.address("registry")


@pytest.fixture(scope="session")
def connect(parts: Source) -> str:
    return parts.address("connect")


@pytest.fixture(scope="session")
def template(postgres: str) -> Iterator[str]:
    """A database that every test gets a copy of; what all tests need is installed here once."""
    with scratch_database(postgres) as name:
        install(make_conninfo(postgres, dbname=name))
        yield name


@dataclass(frozen=True)
class Marts:
    """A database with METL and its marts, to be copied: dbt takes seconds to make them."""

    database: str
    manifest: Any

    def code(self, model: str) -> str:
        """The compiled SQL of a model, for any database."""
        return str(self.manifest["nodes"][f"model.metl.{model}"]["compiled_code"]).replace(f'"{self.database}".', "")

    @property
    def refill(self) -> list[bytes]:
        """What another `metl dbt run` does to a copy. All else is views."""
        table = "metl_intermediate.column_sets"
        return [f"delete from {table}".encode(), f"insert into {table} {self.code('column_sets')}".encode()]

    def refresh(self, dsn: str) -> None:
        with psycopg.connect(dsn) as connection:
            for statement in self.refill:
                connection.execute(statement)


@pytest.fixture(scope="session")
def marts(postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marts]:
    home = Home(tmp_path_factory.mktemp("dbt"))
    with scratch_database(postgres, template) as name:
        done = dbt.run(home, make_conninfo(postgres, dbname=name), ["run"], quiet=True)
        assert done.returncode == 0, done.stdout
        yield Marts(name, json.loads((dbt.target(home) / "manifest.json").read_text()))


@pytest.fixture
def database(postgres: str, template: str) -> Iterator[str]:
    """The DSN of a fresh database, gone after the test."""
    with scratch_database(postgres, template) as name:
        yield make_conninfo(postgres, dbname=name)


@contextlib.contextmanager
def scratch_database(server: str, template: str = "template1") -> Iterator[str]:
    name = f"metl_test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(
            sql.SQL("create database {} template {}").format(sql.Identifier(name), sql.Identifier(template))
        )
        try:
            yield name
        finally:
            drop_database(connection, name)


def drop_database(connection: psycopg.Connection, name: str) -> None:
    """An autovacuum worker may be at work in it, which an owner may not end; it is gone in a moment."""
    for patience in (0.5, 1, 2, 4, 0):
        try:
            connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))
            return
        except psycopg.errors.InsufficientPrivilege:
            if not patience:
                raise
        time.sleep(patience)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """With the Kafka and JDBC jars of ivy.xml, and a slot for every partition that a test reads in real time."""
    asyncio.run(jars.fetch("spark", lambda text: None))
    session = local_session("metl tests", cores=16, settings={"spark.sql.shuffle.partitions": "2"})
    yield session
    session.stop()


@pytest.fixture(scope="session")
def root() -> Path:
    return Path(__file__).parents[1]
