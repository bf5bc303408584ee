"""A Spark session on this machine, with the Kafka and JDBC jars of ivy.xml."""

import os
import sys

from pyspark.sql import SparkSession

from metl.jvm import jars, java


def local_session(name: str, cores: int = 2, settings: dict[str, str] | None = None) -> SparkSession:
    """Needs `jars.fetch("spark")` before. `settings` are those that Spark accepts only at its start."""
    java.machine_java()  # for its error message if there is none; Spark finds the same one by itself
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = (
        SparkSession.builder.master(f"local[{cores}]")
        .appName(name)
        .config("spark.jars", ",".join(str(jar) for jar in sorted(jars.folder("spark").glob("*.jar"))))
        .config("spark.log.level", "ERROR")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", str(cores))
        .config("spark.sql.session.timeZone", "UTC")
    )
    for setting, value in (settings or {}).items():
        builder = builder.config(setting, value)
    return builder.getOrCreate()
