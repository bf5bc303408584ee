"""Spark functions that are written in Scala, compiled by the compiler that comes with Spark.

The jar is kept in the user's cache, under the digest of what it was made of.
"""

import asyncio
import hashlib
import tempfile
from pathlib import Path

from metl import jars, java, resources, tool
from metl.errors import MetlError

SOURCES = "spark_jobs/functions"
JAR = "metl-functions.jar"
OPTIONS = ("-release", str(java.OLDEST), "-usejavacp")


def sources() -> list[Path]:
    return sorted(resources.path(SOURCES).glob("*.scala"))


def build() -> Path:
    """The jar, compiled if it is not there: five seconds, once."""
    compiler = [jar.name.encode() for jar in jars.of_spark().glob("scala-compiler*.jar")]
    made_of = b"\0".join([*compiler, *(source.read_bytes() for source in sources())])
    jar = jars.cache() / f"functions-{hashlib.sha256(made_of).hexdigest()[:12]}" / JAR
    if not jar.exists():
        try:
            compile_into(jar)
        except OSError as error:
            raise MetlError(
                f"{JAR} cannot be kept in {jars.cache()}: {error.strerror}. "
                "Set METL_CACHE to a folder you can write to."
            ) from None
    return jar


def compile_into(jar: Path, *options: str) -> None:
    jar.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".", dir=jar.parent) as scratch:
        fresh = Path(scratch, JAR)
        words = (java.machine_java(), "-cp", jars.of_spark() / "*", "scala.tools.nsc.Main", "-d", fresh)
        try:
            asyncio.run(tool.run("Scala", [*words, *OPTIONS, *options, *sources()]))
        except tool.ToolFailed as error:
            raise MetlError(f"{SOURCES} could not be compiled:\n{error.output}") from None
        # Whole or not at all, also if two METLs do this at once.
        fresh.replace(jar)
