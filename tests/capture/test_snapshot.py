"""`metl snapshot` makes Debezium read a table again."""

import json
import os
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest

from metl.capture.snapshots import accepts_signals, require_included
from metl.errors import BadInput
from tests import topics
from tests.connectors import capturing
from tests.live.running import METL
from tests.parts import Source

pytestmark = pytest.mark.timeout(300)


@dataclass
class Shop:
    database: str
    connector: str
    environment: dict[str, str]

    def snapshot(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [*METL, "capture", "snapshot", *words, "--why", "a test"]
        return subprocess.run(command, env=self.environment, text=True, capture_output=True, timeout=120)


@pytest.fixture
def shop(parts: Source, connect: str, registry: str, kafka: str, database: str) -> Iterator[Shop]:
    prefix = f"shop{uuid.uuid4().hex[:8]}"
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("create table customer (id int primary key, name text)")
        connection.execute("insert into customer select n, 'name ' || n from generate_series(1, 3) as n")
        connection.execute("analyze customer")
    variables = {"METL_DSN": database, "METL_SOURCE_DSN": database, "METL_KAFKA": kafka, "METL_CONNECT": connect}
    with capturing(parts, database, prefix, ["public.customer"]) as settings:
        assert not accepts_signals(settings)
        yield Shop(database, prefix, os.environ | variables)


def test_all_rows_are_read_again(shop: Shop, kafka: str) -> None:
    topic = f"{shop.connector}.public.customer"
    assert len(topics.read(kafka, topic, 3)) == 3
    refused = shop.snapshot(shop.connector, "public.customer", "--yes")
    assert refused.returncode == 2 and "hears no signals. --enable sets what it needs" in refused.stderr
    preview = shop.snapshot(shop.connector, "public.customer", "--enable")
    assert preview.returncode == 2 and "Add --yes" in preview.stderr
    assert preview.stdout.split() == [
        *("table", "rows,", "about", "read"),
        *("public.customer", "3", "in", "pages,", "beside", "changes"),
    ]

    done = shop.snapshot(shop.connector, "public.customer", "--enable", "--yes", "--json")

    assert done.returncode == 0, done.stderr
    rows = [json.loads(message.value() or b"")["payload"] for message in topics.read(kafka, topic, 6)]
    assert [(row["op"], row["after"]["id"]) for row in rows] == [("r", number) for number in (1, 2, 3)] * 2
    with psycopg.connect(shop.database) as connection:
        [(kind, why, about, outcome)] = connection.execute(
            "select kind, why, about, outcome from metl.operations"
        ).fetchall()
    assert (kind, why, about["tables"]) == ("snapshot", "a test", {"public.customer": 3})
    assert outcome["signal"] == json.loads(done.stdout)["signal"]


def test_invalid_requests_are_refused(shop: Shop) -> None:
    for words, sentence in (
        ([f"{shop.connector}x", "public.customer"], f"Did you mean {shop.connector!r}?"),
        ([shop.connector, "public.custmer"], "Did you mean 'public.customer'?"),
    ):
        done = shop.snapshot(*words, "--yes")
        assert done.returncode == 2 and sentence in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    with pytest.raises(BadInput, match="is not one of Debezium's"):
        require_included({"connector.class": "org.apache.kafka.connect.file.FileStreamSource"}, "file", ("a",))
