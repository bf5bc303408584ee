"""What the database knows, as one table to look things up in.

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
    """Both are without quotes: mapper.settings lets no other name pass."""
    return QUERY.format(job=job, instance=instance)


def read(spark: SparkSession, connection: dict[str, str], job: str, instance: str) -> DataFrame:
    """The rows of matrix.sql over JDBC; `connection` has the url and who asks."""
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
    """Those that there still are."""
    rows = (
        spark.read.format("jdbc")
        .options(**connection)
        .option("driver", "org.postgresql.Driver")
        .option("query", "select distinct entity from metl.entity_versions where deleted is null")
        .load()
    )
    return [row["entity"] for row in rows.collect()]


def prepare(rows: DataFrame, prefix: str) -> DataFrame:
    """The entries, and figures about them with the progress of the batch: an empty batch, too, has a matrix and a
    state."""
    counted = rows.observe(
        "matrix",
        f.max("state").alias("state"),
        f.count("*").alias("rows"),
        f.sum(f.octet_length("key") + f.octet_length("column_set")).alias("bytes"),
    )
    return entries(counted, prefix)


def entries(rows: DataFrame, prefix: str) -> DataFrame:
    """key, entry: whatever does not depend on a message is made ready here, once for a batch."""
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
    """One entity that a schema version feeds: where to, the beginning of its values, its cells as JSON."""
    topic = f.concat(f.lit(prefix), block["entity"])
    head = f.concat(
        f.lit('{"entity":'), quoted(block["entity"]), f.lit(',"version":'), block["entity_version"], f.lit(',"op":"')
    )
    return f.struct(
        f.when(topic.rlike(LEGAL_TOPIC), topic).alias("topic"),
        head.cast("binary").alias("head"),
        f.coalesce(block["mapping"], f.lit("{}")).cast("binary").alias("mapping"),
    )
