"""Kafka clients of METL's own commands, configured by the same properties file as Spark's."""

import contextlib
import re
import socket
from collections.abc import Collection
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.cimpl import NewTopic

from metl import config
from metl.errors import BadInput, MetlError
from metl.streams.client_options import read_kafka_options

TIMEOUT = 15.0
CONNECT_TIMEOUT = 5.0
MAX_MESSAGE_BYTES = 32 * 1024 * 1024
# librdkafka's names for Java's properties; it reads PEM files only.
PEM_PROPERTIES = {
    "ssl.truststore.location": "ssl.ca.location",
    "ssl.keystore.location": "ssl.certificate.location",
    "ssl.key.password": "ssl.key.password",
}
JAVA_ONLY = ("ssl.truststore.type", "ssl.keystore.type", "ssl.truststore.password", "ssl.keystore.password")
JAAS = re.compile(r'(username|password)\s*=\s*"((?:[^"\\]|\\.)*)"')


def describe(servers: str) -> str:
    """The address with the setting it comes from."""
    kafka = config.KAFKA
    if kafka.given() == servers:
        return f"{kafka.variable}={servers}"
    is_local = servers == kafka.local(config.home())
    return f"{servers} of the local stack (`metl up kafka`)" if is_local else f"--kafka {servers}"


def unreachable(servers: str, reason: str) -> MetlError:
    return MetlError(
        f"Kafka does not answer at {describe(servers)}: {reason.rstrip('.')}. Set METL_KAFKA to host:port of one that "
        "is up, or start a local one with `metl up kafka`."
    )


def require_reachable(servers: str, *, is_plain: bool) -> None:
    """Raises if no server accepts a TCP connection or, without TLS and SASL, none speaks Kafka's protocol: Spark would
    notice only after minutes. TLS and SASL are left to Spark, whose client supports all of their settings."""
    failures = []
    for server in servers.split(","):
        host, _, port = server.strip().rpartition(":")
        if not (host and port.isascii() and port.isdecimal() and int(port) < 65_536):
            raise BadInput(f"{describe(servers)}: {server.strip()!r} is not host:port.")
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_TIMEOUT).close()
            break
        except (OSError, UnicodeError) as error:
            failures.append(f"{server.strip()}: {getattr(error, 'strerror', None) or error}")
    else:
        raise unreachable(servers, "; ".join(failures))
    if is_plain:
        try:
            AdminClient({"bootstrap.servers": servers, "log_level": 0}).list_topics(timeout=CONNECT_TIMEOUT)
        except KafkaException:
            raise unreachable(servers, "what listens there does not speak Kafka's protocol") from None


def settings(config_file: str | None = None, **more: Any) -> dict[str, Any]:
    """Settings of every client here; `config_file` is that of --kafka-config."""
    return {
        "bootstrap.servers": config.kafka_servers(),
        "log_level": 0,
        **_to_librdkafka(read_kafka_options(config_file or config.kafka_config(), ())),
        **more,
    }


def _to_librdkafka(java_properties: dict[str, str]) -> dict[str, str]:
    properties: dict[str, str] = {}
    for name, value in java_properties.items():
        if name == "sasl.jaas.config":
            properties |= {f"sasl.{key}": text for key, text in JAAS.findall(value)}
        elif name in PEM_PROPERTIES:
            if Path(value).suffix.lower() in (".jks", ".p12", ".pfx"):
                raise BadInput(f"{name} {value}: this command reads PEM files only. Export it as PEM and name that.")
            properties[PEM_PROPERTIES[name]] = value
        elif name not in JAVA_ONLY:
            properties[name] = value
    return properties


def create_client(kind: type, settings: dict[str, Any]) -> Any:
    """A Consumer, Producer or AdminClient; raises BadInput for settings that it rejects."""
    try:
        return kind(settings)
    except KafkaException as error:
        raise BadInput(f"Kafka's client does not take these settings: {error.args[0].str()}.") from None


def topics(client: Any) -> dict[str, list[int]]:
    """Every topic and its partitions."""
    try:
        metadata = client.list_topics(timeout=TIMEOUT).topics
    except KafkaException as error:
        raise unreachable(config.kafka_servers(), error.args[0].str()) from None
    return {name: sorted(topic.partitions) for name, topic in metadata.items() if topic.error is None}


def create_topic(settings: dict[str, Any], name: str, partitions: int = 1) -> None:
    """Does nothing if the topic exists."""
    admin: AdminClient = create_client(AdminClient, settings)
    if name in topics(admin):
        return
    try:
        admin.create_topics([NewTopic(name, partitions, -1)])[name].result(TIMEOUT)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise MetlError(f"Kafka does not create topic {name}: {error.args[0].str()}.") from None


def newest_timestamps(settings: dict[str, Any], names: Collection[str]) -> dict[str, int]:
    """The timestamp of each topic's newest message, in milliseconds; without topics that are missing or empty."""
    admin: AdminClient = create_client(AdminClient, settings)
    partitions = [
        TopicPartition(name, number) for name, numbers in topics(admin).items() if name in names for number in numbers
    ]
    timestamps: dict[str, int] = {}
    if partitions:
        offset_spec: Any = OffsetSpec
        for partition, future in admin.list_offsets(dict.fromkeys(partitions, offset_spec.max_timestamp())).items():
            with contextlib.suppress(KafkaException):
                timestamps[partition.topic] = max(timestamps.get(partition.topic, -1), future.result(TIMEOUT).timestamp)
    return {name: timestamp for name, timestamp in timestamps.items() if timestamp >= 0}
