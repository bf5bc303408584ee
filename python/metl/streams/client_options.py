"""Kafka client properties, from a file and from the command line."""

import re
from collections.abc import Iterator
from pathlib import Path

from metl.errors import BadInput

SECRET = re.compile(r"password|jaas|secret|token|\bkey\b|private", re.IGNORECASE)


def read_kafka_options(file: str | None, options: tuple[str, ...]) -> dict[str, str]:
    """Properties by the names that Kafka's Java client has; the command line takes precedence over the file."""
    properties: dict[str, str] = {}
    if file is not None:
        for number, text in _statements(file):
            if text and not text.startswith(("#", "!")):
                if "=" not in text:
                    raise BadInput(f"Line {number} of {file} is not name=value.")
                name, value = text.split("=", 1)
                properties[name.strip()] = value.strip()
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


def _statements(file: str) -> Iterator[tuple[int, str]]:
    """Logical lines, each with the number of its first line; a backslash at the end of a line continues it."""
    statement, first = "", 1
    for number, line in enumerate(_lines(file), 1):
        first = first if statement else number
        statement += line.strip()
        if statement.endswith("\\") and not statement.startswith(("#", "!")):
            statement = statement[:-1]
        else:
            yield first, statement
            statement = ""
    yield first, statement


def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise BadInput(f"--kafka-config {file}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise BadInput(f"--kafka-config {file} is not a text file.") from None
