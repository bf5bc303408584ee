"""Algorithm 6: the intersection of a message's values with the column set of its version.

Of the paper's three kinds of parallelism Spark uses that of messages, by partitions. From here on each block of a
message is a row, and its cells are one pass over that row: at a microsecond each, more threads would not pay.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from metl_spark.functions.columns import map_row


def map_values(messages: DataFrame) -> DataFrame:
    """One row for each target of a message, or one without a target.
    Adds entity_before, entity_after and unavailable as JSON."""
    blocks = messages.select("*", f.posexplode_outer("targets").alias("position", "target")).drop("targets")
    mapped = blocks.select(
        *(column for column in blocks.columns if column not in ("before", "after")),
        map_row(f.col("before"), f.col("target.mapping")).alias("mapped_before"),
        map_row(f.col("after"), f.col("target.mapping")).alias("mapped_after"),
    )
    return mapped.select(
        *(column for column in mapped.columns if not column.startswith("mapped_")),
        f.get("mapped_before", f.lit(0)).alias("entity_before"),
        f.get("mapped_after", f.lit(0)).alias("entity_after"),
        f.get("mapped_after", f.lit(1)).alias("unavailable"),
    )
