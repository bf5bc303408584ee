"""Manual operations on the streams, recorded in metl.operations: who, why and the outcome."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg

from metl.db.connection import transaction
from metl.errors import MetlError
from metl.util import signals


@dataclass
class Operation:
    number: int
    outcome: dict[str, Any] = field(default_factory=dict)


@contextlib.contextmanager
def operation(dsn: str, kind: str, why: str, about: dict[str, Any]) -> Iterator[Operation]:
    """Records work that outlasts a transaction; at the end stores its outcome, or the error that it failed with.

    SIGTERM and SIGHUP interrupt the work as well, so that they leave no operation open.
    """
    with transaction(dsn) as connection:
        arguments = (kind, why, json.dumps(about))
        [(number,)] = connection.execute("select metl.begin_operation(%s, %s, %s)", arguments).fetchall()
    started = Operation(number)
    try:
        with signals.all_interrupt():
            yield started
    except BaseException as error:
        # Raise the original error even if the database is down, too.
        with contextlib.suppress(MetlError), signals.shielded(), transaction(dsn) as connection:
            end_operation(connection, number, started.outcome | {"failed": failure_reason(error)})
        raise
    with transaction(dsn) as connection:
        end_operation(connection, number, started.outcome)


def end_operation(connection: psycopg.Connection, number: int, outcome: dict[str, Any]) -> None:
    connection.execute("select metl.end_operation(%s, %s)", (number, json.dumps(outcome)))


def failure_reason(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "It was interrupted."
    return " ".join(str(error).split()) or type(error).__name__
