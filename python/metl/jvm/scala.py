"""Code in Scala that runs inside Spark or Kafka Connect, compiled by the compiler that comes with Spark.

A jar is kept in the user's cache, under the digest of what it was made of.
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

OPTIONS = ("-release", str(java.OLDEST))


@dataclass(frozen=True)
class Jar:
    name: str
    #: The folder of its sources.
    sources: Path
    #: The folder of the jars that it is compiled against and later runs beside.
    libraries: Callable[[], Path]

    def build(self) -> Path:
        """The jar, compiled if it is not there: five seconds, once."""
        compiler = [jar.name.encode() for jar in jars.of_spark().glob("scala-compiler*.jar")]
        made_of = b"\0".join([*compiler, *(source.read_bytes() for source in self._sources())])
        jar = config.cache_folder() / f"scala-{hashlib.sha256(made_of).hexdigest()[:12]}" / self.name
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
            compiler = (java.machine_java(), "-cp", jars.of_spark() / "*", "scala.tools.nsc.Main")
            try:
                asyncio.run(
                    process.run(
                        "Scala", [*compiler, "-d", fresh, "-cp", libraries, *OPTIONS, *options, *self._sources()]
                    )
                )
            except process.ToolFailed as error:
                raise MetlError(f"{self.sources} could not be compiled:\n{error.output}") from None
            # Whole or not at all, also if two METLs do this at once.
            fresh.replace(jar)

    def _sources(self) -> list[Path]:
        return sorted(self.sources.glob("*.scala"))


def scala_library() -> Path:
    """Needed beside the jar wherever Spark is not."""
    [library] = jars.of_spark().glob("scala-library*.jar")
    return library
