"""What somebody does to the streams by hand: who, why and what came of it, in metl.operations."""

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
    """For work that takes longer than a transaction: it is ended with its outcome, or with what made it fail."""
    with transaction(dsn) as connection:
        arguments = (kind, why, json.dumps(about))
        [(number,)] = connection.execute("select metl.begin_operation(%s, %s, %s)", arguments).fetchall()
    begun = Operation(number)
    try:
        yield begun
    except BaseException as error:
        failed = str(error) if isinstance(error, MetlError) else "It was interrupted."
        # What failed is said, also if the database has gone away as well.
        with contextlib.suppress(MetlError):
            _end(dsn, number, begun.outcome | {"failed": failed})
        raise
    _end(dsn, number, begun.outcome)


def _end(dsn: str, number: int, outcome: dict[str, Any]) -> None:
    with transaction(dsn) as connection:
        connection.execute("select metl.end_operation(%s, %s)", (number, json.dumps(outcome)))
