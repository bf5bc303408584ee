"""What is wrong with a command is said in a sentence, soon, before anything runs."""

import json
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pyspark.sql import SparkSession

from metl.errors import BadInput
from metl.streams.client_options import read_kafka_options
from metl_spark.mapping.settings import MapSettings
from tests.conftest import scratch_database
from tests.live.running import METL, Place, job_role, key, mapper, produce, row, run

if TYPE_CHECKING:
    from metl_spark.runtime.control import Control


SOON = 30


def refused(place: Place, *words: str, code: int, topics: str = r"shop\..*", **changes: str | None) -> str:
    """What `metl map` says, and nothing but that."""
    return sentence(run(place, "map", "--topics", topics, *words, patience=SOON, **changes), code)


def sentence(done: subprocess.CompletedProcess[str], code: int) -> str:
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ") and len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize("topics", [".*", r"cdm\..*", r"metl\.dead", "cdm.+|shop"])
def test_topics_that_it_writes_itself(world: Place, topics: str) -> None:
    assert "which this job writes:" in refused(world, topics=topics, code=2)


def test_topics_that_are_no_pattern(world: Place) -> None:
    assert "--topics '[' is not a regular expression" in refused(world, topics="[", code=2)


def test_names_that_kafka_or_a_folder_would_not_take(world: Place) -> None:
    for option in ("--job", "--prefix", "--dead-letters"):
        assert f"{option} 'a b'" in refused(world, option, "a b", code=2)
        assert f"{option} '..'" in refused(world, option, "..", code=2)


@pytest.mark.parametrize("name", ["sasl.jaas.config", "kafka.ssl.truststore.password", "ssl.keystore.key"])
def test_secrets_on_a_command_line(world: Place, name: str) -> None:
    said = refused(world, "--kafka-option", f"{name}=hunter2", code=2)
    assert "--kafka-config" in said and "hunter2" not in said


def test_an_option_without_a_value(world: Place) -> None:
    assert "--kafka-option 'client.id' is not name=value" in refused(world, "--kafka-option", "client.id", code=2)


def test_a_file_of_options_that_cannot_be_read(world: Place, tmp_path: Path) -> None:
    assert "No such file" in refused(world, "--kafka-config", "/nowhere", code=2)
    file = tmp_path / "kafka.properties"
    file.write_text("# TLS\nsecurity.protocol = SSL\n\nhunter2\n")
    said = refused(world, "--kafka-config", str(file), code=2)
    assert f"Line 4 of {file} is not name=value" in said and "hunter2" not in said
    file.write_text('sasl.jaas.config = Module required \\\n  username="a" \\\n  password="b";\nclient.id=c\n')
    assert read_kafka_options(str(file), ()) == {
        "sasl.jaas.config": 'Module required username="a" password="b";',
        "client.id": "c",
    }
    file.write_bytes(b"\xff\xfe")
    assert f"{file} is not a text file" in refused(world, "--kafka-config", str(file), code=2)


@pytest.mark.parametrize(
    ("given", "submitted", "local"),
    [
        ("/data/x", False, "/data/x"),
        ("/data/../data/x/", False, "/data/x"),
        ("file:/data/x", True, "/data/x"),
        ("file:///data/x", False, "/data/x"),
        ("/user/x", True, None),
        ("s3a://bucket/x", False, None),
    ],
)
def test_a_folder_has_one_name(monkeypatch: pytest.MonkeyPatch, given: str, submitted: bool, local: str | None) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    if submitted:
        monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    found = MapSettings(topics="a", job="a", checkpoint=given, brokers="a:1").local_checkpoint
    assert (found and str(found)) == local


def test_no_database(world: Place) -> None:
    said = refused(world, METL_DSN=None, METL_JOB_DSN=None, code=2)
    assert "There is no database. Set METL_JOB_DSN or METL_DSN" in said


def test_an_address_that_is_none(world: Place) -> None:
    said = refused(world, METL_JOB_DSN="hunter2", code=2)
    assert "METL_JOB_DSN is not an address" in said and "hunter2" not in said


def test_nothing_given() -> None:
    done = subprocess.run([*METL, "map"], capture_output=True, text=True, timeout=SOON)
    assert done.returncode == 2 and "Missing option '--topics'" in done.stderr


def test_a_database_that_does_not_answer(world: Place) -> None:
    away = "postgresql://metl:hunter2@127.0.0.1:1/metl"
    said = refused(world, METL_JOB_DSN=away, code=1)
    assert "The database does not answer" in said and "hunter2" not in said


def test_a_database_without_metl(world: Place, postgres: str) -> None:
    with scratch_database(postgres) as name:
        dsn = make_conninfo(postgres, dbname=name)
        assert "Run: metl install" in refused(world, METL_JOB_DSN=dsn, code=2)
        for words in (["jobs", "list"], ["jobs", "stop", "map"]):
            assert "Run: metl install" in sentence(run(world, *words, METL_DSN=dsn), 1)


def test_marts_that_were_not_built(world: Place, database: str) -> None:
    assert "There is no metl_marts.dcpm yet. Make it with: metl marts build" in refused(
        world, METL_JOB_DSN=database, code=2
    )


@pytest.mark.parametrize("role", ["metl_reader", "metl_steward"])
def test_a_role_that_runs_no_jobs(world: Place, role: str) -> None:
    with job_role(world.dsn, role) as dsn:
        assert "Make it a member of metl_job" in refused(world, METL_JOB_DSN=dsn, code=2)


def test_a_broker_that_does_not_answer(world: Place) -> None:
    said = refused(world, "--kafka", "127.0.0.1:1", code=1)
    assert "Kafka does not answer at --kafka 127.0.0.1:1: 127.0.0.1:1: Connection refused." in said
    assert "METL_KAFKA=127.0.0.1:1" in refused(world, METL_KAFKA="127.0.0.1:1", code=1)
    assert "--kafka nonsense: 'nonsense' is not host:port" in refused(world, "--kafka", "nonsense", code=2)
    server = conninfo_to_dict(world.dsn)
    postgres = f"{server['host']}:{server['port']}"
    assert f"METL_KAFKA={postgres}: what listens there does not speak" in refused(world, METL_KAFKA=postgres, code=1)


def test_a_checkpoint_that_cannot_be_written(world: Place, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for checkpoint in (str(file), f"{file}/checkpoint", "/proc/checkpoint"):
        assert f"--checkpoint {checkpoint} cannot be written to" in refused(world, "--checkpoint", checkpoint, code=2)


@pytest.mark.parametrize(
    ("words", "culprit"),
    [
        (["--duration", "0.5"], "--duration"),
        (["--duration", "nan"], "--duration"),
        (["--trigger", "never"], "--trigger"),
        (["--unknown-version", "ignore"], "--unknown-version"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_options_that_do_not_exist(world: Place, words: list[str], culprit: str) -> None:
    done = run(world, "map", "--topics", "shop", *words)
    assert done.returncode == 2 and culprit in done.stderr and "Traceback" not in done.stderr


@pytest.fixture
def fresh(world: Place, database: str) -> Iterator[Place]:
    yield Place(database, database, world.kafka, world.folder)


def test_no_jobs(fresh: Place) -> None:
    assert "No job was ever started here. Start one with: metl map" in run(fresh, "jobs", "list").stdout
    assert json.loads(run(fresh, "jobs", "list", "--json").stdout) == []
    assert "There is no job 'map'. There is: none." in sentence(run(fresh, "jobs", "stop", "map"), 2)


def test_jobs_as_a_table_and_for_programs(fresh: Place) -> None:
    fresh.rows("select metl.start_job('nightly', '/checkpoint', gen_random_uuid())")
    assert "nightly" in run(fresh, "jobs", "list").stdout and "gone (was starting)" in " ".join(
        run(fresh, "jobs", "list").stdout.split()
    )
    [job] = json.loads(run(fresh, "jobs", "list", "--json").stdout)
    assert (job["job"], job["status"], job["running"], job["rows_in"]) == ("nightly", "starting", False, 0)
    assert "There is no job 'map'. There is: nightly." in sentence(run(fresh, "jobs", "stop", "map"), 2)


def test_a_job_that_waits_for_its_topics_says_so(world: Place) -> None:
    topic = world.topic("customer")
    with mapper(world, "--topics", rf"{world.name}\.custmer", job="waiting") as running:
        running.await_true(lambda: "No topic matches" in running.said(), "a word")
        # Topics of other tests may be near, too.
        assert f"yet. Did you mean '{topic}'" in running.said() and "Job waiting waits for one." in running.said()
        running.await_true(lambda: world.job("waiting")["status"] == "retrying", "that it waits")
        running.signal(signal.SIGTERM)
        assert running.end() == 0, running.said()
    assert "failed" not in running.said() and world.job("waiting")["status"] == "stopped"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_job_that_is_told_to_end_while_it_starts_has_ended(world: Place, number: signal.Signals) -> None:
    """Twice, as people do who are in a hurry."""
    job = f"hasty-{number.name.lower()}"
    with mapper(world, "--topics", rf"{world.name}\..*", job=job) as running:
        running.await_true(lambda: bool(world.job(job)), "the start")
        running.signal(number)
        time.sleep(0.3)
        running.signal(number)
        assert running.end() == 130, running.said()
    assert "Interrupted." in running.said() and "Traceback" not in running.said()
    assert (world.job(job)["status"], world.job(job)["reason"]) == ("stopped", "It was interrupted.")


INTERRUPTED_CHECK = """
import os, signal, socket, threading
from metl_spark.runtime import kafka
from metl_spark.runtime.session import session
from metl_spark.mapping.settings import MapSettings
from metl.util import signals

with socket.create_server(("127.0.0.1", 0)) as silent, signals.all_interrupt():
    settings = MapSettings(topics="a", job="j", checkpoint="unused", brokers="127.0.0.1:%d" % silent.getsockname()[1])
    with session(settings) as spark:
        threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGTERM)).start()
        try:
            kafka.unmatched(spark, settings)
        except KeyboardInterrupt:
            print("interrupted")
"""


def test_a_signal_while_the_broker_is_asked_for_its_topics_is_an_interruption(tmp_path: Path) -> None:
    """In a process of its own: what is interrupted in the JVM's client leaves it unusable."""
    command = [sys.executable, "-c", INTERRUPTED_CHECK]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


def test_a_job_that_catches_up_says_so_and_counts_beside_what_it_did_before(fresh: Place) -> None:
    progress = {
        "state": 0, "began_at": "2026-01-01T12:00Z", "ended_at": "2026-01-01T12:01Z", "rows_in": 1000, "rows_out": 7,
        "rows_filtered": 0, "lag": 900, "behind_ms": 1_454_342,
    }  # fmt: skip
    with psycopg.connect(fresh.dsn, autocommit=True) as connection:
        for number, instance in enumerate((uuid.UUID(int=1), uuid.UUID(int=2))):
            connection.execute("select metl.start_job('nightly', '/checkpoint', %s)", [instance])
            given = json.dumps(progress | {"rows_in": 1000 + number})
            connection.execute("select metl.record_batch('nightly', %s, %s, %s)", [instance, number, given])
        connection.execute("select metl.report_job('nightly', %s, 'running')", [instance])
        shown = run(fresh, "jobs", "list", COLUMNS="250").stdout
    assert "running, catching up: 24 min behind" in shown and "1,001 of 2,001" in shown and "7 of 14" in shown
    assert "1,454,342" not in shown


def test_a_job_that_does_not_run_cannot_be_stopped(fresh: Place) -> None:
    fresh.rows("select metl.start_job('nightly', '/checkpoint', gen_random_uuid())")
    done = run(fresh, "jobs", "stop", "nightly")
    assert (done.returncode, done.stdout) == (0, "Job nightly does not run.\n")


def test_a_reader_stops_no_jobs(fresh: Place) -> None:
    fresh.rows("select metl.start_job('nightly', '/checkpoint', gen_random_uuid())")
    with job_role(fresh.dsn, "metl_reader") as reader:
        assert "may not stop jobs" in sentence(run(fresh, "jobs", "stop", "nightly", METL_DSN=reader), 1)


class Told:
    """Instead of a database."""

    def __init__(self) -> None:
        self.reports: list[tuple[str, str | None]] = []

    def report(self, status: str, reason: str | None = None) -> None:
        self.reports.append((status, reason))

    def heartbeat(self) -> bool:
        return False

    def connectors(self) -> list[tuple[str, list[str], str | None, str | None]]:
        return []


@pytest.fixture
def signals() -> Iterator[None]:
    """A mapper in this process takes them."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("option", ["security.protocol", "fetch.min.bytes", "compression.type"])
@pytest.mark.timeout(120)
def test_options_of_kafka_reach_its_clients(
    world: Place, spark: SparkSession, tmp_path: Path, signals: None, option: str
) -> None:
    """The second is the reader's alone, the third the writer's."""
    from metl.streams.client_options import read_kafka_options
    from metl_spark.runtime import kafka
    from metl_spark.runtime.supervise import supervise

    topic = world.topic(option)
    produce(world.kafka, [(topic, key(1), row(1))])
    given = read_kafka_options(None, (f"kafka.{option}=nonsense",))
    settings = MapSettings(
        topics=re.escape(topic), job="options", checkpoint=str(tmp_path), brokers=world.kafka, trigger="available-now",
        kafka_options=given,
    )  # fmt: skip
    copied = kafka.read(spark, settings).selectExpr(f"'{world.dead}' as topic", "key", "value")
    told = Told()
    with pytest.raises(BadInput, match=f"Invalid value nonsense for configuration {option}"):
        control, sink = cast("Control", told), kafka.write(copied, settings)
        supervise(sink.start, control, settings, read_progress=lambda _: None, say=lambda _: None)
    assert [status for status, _ in told.reports] == ["running", "failed"]
