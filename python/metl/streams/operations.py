"""Manual operations on the streams, recorded in metl.operations: who, why and the outcome."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from metl.db.connection import transaction
from metl.errors import MetlError


@dataclass
class Operation:
    number: int
    outcome: dict[str, Any] = field(default_factory=dict)


@contextlib.contextmanager
def operation(dsn: str, kind: str, why: str, about: dict[str, Any]) -> Iterator[Operation]:
    """Records work that outlasts a transaction; at the end stores its outcome, or the error that it failed with."""
    with transaction(dsn) as connection:
        arguments = (kind, why, json.dumps(about))
        [(number,)] = connection.execute("select metl.begin_operation(%s, %s, %s)", arguments).fetchall()
    started = Operation(number)
    try:
        yield started
    except BaseException as error:
        reason = str(error) if isinstance(error, MetlError) else "It was interrupted."
        # Raise the original error even if the database is down, too.
        with contextlib.suppress(MetlError):
            _end(dsn, number, started.outcome | {"failed": reason})
        raise
    _end(dsn, number, started.outcome)


def _end(dsn: str, number: int, outcome: dict[str, Any]) -> None:
    with transaction(dsn) as connection:
        connection.execute("select metl.end_operation(%s, %s)", (number, json.dumps(outcome)))
