"""Kafka Connect with Debezium's PostgreSQL connector and Apicurio's converters."""

import asyncio
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path

from metl import config
from metl.capture import plugin
from metl.config import OWNER
from metl.home import write_private
from metl.jvm import jars, java
from metl.stack.part import Part, Say
from metl.util import http
from metl.util.properties import write_properties

CONVERTERS = """\
io.apicurio.registry.utils.converter.ExtJsonConverter
io.apicurio.registry.utils.converter.AvroConverter
"""


class Connect(Part):
    name = "connect"
    server = config.CONNECT
    needs = ("kafka",)

    def require(self) -> None:
        java.machine_java()

    async def prepare(self, say: Say) -> None:
        for configuration in ("connect", "debezium", "converter"):
            await jars.fetch(configuration, say)
        self.home.directory(self.name)
        await asyncio.to_thread(self._lay_out_plugins)
        write_private(self._passwords, f"{OWNER}={self.home.password(OWNER)}\n{self._other_passwords()}")
        write_properties(self._settings, self._properties())

    def _other_passwords(self) -> str:
        """Passwords that users added for connectors of other roles."""
        if not self._passwords.exists():
            return ""
        lines = self._passwords.read_text().splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith(f"{OWNER}="))

    def command(self) -> Sequence[str | Path]:
        return [
            *(java.machine_java(), "-Xmx384m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError"),
            # The driver passes it to its sessions, whose time zone shows in ranges and arrays of timestamps.
            "-Duser.timezone=UTC",
            *("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true"),
            *("-cp", jars.folder("connect") / "*"),
            *("org.apache.kafka.connect.cli.ConnectDistributed", self._settings),
        ]

    def check(self) -> None:
        # Answers once the worker has joined its group and read its topics.
        http.request("GET", f"{self.address}/connectors", timeout=3)

    def _lay_out_plugins(self) -> None:
        """Each plugin in a folder of its own gets a class loader of its own."""
        shutil.rmtree(self._plugins, ignore_errors=True)
        converter = self._plugins / "converter"
        converter.mkdir(parents=True)
        debezium = self._plugins / "debezium"
        debezium.mkdir()
        for folder, source in (
            (converter, jars.folder("converter")),
            (debezium, jars.folder("debezium") / plugin.CONNECTOR),
        ):
            for jar in source.glob("*.jar"):
                (folder / jar.name).symlink_to(jar)
        plugin.add_converter(debezium)
        # Apicurio ships no list of its converters. With one, Connect need not search every class
        # of every jar, which is half of its start.
        with zipfile.ZipFile(converter / "manifest.jar", "w") as manifest:
            manifest.writestr("META-INF/services/org.apache.kafka.connect.storage.Converter", CONVERTERS)

    @property
    def _plugins(self) -> Path:
        return self.folder / "plugins"

    @property
    def _passwords(self) -> Path:
        """Only what connectors need: all clients of Connect can make it read this file."""
        return self.home.connect_passwords_file

    @property
    def _settings(self) -> Path:
        return self.folder / "worker.properties"

    def _properties(self) -> str:
        # Distributed mode although there is one worker: it keeps connectors and offsets in Kafka,
        # so that they survive a kill -9.
        return f"""\
bootstrap.servers={config.KAFKA.address(self.home)}
group.id=metl-connect
config.storage.topic=metl.connect.configs
config.storage.replication.factor=1
offset.storage.topic=metl.connect.offsets
offset.storage.replication.factor=1
offset.storage.partitions=1
status.storage.topic=metl.connect.status
status.storage.replication.factor=1
status.storage.partitions=1
offset.flush.interval.ms=1000
# A lone worker that comes back takes its connectors up again at once.
session.timeout.ms=6000
heartbeat.interval.ms=2000
scheduled.rebalance.max.delay.ms=0
listeners=http://127.0.0.1:{self.port}
plugin.path={self._plugins}
plugin.discovery=service_load
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
# Connectors name a password as ${{file:{self._passwords}:{OWNER}}} and never hold it.
config.providers=file
config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider
config.providers.file.param.allowed.paths={self._passwords}
"""
