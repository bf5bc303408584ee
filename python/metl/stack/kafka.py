"""One Kafka broker in KRaft mode."""

import base64
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from metl import config
from metl.jvm import jars, java
from metl.stack.part import Part, Say
from metl.util import process
from metl.util.properties import write_properties


class Kafka(Part):
    name = "kafka"
    server = config.KAFKA

    def require(self) -> None:
        java.machine_java()

    async def prepare(self, say: Say) -> None:
        await jars.fetch("broker", say)
        self.home.directory(self.name)
        write_properties(self._settings, self._properties())
        if not (self._data / "meta.properties").exists():
            say("making the data folder")
            # The first byte is fixed, or else one id in 64 would begin with a dash and be taken for an option.
            cluster = base64.urlsafe_b64encode(b"M" + uuid.uuid4().bytes[1:]).decode().rstrip("=")
            await process.run(
                "Kafka's format tool",
                [*self._java("-Xmx128m"), "kafka.tools.StorageTool", "format", "-t", cluster, "-c", self._settings],
            )

    def command(self) -> Sequence[str | Path]:
        return [*self._java("-Xms256m", "-Xmx512m"), "kafka.Kafka", self._settings]

    def check(self) -> None:
        complaints: list[str] = []
        settings: dict[str, Any] = {
            "bootstrap.servers": self.address,
            "socket.connection.setup.timeout.ms": 3000,
            "log_level": 0,
            "error_cb": lambda error: complaints.append(error.str()),
        }
        client = AdminClient(settings)
        try:
            client.list_topics(timeout=3)
        except KafkaException as error:
            raise ConnectionError(complaints[0] if complaints else error.args[0].str()) from None

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def _settings(self) -> Path:
        return self.folder / "server.properties"

    def _java(self, *options: str) -> list[str | Path]:
        return [
            java.machine_java(),
            *options,
            *("-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError"),
            *("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true"),
            *("-cp", jars.folder("broker") / "*"),
        ]

    def _properties(self) -> str:
        broker, controller = f"127.0.0.1:{self.port}", f"127.0.0.1:{self.home.port('kafka_controller')}"
        return f"""\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://{broker},CONTROLLER://{controller}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
advertised.listeners=PLAINTEXT://{broker}
log.dirs={self._data}
# A dead letter is its message and some headers: larger than the largest message that the default lets in.
message.max.bytes=4194304
# One broker: nothing to replicate to, nobody to wait for.
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
"""
