"""The Apicurio schema registry, with its H2 database in a file."""

from collections.abc import Sequence
from pathlib import Path

from metl import config
from metl.jvm import jars, java
from metl.stack.part import Part, Say
from metl.util import http


class Registry(Part):
    name = "registry"
    server = config.REGISTRY

    async def prepare(self, say: Say) -> None:
        await jars.fetch("registry", say)
        self.home.directory(self.name)

    def command(self) -> Sequence[str | Path]:
        settings = {
            "quarkus.http.host": "127.0.0.1",
            "quarkus.http.port": self.port,
            # Health and metrics; by default it would listen on every network.
            "quarkus.management.host": "127.0.0.1",
            "quarkus.management.port": self.home.port("registry_management"),
            # A line per request would fill the disk in the weeks that a watcher polls.
            "quarkus.http.access-log.enabled": "false",
            "quarkus.log.level": "WARN",
            # Every commit is on disk before it is acknowledged: a kill -9 loses nothing.
            "apicurio.datasource.url": f"jdbc:h2:file:{self.folder / 'data' / 'registry'};WRITE_DELAY=0",
            "apicurio.datasource.jdbc.initial-size": 2,
            "apicurio.datasource.jdbc.min-size": 2,
            "apicurio.datasource.jdbc.max-size": 20,
            "apicurio.rest.deletion.artifact-version.enabled": "true",
            "apicurio.rest.deletion.artifact.enabled": "true",
        }
        return [
            *(java.bundled_java(), "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            *(f"-D{name}={value}" for name, value in settings.items()),
            *("-jar", jars.folder("registry") / "quarkus-run.jar"),
        ]

    def check(self) -> None:
        http.request("GET", f"{self.address}/apis/registry/v3/system/info", timeout=3)
