"""Compiles Scala that runs inside Spark or Kafka Connect, with the compiler that comes with Spark.

A jar is kept in the user's cache, under the digest of its sources and compiler.
"""

import asyncio
import hashlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from metl import config
from metl.errors import MetlError
from metl.jvm import jars, java
from metl.util import process

OPTIONS = ("-release", str(java.MIN_VERSION))


@dataclass(frozen=True)
class Jar:
    name: str
    #: The folder of its sources.
    sources: Path
    #: The folder of the jars on its classpath when it is compiled and when it runs.
    libraries: Callable[[], Path]

    def build(self) -> Path:
        """The path of the jar, compiled if it is missing, which takes five seconds."""
        compiler = [jar.name.encode() for jar in jars.spark_jars().glob("scala-compiler*.jar")]
        inputs = b"\0".join([*compiler, *(source.read_bytes() for source in self._sources())])
        jar = config.cache_folder() / f"scala-{hashlib.sha256(inputs).hexdigest()[:12]}" / self.name
        if not jar.exists():
            try:
                self.compile_into(jar)
            except OSError as error:
                raise MetlError(
                    f"{self.name} cannot be kept in {config.cache_folder()}: {error.strerror}. "
                    "Set METL_CACHE to a folder you can write to."
                ) from None
        return jar

    def compile_into(self, jar: Path, *options: str) -> None:
        jar.parent.mkdir(parents=True, exist_ok=True)
        libraries = os.pathsep.join(map(str, [*self.libraries().glob("*.jar"), scala_library()]))
        with tempfile.TemporaryDirectory(prefix=".", dir=jar.parent) as scratch:
            fresh = Path(scratch, self.name)
            compiler = (java.machine_java(), "-cp", jars.spark_jars() / "*", "scala.tools.nsc.Main")
            try:
                asyncio.run(
                    process.run(
                        "Scala", [*compiler, "-d", fresh, "-cp", libraries, *OPTIONS, *options, *self._sources()]
                    )
                )
            except process.ToolFailed as error:
                raise MetlError(f"{self.sources} could not be compiled:\n{error.output}") from None
            # Atomic, also if two processes do this at once.
            fresh.replace(jar)

    def _sources(self) -> list[Path]:
        return sorted(self.sources.glob("*.scala"))


def scala_library() -> Path:
    """To add to the classpath where Spark is not."""
    [library] = jars.spark_jars().glob("scala-library*.jar")
    return library
