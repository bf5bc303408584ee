"""Batches into PostgreSQL: executors copy them into a staging table, one function merges them."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession

from metl.errors import MetlError
from metl_spark.runtime.control import Control
from metl_spark.runtime.failures import CAUSE, HALT, first_line, messages
from metl_spark.runtime.session import jvm_with_functions
from metl_spark.warehouse import records
from metl_spark.warehouse.settings import WarehouseSettings

#: Errors that a retry does not mend.
REFUSALS = (
    psycopg.errors.UndefinedTable,
    psycopg.errors.DuplicateTable,
    psycopg.errors.DatatypeMismatch,
    psycopg.errors.InsufficientPrivilege,
)

Merged = dict[int, dict[str, Any]]


def merge_into(
    spark: SparkSession, control: Control, settings: WarehouseSettings, instance: str, merged: Merged
) -> Callable[[DataFrame, int], None]:
    """The function for foreachBatch; it adds counts of each batch to `merged`. Merging a batch again changes
    nothing."""

    def merge(batch: DataFrame, number: int) -> None:
        try:
            with control.new_connection() as connection:
                # Fails if the job is requested to stop or this instance was superseded.
                connection.execute("select metl.begin_batch(%s, %s)", [settings.job, instance])
                [(staged,)] = connection.execute("select metl.open_warehouse(%s)", [settings.job]).fetchall()
                _copy(spark, batch, control.jdbc, staged)
                rows = connection.execute("select metl.staged_entities(%s)", [settings.job]).fetchall()
                merged[number] = _merge(control, settings.job, [entity for (entity,) in rows])
        except REFUSALS as error:
            sentence = " ".join(filter(None, (error.diag.message_primary, error.diag.message_hint)))
            raise RuntimeError(f"{HALT}{sentence}{HALT}") from None
        except (psycopg.Error, MetlError) as error:
            raise RuntimeError(f"{CAUSE}{' '.join(str(error).split())}{CAUSE}") from None
        except Py4JJavaError as error:
            causes = messages(error.java_exception)
            raise RuntimeError(f"{CAUSE}{first_line(causes)}{CAUSE}\n{causes}") from None

    return merge


def _merge(control: Control, job: str, entities: list[str]) -> dict[str, Any]:
    """One transaction for each entity, as many at once as there are processors."""

    def one(entity: str) -> dict[str, Any]:
        with control.new_connection() as connection:
            [(counts,)] = connection.execute("select metl.merge_warehouse(%s, %s)", [job, entity]).fetchall()
            return counts  # type: ignore[no-any-return]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = list(pool.map(one, entities))
    return {
        "rejected": sum(counts["rejected"] for counts in done),
        "state": max((counts["state"] for counts in done), default=0),
    }


def _copy(spark: SparkSession, rows: DataFrame, jdbc: dict[str, str], staged: str) -> None:
    jvm: Any = jvm_with_functions(spark)
    properties = jvm.java.util.HashMap()
    # No timeout: a large batch takes long.
    for name, value in {**jdbc, "socketTimeout": "0"}.items():
        if name != "url":
            properties.put(name, value)
    columns = ", ".join(f'"{column}"' for column in records.COLUMNS)
    statement = f"copy warehouse.{staged} ({columns}) from stdin (format binary)"
    jvm.metl.Copy.into(rows._jdf, jdbc["url"], properties, statement)
