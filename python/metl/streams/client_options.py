"""Kafka client properties, from a file and from the command line."""

import re
from pathlib import Path

from metl.errors import BadInput
from metl.util.properties import Property, read_properties

SECRET = re.compile(r"password|jaas|secret|token|\bkey\b|private", re.IGNORECASE)


def read_kafka_options(file: str | None, options: tuple[str, ...]) -> dict[str, str]:
    """Properties by the names that Kafka's Java client has; the command line takes precedence over the file."""
    properties: dict[str, str] = {}
    if file is not None:
        for each in _properties(file):
            # Java would take it for empty; here it is a value whose name was forgotten.
            if each.value is None:
                raise BadInput(f"Line {each.line} of {file} is not name=value.")
            properties[each.name] = each.value.rstrip()
    for option in options:
        name, equals, value = option.partition("=")
        if not equals or not name:
            raise BadInput(f"--kafka-option {name!r} is not name=value.")
        if SECRET.search(name):
            raise BadInput(
                f"--kafka-option {name}: secrets do not belong on a command line, where everybody can read them. "
                "Put it into a file and give that with --kafka-config."
            )
        properties[name] = value
    return {name.removeprefix("kafka."): value for name, value in properties.items()}


def _properties(file: str) -> list[Property]:
    try:
        return read_properties(Path(file))
    except OSError as error:
        raise BadInput(f"--kafka-config {file}: {error.strerror}.") from None
    except BadInput as error:
        raise BadInput(f"--kafka-config: {error}") from None
