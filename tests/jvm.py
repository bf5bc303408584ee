"""What the JVMs of tests are started with. Most of them live for seconds, and starting is most of what they do.

    python -m tests.jvm      makes the archive of Spark's classes, unless there is one

The archive (class data sharing) spares loading and verifying 15,000 classes: with it, and without the second compiler,
whose work pays off only after minutes, a Spark job starts with a third of the CPU time.
"""

import asyncio
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from metl.config import cache_folder
from metl.jvm import jars, java
from metl.jvm.spark import local_session

FIRST_COMPILER = "-XX:TieredStopAtLevel=1"


def archive() -> Path:
    """Valid for one Java and for one set of jars, which it knows by place, size and time."""
    files = sorted(jars.spark_jars().glob("*.jar"))
    parts = [str((file, file.stat().st_size, file.stat().st_mtime_ns)) for file in files]
    version = subprocess.run([java.machine_java(), "-version"], capture_output=True, text=True, check=True).stderr
    return cache_folder() / f"spark-classes-{hashlib.sha256(''.join([version, *parts]).encode()).hexdigest()[:12]}.jsa"


def use() -> None:
    """For this process and all that it starts."""
    os.environ["JDK_JAVA_OPTIONS"] = FIRST_COMPILER
    found = archive()
    if found.exists():
        os.environ["SPARK_SUBMIT_OPTS"] = f"-XX:SharedArchiveFile={found}"


def make(to: Path) -> None:
    """The JVM writes it when it ends: of what a session, a plan and a stream have loaded."""
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=".classes-") as scratch:
        fresh = Path(scratch, to.name)
        os.environ["JDK_JAVA_OPTIONS"] = FIRST_COMPILER
        os.environ["SPARK_SUBMIT_OPTS"] = f"-XX:ArchiveClassesAtExit={fresh} -Xlog:disable"
        asyncio.run(jars.fetch("spark", lambda _text: None))
        spark = local_session("classes", settings={"spark.sql.shuffle.partitions": "2"})
        rates = spark.readStream.format("rate").load().selectExpr("value", "to_json(struct(value)) as text")
        small = spark.createDataFrame([(number, f"{number}") for number in range(9)], "value long, name string")
        query = rates.join(small, "value").writeStream.format("memory").queryName("rates").trigger(availableNow=True)
        query.option("checkpointLocation", str(Path(scratch, "checkpoint"))).start().awaitTermination()
        small.groupBy("name").count().orderBy("name").collect()
        context = spark.sparkContext
        process = context._gateway.proc  # type: ignore[union-attr]
        spark.stop()
        # pyspark's own end of it is a kill, at which nothing would be written.
        process.stdin.close()
        process.wait(120)
        fresh.replace(to)


if __name__ == "__main__":
    if not (wanted := archive()).exists():
        sys.stdout.write("Making an archive of Spark's classes, the first time only.\n")
        make(wanted)
