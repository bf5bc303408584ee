"""Kafka's client for METL's own commands, set up by the same file of properties as that of Spark's."""

import re
import sys
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from metl import resources
from metl.errors import BadInput, MetlError
from metl.home import Home
from metl.stack.kafka import Kafka

PATIENCE = 15.0
LARGEST = 32 * 1024 * 1024
# Java's names for what this client calls otherwise; it reads PEM files only.
PEM = {
    "ssl.truststore.location": "ssl.ca.location",
    "ssl.keystore.location": "ssl.certificate.location",
    "ssl.key.password": "ssl.key.password",
}
JAVA_ONLY = ("ssl.truststore.type", "ssl.keystore.type", "ssl.truststore.password", "ssl.keystore.password")
JAAS = re.compile(r'(username|password)\s*=\s*"((?:[^"\\]|\\.)*)"')


def address() -> str:
    kafka = Kafka(Home.from_environment())
    if not kafka.is_elsewhere and not kafka.port:
        raise BadInput("There is no Kafka yet. Start a local one with `metl up kafka`, or set METL_KAFKA.")
    return kafka.address


def settings(config: str | None = None, **more: Any) -> dict[str, Any]:
    """What every client here is made with; `config` is the file of --kafka-config."""
    # A link to the mapper, which reads the same file; it brings no Spark along.
    folder = str(resources.path("spark_jobs"))
    if folder not in sys.path:
        sys.path.append(folder)
    from mapper.settings import read_kafka_options

    return {
        "bootstrap.servers": address(),
        "log_level": 0,
        **_translated(read_kafka_options(config, ())),
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
        found = client.list_topics(timeout=PATIENCE).topics
    except KafkaException as error:
        raise MetlError(
            f"Kafka does not answer: {error.args[0].str()}. Is METL_KAFKA right, and is it up (`metl up kafka`)?"
        ) from None
    return {name: sorted(topic.partitions) for name, topic in found.items() if topic.error is None}


def make_topic(given: dict[str, Any], name: str, partitions: int = 1) -> None:
    """Unless it is there."""
    admin: AdminClient = made(AdminClient, given)
    if name in topics(admin):
        return
    try:
        admin.create_topics([NewTopic(name, partitions, -1)])[name].result(PATIENCE)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise MetlError(f"Kafka does not make topic {name}: {error.args[0].str()}.") from None
