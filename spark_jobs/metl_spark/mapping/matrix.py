"""The matrix as one table of entries to look up by key.

It is read again for every batch, in one statement, so that a batch maps under one state.
"""

from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from metl_spark.functions.columns import quoted

QUERY = Path(__file__).with_name("matrix.sql").read_text(encoding="utf-8")
BLOCKS = "array<struct<entity:string,entity_version:int,mapping:string>>"
LEGAL_TOPIC = r"^[A-Za-z0-9._-]{1,249}$"


def query(job: str, instance: str) -> str:
    """Neither needs quoting: runtime.settings refuses such names."""
    return QUERY.format(job=job, instance=instance)


def read(spark: SparkSession, connection: dict[str, str], job: str, instance: str) -> DataFrame:
    """The rows of matrix.sql over JDBC; `connection` has the options of control.jdbc."""
    return (
        spark.read.format("jdbc")
        .options(**connection)
        .option("driver", "org.postgresql.Driver")
        .option("query", query(job, instance))
        .load()
    )


def read_at(spark: SparkSession, connection: dict[str, str], state: int) -> DataFrame:
    """The same rows, as they were in a state."""
    return (
        spark.read.format("jdbc")
        .options(**connection)
        .option("driver", "org.postgresql.Driver")
        .option("query", f"select * from metl.matrix_at({int(state)})")  # noqa: S608, a number
        .load()
    )


def live_entities(spark: SparkSession, connection: dict[str, str]) -> list[str]:
    """Those with a live version."""
    rows = (
        spark.read.format("jdbc")
        .options(**connection)
        .option("driver", "org.postgresql.Driver")
        .option("query", "select distinct entity from metl.entity_versions where deleted is null")
        .load()
    )
    return [row["entity"] for row in rows.collect()]


def observed_entries(rows: DataFrame, prefix: str) -> DataFrame:
    """The entries. Metrics about them come with the progress of the batch, also of an empty one."""
    observed = rows.observe(
        "matrix",
        f.max("state").alias("state"),
        f.count("*").alias("rows"),
        f.sum(f.octet_length("key") + f.octet_length("column_set")).alias("bytes"),
    )
    return entries(observed, prefix)


def entries(rows: DataFrame, prefix: str) -> DataFrame:
    """key and entry: whatever does not depend on a message is computed here, once for a batch."""
    blocks = f.transform(f.from_json("column_set", BLOCKS), lambda block: _target(block, prefix))
    entry = f.struct(
        "state",
        "schema",
        "version",
        "format",
        "payload",
        blocks.alias("targets"),
        f.forall(blocks, lambda target: target["topic"].isNotNull()).alias("is_routable"),
    )
    return rows.select("key", entry.alias("entry"))


def _target(block: Column, prefix: str) -> Column:
    """One entity that a schema version feeds: its topic, the beginning of its values, its cells as JSON."""
    topic = f.concat(f.lit(prefix), block["entity"])
    head = f.concat(
        f.lit('{"entity":'), quoted(block["entity"]), f.lit(',"version":'), block["entity_version"], f.lit(',"op":"')
    )
    return f.struct(
        f.when(topic.rlike(LEGAL_TOPIC), topic).alias("topic"),
        head.cast("binary").alias("head"),
        f.coalesce(block["mapping"], f.lit("{}")).cast("binary").alias("mapping"),
    )
