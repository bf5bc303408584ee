"""A baseline: a hand-written Spark job that makes the same records, with one topic's columns in its code."""

import sys

from backlog import PERSON, PLACE, TOPIC
from baseline import run
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

ROW = "struct<id:bigint,name:string,email:string,city:string,street:string,zip:string,balance:string,seen:bigint>"
SOURCE = "struct<version:string,connector:string,name:string,`table`:string,lsn:bigint>"
MESSAGE = f"struct<schemaId:int,payload:struct<before:{ROW},after:{ROW},source:{SOURCE},op:string,ts_ms:bigint>>"


def records(messages: DataFrame) -> DataFrame:
    parsed = messages.select("*", f.from_json(f.col("value").cast("string"), MESSAGE).alias("message"))
    key = f.concat(f.lit(f'{{"source":"{TOPIC}","key":'), f.col("key").cast("string"), f.lit("}"))
    entities = f.array(_entity("person", PERSON), _entity("place", PLACE))
    return parsed.select(key.alias("key"), _headers().alias("headers"), f.explode(entities).alias("entity")).select(
        "entity.topic", "key", "entity.value", "headers"
    )


def _entity(name: str, mapping: dict[str, str]) -> Column:
    value = f.to_json(
        f.struct(
            f.lit(name).alias("entity"),
            f.lit(1).alias("version"),
            "message.payload.op",
            "message.payload.ts_ms",
            _row("before", mapping).alias("before"),
            _row("after", mapping).alias("after"),
            "message.payload.source",
        )
    )
    return f.struct(f.lit(f"hand.{name}").alias("topic"), value.alias("value"))


def _row(side: str, mapping: dict[str, str]) -> Column:
    row = f.col(f"message.payload.{side}")
    return f.when(row.isNotNull(), f.struct(*(row[attribute].alias(name) for name, attribute in mapping.items())))


def _headers() -> Column:
    values = {
        "metl.state": f.lit("13"),
        "metl.schema": f.lit(TOPIC),
        "metl.version": f.col("message.schemaId").cast("string"),
        "metl.topic": f.col("topic"),
        "metl.partition": f.col("partition").cast("string"),
        "metl.offset": f.col("offset").cast("string"),
    }
    return f.array(
        *(f.struct(f.lit(name).alias("key"), value.cast("binary").alias("value")) for name, value in values.items())
    )


def main(brokers: str, checkpoint: str) -> None:
    run(brokers, checkpoint, records, TOPIC)


if __name__ == "__main__":
    main(*sys.argv[1:])
