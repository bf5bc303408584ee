"""An operation that was begun ends, whatever happens to the command: with its outcome or with what made it fail."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from metl.errors import MetlError
from metl.streams.operations import operation
from tests.conftest import scratch_database

WORK = """
import sys, time
from metl.streams.operations import operation

with operation(sys.argv[1], "reset", "a test", {}) as started:
    started.outcome["messages"] = 3
    print("begun", flush=True)
    time.sleep(60)
"""


@pytest.fixture(scope="module")
def database(postgres: str, template: str) -> Iterator[str]:
    with scratch_database(postgres, template) as name:
        yield psycopg.conninfo.make_conninfo(postgres, dbname=name)


def newest(database: str) -> dict[str, Any]:
    with psycopg.connect(database, row_factory=dict_row) as connection:
        row = connection.execute("select * from metl.operations order by operation desc limit 1").fetchone()
    assert row is not None and row["ended_at"] is not None
    return row


def test_the_outcome_is_kept(database: str) -> None:
    with operation(database, "reset", "a test", {"job": "map"}) as started:
        started.outcome["batch"] = 7
    assert newest(database)["outcome"] == {"batch": 7}


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MetlError("Kafka is away."), "Kafka is away."),
        (OSError(28, "No space left on device"), "[Errno 28] No space left on device"),
        (ValueError(), "ValueError"),
        (KeyboardInterrupt(), "It was interrupted."),
    ],
)
def test_a_failure_is_kept_with_its_reason(database: str, error: BaseException, reason: str) -> None:
    with pytest.raises(type(error)), operation(database, "reset", "a test", {}) as started:
        started.outcome["messages"] = 3
        raise error
    assert newest(database)["outcome"] == {"messages": 3, "failed": reason}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it(database: str, number: signal.Signals) -> None:
    process = subprocess.Popen([sys.executable, "-c", WORK, database], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"begun\n"
    process.send_signal(number)
    process.communicate(timeout=30)
    assert newest(database)["outcome"] == {"messages": 3, "failed": "It was interrupted."}
