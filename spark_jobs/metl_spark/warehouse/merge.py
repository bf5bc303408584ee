"""Batches into PostgreSQL: executors copy them, one function merges them."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession

from metl.errors import MetlError
from metl_spark.runtime.control import Control
from metl_spark.runtime.failures import SAID, first_line, messages
from metl_spark.runtime.session import see_functions
from metl_spark.runtime.settings import Settings
from metl_spark.runtime.supervise import REFUSED
from metl_spark.warehouse import records

#: What somebody has to mend before the job can go on.
REFUSALS = (
    psycopg.errors.UndefinedTable,
    psycopg.errors.DuplicateTable,
    psycopg.errors.DatatypeMismatch,
    psycopg.errors.InsufficientPrivilege,
)

Merged = dict[int, dict[str, Any]]


def merging(
    spark: SparkSession, control: Control, settings: Settings, instance: str, merged: Merged
) -> Callable[[DataFrame, int], None]:
    """What foreachBatch calls; `merged` gets what became of each batch. A batch that comes again changes nothing."""

    def merge(batch: DataFrame, number: int) -> None:
        try:
            with control.another_line() as connection:
                # Fails if this job is told to stop or is no longer the one to run.
                connection.execute("select metl.begin_batch(%s, %s)", [settings.job, instance])
                [(staged,)] = connection.execute("select metl.open_warehouse(%s)", [settings.job]).fetchall()
                _copy(spark, batch, control.jdbc, staged)
                found = connection.execute("select metl.staged_entities(%s)", [settings.job]).fetchall()
                merged[number] = _merge(control, settings.job, [entity for (entity,) in found])
        except REFUSALS as error:
            said = (error.diag.message_primary, error.diag.message_hint)
            raise RuntimeError(f"{REFUSED}{' '.join(filter(None, said))}{REFUSED}") from None
        except (psycopg.Error, MetlError) as error:
            raise RuntimeError(f"{SAID}{' '.join(str(error).split())}{SAID}") from None
        except Py4JJavaError as error:
            told = messages(error.java_exception)
            raise RuntimeError(f"{SAID}{first_line(told)}{SAID}\n{told}") from None

    return merge


def _merge(control: Control, job: str, entities: list[str]) -> dict[str, Any]:
    """Each entity for itself, as many at once as there are processors."""

    def one(entity: str) -> dict[str, Any]:
        with control.another_line() as connection:
            [(counts,)] = connection.execute("select metl.merge_warehouse(%s, %s)", [job, entity]).fetchall()
            return counts  # type: ignore[no-any-return]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = list(pool.map(one, entities))
    return {
        "rejected": sum(counts["rejected"] for counts in done),
        "state": max((counts["state"] for counts in done), default=0),
    }


def _copy(spark: SparkSession, rows: DataFrame, jdbc: dict[str, str], staged: str) -> None:
    jvm: Any = see_functions(spark)
    properties = jvm.java.util.HashMap()
    # A batch takes as long as it takes.
    for name, value in {**jdbc, "socketTimeout": "0"}.items():
        if name != "url":
            properties.put(name, value)
    columns = ", ".join(f'"{column}"' for column in records.COLUMNS)
    statement = f"copy warehouse.{staged} ({columns}) from stdin (format binary)"
    jvm.metl.Copy.into(rows._jdf, jdbc["url"], properties, statement)
