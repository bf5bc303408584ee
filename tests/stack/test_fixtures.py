"""The parts that other tests stand on."""

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from pyspark.sql import SparkSession

from tests import topics


@pytest.mark.parametrize("_", range(2))
def test_every_test_gets_a_fresh_database(database: str, _: int) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("create table only_once ()")


def test_spark_reads_kafka(spark: SparkSession, kafka: str) -> None:
    topics.write(kafka, "spark-reads", [b"one", b"two"])
    read = spark.read.format("kafka").option("kafka.bootstrap.servers", kafka).option("subscribe", "spark-reads").load()
    assert sorted(bytes(row["value"]) for row in read.select("value").collect()) == [b"one", b"two"]


def test_spark_reads_postgresql(spark: SparkSession, database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("create table matrix as select * from generate_series(1, 3) as element")
        password = connection.info.password
    server = conninfo_to_dict(database)
    read = (
        spark.read.format("jdbc")
        .option("url", f"jdbc:postgresql://{server['host']}:{server['port']}/{server['dbname']}")
        .option("user", str(server["user"]))
        .option("password", password)
        .option("driver", "org.postgresql.Driver")
        .option("dbtable", "matrix")
        .load()
    )
    assert sorted(row["element"] for row in read.collect()) == [1, 2, 3]
