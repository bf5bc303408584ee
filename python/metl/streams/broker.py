"""Kafka's client for METL's own commands, set up by the same file of properties as that of Spark's."""

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
LARGEST = 32 * 1024 * 1024
# Java's names for what this client calls otherwise; it reads PEM files only.
PEM = {
    "ssl.truststore.location": "ssl.ca.location",
    "ssl.keystore.location": "ssl.certificate.location",
    "ssl.key.password": "ssl.key.password",
}
JAVA_ONLY = ("ssl.truststore.type", "ssl.keystore.type", "ssl.truststore.password", "ssl.keystore.password")
JAAS = re.compile(r'(username|password)\s*=\s*"((?:[^"\\]|\\.)*)"')


address = config.kafka_servers


def named(servers: str) -> str:
    """An address with where it was said, so that it can be mended there."""
    kafka = config.KAFKA
    if kafka.given() == servers:
        return f"{kafka.variable}={servers}"
    is_local = servers == kafka.local(config.home())
    return f"{servers} of the local stack (`metl up kafka`)" if is_local else f"--kafka {servers}"


def silent(servers: str, why: str) -> MetlError:
    return MetlError(
        f"Kafka does not answer at {named(servers)}: {why.rstrip('.')}. Set METL_KAFKA to host:port of one that is up, "
        "or start a local one with `metl up kafka`."
    )


def require(servers: str, *, is_plain: bool) -> None:
    """Raises if nobody listens there, or somebody who does not speak Kafka's protocol: Spark would find out after
    minutes. Who is asked for TLS or a password is left to Spark, whose client knows all settings."""
    complaints = []
    for server in servers.split(","):
        host, _, port = server.strip().rpartition(":")
        if not (host and port.isascii() and port.isdecimal() and int(port) < 65_536):
            raise BadInput(f"{named(servers)}: {server.strip()!r} is not host:port.")
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_TIMEOUT).close()
            break
        except (OSError, UnicodeError) as error:
            complaints.append(f"{server.strip()}: {getattr(error, 'strerror', None) or error}")
    else:
        raise silent(servers, "; ".join(complaints))
    if is_plain:
        try:
            AdminClient({"bootstrap.servers": servers, "log_level": 0}).list_topics(timeout=CONNECT_TIMEOUT)
        except KafkaException:
            raise silent(servers, "what listens there does not speak Kafka's protocol") from None


def settings(config_file: str | None = None, **more: Any) -> dict[str, Any]:
    """What every client here is made with; `config_file` is that of --kafka-config."""
    return {
        "bootstrap.servers": config.kafka_servers(),
        "log_level": 0,
        **_translated(read_kafka_options(config_file or config.kafka_config(), ())),
        **more,
    }


def _translated(given: dict[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in given.items():
        if name == "sasl.jaas.config":
            found |= {f"sasl.{key}": text for key, text in JAAS.findall(value)}
        elif name in PEM:
            if Path(value).suffix.lower() in (".jks", ".p12", ".pfx"):
                raise BadInput(f"{name} {value}: this command reads PEM files only. Export it as PEM and name that.")
            found[PEM[name]] = value
        elif name not in JAVA_ONLY:
            found[name] = value
    return found


def made(kind: type, given: dict[str, Any]) -> Any:
    """A Consumer, Producer or AdminClient; what the client refuses is a sentence."""
    try:
        return kind(given)
    except KafkaException as error:
        raise BadInput(f"Kafka's client does not take these settings: {error.args[0].str()}.") from None


def topics(client: Any) -> dict[str, list[int]]:
    """Every topic and its partitions."""
    try:
        found = client.list_topics(timeout=TIMEOUT).topics
    except KafkaException as error:
        raise silent(config.kafka_servers(), error.args[0].str()) from None
    return {name: sorted(topic.partitions) for name, topic in found.items() if topic.error is None}


def make_topic(given: dict[str, Any], name: str, partitions: int = 1) -> None:
    """Unless it is there."""
    admin: AdminClient = made(AdminClient, given)
    if name in topics(admin):
        return
    try:
        admin.create_topics([NewTopic(name, partitions, -1)])[name].result(TIMEOUT)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise MetlError(f"Kafka does not make topic {name}: {error.args[0].str()}.") from None


def newest(given: dict[str, Any], names: Collection[str]) -> dict[str, int]:
    """When the newest message of each topic came, in milliseconds; of those that are there and have any."""
    admin: AdminClient = made(AdminClient, given)
    there = [TopicPartition(name, each) for name, found in topics(admin).items() if name in names for each in found]
    times: dict[str, int] = {}
    if there:
        newest_of: Any = OffsetSpec
        for partition, answer in admin.list_offsets(dict.fromkeys(there, newest_of.max_timestamp())).items():
            with contextlib.suppress(KafkaException):
                times[partition.topic] = max(times.get(partition.topic, -1), answer.result(TIMEOUT).timestamp)
    return {name: time for name, time in times.items() if time >= 0}
