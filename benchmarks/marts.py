"""What reading the marts costs at the paper's size, 10^8 elements, relative to plain tables with the same rows.

Read over JDBC by Spark, as the jobs do, and by JDBC alone; mart and plain table alternately.
"""

import asyncio
import contextlib
import functools
import itertools
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
from database import database, server
from matrix_load import Matrix, load, timed
from pyspark.sql import SparkSession
from rich.table import Table

from metl.db.install import install
from metl.home import Home
from metl.jvm import jars, spark
from metl.marts import dbt
from metl.util.terminal import console

PAPER = 8
WARM_UP = 5
ROUNDS = 25
CHANGED_SCHEMAS = 20
LIMIT = 2.0

Read = Callable[[str], object]


def jdbc(dsn: str) -> dict[str, str]:
    with psycopg.connect(dsn) as connection:
        server = connection.info
        return {
            "url": f"jdbc:postgresql://{server.host}:{server.port}/{server.dbname}",
            "user": server.user,
            "password": server.password,
            "driver": "org.postgresql.Driver",
        }


def with_spark(session: SparkSession, options: dict[str, str]) -> Read:
    """Reads every row through Spark, to the sink noop."""
    reader = session.read.format("jdbc").options(**options)
    return lambda relation: reader.option("dbtable", relation).load().write.format("noop").mode("overwrite").save()


def with_jdbc_alone(session: SparkSession, options: dict[str, str]) -> Read:
    """Reads every row into the driver's memory, as executeQuery does by default."""
    jvm: Any = session._jvm
    registry = jvm.org.apache.spark.sql.execution.datasources.jdbc.DriverRegistry
    registry.register(options["driver"])
    properties = jvm.java.util.Properties()
    for name in ("user", "password"):
        properties.setProperty(name, options[name])
    connection = registry.get(options["driver"]).connect(options["url"], properties)

    def read(relation: str) -> None:
        statement = connection.createStatement()
        statement.executeQuery(f"select * from {relation}")  # noqa: S608
        statement.close()

    return read


def compare(table: Table, what: str, mart: str, plain: str, reads: dict[str, Read]) -> dict[str, float]:
    """Adds a row for each way of reading; returns the ratios."""
    ratios = {}
    for how, read in reads.items():
        seconds: dict[str, list[float]] = {mart: [], plain: []}
        for number, relation in itertools.product(range(-WARM_UP, ROUNDS), (mart, plain)):
            duration = timed(functools.partial(read, relation))
            if number >= 0:
                seconds[relation].append(duration)
        of_mart, of_plain = (statistics.median(seconds[relation]) * 1000 for relation in (mart, plain))
        ratios[how] = of_mart / of_plain
        table.add_row(what, how, f"{of_mart:.0f}", f"{of_plain:.0f}", f"{ratios[how]:.2f}")
    return ratios


def copy_to_table(connection: psycopg.Connection, mart: str) -> str:
    """A plain table with the rows of the mart."""
    name = f"public.plain_{mart}"
    connection.execute(f"create table {name} as select * from metl_marts.{mart}".encode())  # noqa: S608
    connection.execute(f"vacuum analyze {name}".encode())
    return name


def main() -> None:
    asyncio.run(jars.fetch("spark", lambda _text: None))
    table = Table("what", "how", "mart, ms", "plain table, ms", "ratio", title="select * at 10^8 elements, p50")
    with (
        tempfile.TemporaryDirectory() as folder,
        server() as dsn,
        database(dsn) as address,
        psycopg.connect(address, autocommit=True) as connection,
        contextlib.ExitStack() as stack,
    ):
        install(address)
        matrix = Matrix(PAPER, connection)
        console.print(f"loading {matrix.title} elements", style="dim")
        load(matrix)

        console.print("dbt build", style="dim")
        seconds = timed(lambda: build(Home(Path(folder)), address))
        session = spark.local_session("metl benchmark")
        stack.callback(session.stop)
        options = jdbc(address)
        reads = {"Spark": with_spark(session, options), "JDBC": with_jdbc_alone(session, options)}

        console.print("reading", style="dim")
        dcpm = copy_to_table(connection, "dcpm")
        ratios = compare(table, "dcpm, 10,000 column sets", "metl_marts.dcpm", dcpm, reads)
        compare(table, "dpm, 88,960 ones", "metl_marts.dpm", copy_to_table(connection, "dpm"), reads)
        for schema in matrix.schemas[:CHANGED_SCHEMAS]:
            matrix.ask("select metl.add_schema_version(%s, %s, %s)", schema.next_version("keep", matrix.rng))
        compare(table, f"dcpm, {CHANGED_SCHEMAS} schemas changed since the build", "metl_marts.dcpm", dcpm, reads)
        connection.execute("delete from metl_intermediate.column_sets")
        compare(table, "dcpm, every schema changed since the build", "metl_marts.dcpm", dcpm, reads)

    console.print(table)
    console.print(f"dbt build: {seconds:.1f} s")
    checks = {
        f"dcpm by {how} takes {ratio:.2f} times a plain table, at most {LIMIT:.0f}": ratio <= LIMIT
        for how, ratio in ratios.items()
    }
    checks[f"dbt build takes {seconds:.0f} s, at most 60"] = seconds <= 60
    for claim, holds in checks.items():
        console.print(f"[green]holds[/] {claim}" if holds else f"[red]fails[/] {claim}")


def build(home: Home, dsn: str) -> None:
    done = dbt.run(home, dsn, ["build"], quiet=True)
    assert done.returncode == 0, done.stdout


if __name__ == "__main__":
    main()
