"""A mapper as a process of its own, traffic for it, and what came out of it."""

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from tests.conftest import Marts, scratch_database

TIMEOUT = 240.0
METL = (sys.executable, "-m", "metl")
#: In the environment of a mapper and of all that it starts: whoever has it belongs to it, also as an orphan.
MARK = "METL_TEST_MARK"

Origin = tuple[str, int, int]
State = int


@contextlib.contextmanager
def job_role(dsn: str, *roles: str) -> Iterator[str]:
    """The DSN of somebody who logs in with a password and is a member of these."""
    name, password = f"metl_test_{uuid.uuid4().hex[:12]}", secrets.token_urlsafe(24)
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute(
            sql.SQL("create role {} login password {}").format(sql.Identifier(name), sql.Literal(password)),
        )
        for role in roles:
            owner.execute(sql.SQL("grant {} to {}").format(sql.Identifier(role), sql.Identifier(name)))
    try:
        yield make_conninfo(dsn, user=name, password=password)
    finally:
        with psycopg.connect(dsn, autocommit=True) as owner:
            owner.execute(sql.SQL("drop role {}").format(sql.Identifier(name)))


@pytest.fixture(scope="module")
def world(postgres: str, marts: Marts, kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator["Place"]:
    with scratch_database(postgres, marts.database) as name:
        dsn = make_conninfo(postgres, dbname=name)
        with job_role(dsn, "metl_job") as job_dsn:
            yield Place(dsn, job_dsn, kafka, tmp_path_factory.mktemp("place"), marts)


@dataclass
class Place:
    """A database with marts, a broker, and names that nobody else uses."""

    dsn: str
    job_dsn: str
    kafka: str
    folder: Path
    marts: Marts | None = None
    name: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    #: Tells apart what two jobs make of the same topics.
    outputs: str = ""

    def topic(self, about: str, partitions: int = 2) -> str:
        made = f"{self.name}.{about}"
        admin = AdminClient({"bootstrap.servers": self.kafka})
        admin.create_topics([NewTopic(made, partitions, 1)])[made].result(30)
        return made

    @property
    def prefix(self) -> str:
        return f"cdm-{self.name}{self.outputs}."

    @property
    def dead(self) -> str:
        return f"dead-{self.name}{self.outputs}"

    @property
    def replays(self) -> str:
        return f"replay-{self.name}"

    def call(self, function: str, *arguments: object) -> State:
        """A function of METL by position; what is no scalar goes as JSON."""
        given = [json.dumps(each) if isinstance(each, dict | list) else each for each in arguments]
        marks = ", ".join(["%s"] * len(given))
        [row] = self.rows(f"select metl.{function}({marks}) as state", *given)
        return row["state"]  # type: ignore[no-any-return]

    def rows(self, query: str, *arguments: object) -> list[dict[str, Any]]:
        with psycopg.connect(self.dsn, autocommit=True, row_factory=dict_row) as connection:
            return connection.execute(query.encode(), arguments).fetchall()

    def build_marts(self) -> None:
        """Anew, from what is in the matrix now."""
        assert self.marts is not None, "a database without marts"
        self.marts.refresh(self.dsn)

    def job(self, name: str = "map") -> dict[str, Any]:
        [row] = self.rows("select * from metl.jobs where job = %s", name) or [{}]
        return row

    def sent(self) -> list["Record"]:
        """Everything that mappers sent here."""
        return read(self.kafka, lambda topic: topic == self.dead or topic.startswith(self.prefix))

    def inputs(self) -> list["Record"]:
        return read(self.kafka, lambda topic: topic.startswith(f"{self.name}."))

    def await_everything(self, patience: float = TIMEOUT) -> list["Record"]:
        """What was sent, once there is something of every input."""
        wanted = {record.position for record in self.inputs()}
        found: list[Record] = []

        def is_complete() -> bool:
            found[:] = self.sent()
            return wanted <= {record.origin for record in found}

        try:
            self.await_true(is_complete, "something of every input", patience)
        except AssertionError as error:
            missing = sorted(wanted - {record.origin for record in found})
            raise AssertionError(f"{error}: {len(missing)} of {len(wanted)}, {missing[:3]}") from None
        return found

    def await_true(self, happened: Callable[[], bool], what: str, patience: float = TIMEOUT) -> None:
        """Or what the jobs say."""
        try:
            await_true(happened, what, patience)
        except AssertionError as error:
            jobs = self.rows("select job, status, reason, last_batch_at, state, rows_in, rows_out, lag from metl.jobs")
            raise AssertionError(f"{error}: {jobs}") from None


@dataclass(frozen=True)
class Record:
    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]

    @property
    def position(self) -> Origin:
        return self.topic, self.partition, self.offset

    def header(self, name: str) -> str:
        """Of the last of this name; there must not be two of METL's."""
        found = [value for key, value in self.headers if key == name]
        assert len(found) == 1, f"{len(found)} headers {name} in {self.headers}"
        return found[0].decode()

    @property
    def is_dead(self) -> bool:
        return any(key == "__metl.reason" for key, _ in self.headers)

    @property
    def origin(self) -> Origin:
        prefix = "__connect.errors." if self.is_dead else "metl."
        return (
            self.header(f"{prefix}topic"),
            int(self.header(f"{prefix}partition")),
            int(self.header(f"{prefix}offset")),
        )

    @property
    def state(self) -> State:
        return int(self.header("__metl.state" if self.is_dead else "metl.state"))

    @property
    def said(self) -> Any:
        return json.loads(self.value or b"null")


def by_origin(records: Iterable[Record]) -> dict[Origin, list[Record]]:
    found = defaultdict(list)
    for record in records:
        found[record.origin].append(record)
    return found


def read(kafka: str, wanted: Callable[[str], bool]) -> list[Record]:
    """All that is in these topics now, each partition in its order."""
    consumer = Consumer(
        {"bootstrap.servers": kafka, "group.id": uuid.uuid4().hex, "enable.partition.eof": True, "log_level": 0}
    )
    found: list[Record] = []
    try:
        topics = consumer.list_topics(timeout=30).topics
        left = {(name, partition) for name, topic in topics.items() if wanted(name) for partition in topic.partitions}
        consumer.assign([TopicPartition(name, partition, 0) for name, partition in left])
        end = time.monotonic() + 60
        while left:
            assert time.monotonic() < end, f"the broker does not give the end of {left}"
            for message in consumer.consume(1000, timeout=0.2):
                error = message.error()
                if error is None:
                    found.append(_record(message))
                elif error.code() == KafkaError._PARTITION_EOF:
                    left.discard((str(message.topic()), message.partition() or 0))
    finally:
        consumer.close()
    return found


def _record(message: Message) -> Record:
    headers = tuple((name, bytes(value or b"")) for name, value in message.headers() or [])  # type: ignore[misc,arg-type]
    topic, partition, offset = str(message.topic()), message.partition() or 0, message.offset() or 0
    return Record(topic, partition, offset, message.key(), message.value(), headers)


def await_true(happened: Callable[[], bool], what: str, patience: float = TIMEOUT) -> None:
    end = time.monotonic() + patience
    while not happened():
        assert time.monotonic() < end, f"not in {patience:.0f} s: {what}"
        time.sleep(0.2)


def row(schema_id: int, **after: object) -> bytes:
    """As ExtJsonConverter writes a row of Debezium."""
    payload = {"before": None, "after": after, "source": {"name": "test"}, "op": "c", "ts_ms": 0}
    return json.dumps({"schemaId": schema_id, "payload": payload}).encode()


def key(number: int) -> bytes:
    return json.dumps({"schemaId": 1, "payload": {"id": number}}).encode()


class Traffic:
    """Messages at a steady pace until it is left; `make` gives topic, key and value of the nth."""

    def __init__(self, kafka: str, make: Callable[[int], tuple[str, bytes, bytes]], per_second: float = 100) -> None:
        self._producer = Producer({"bootstrap.servers": kafka, "linger.ms": 2, "log_level": 0})
        self._make, self._pause = make, 1 / per_second
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.count = 0

    def _run(self) -> None:
        due = time.monotonic()
        while not self._over.is_set():
            topic, at, value = self._make(self.count)
            self._producer.produce(topic, value, at)
            self._producer.poll(0)
            self.count += 1
            due += self._pause
            time.sleep(max(0.0, due - time.monotonic()))

    def __enter__(self) -> "Traffic":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        assert self._producer.flush(60) == 0, "the broker did not take every message"


def produce(kafka: str, messages: Iterable[tuple[str, bytes, bytes]]) -> None:
    producer = Producer({"bootstrap.servers": kafka})
    for topic, at, value in messages:
        producer.produce(topic, value, at)
    assert producer.flush(30) == 0, "the broker did not take every message"


class Mapper:
    """`metl map` (or another command that maps) with a checkpoint folder and a log of its own."""

    def __init__(self, place: Place, *words: str, job: str = "map", command: tuple[str, ...] = (*METL, "map")) -> None:
        self.place, self.job = place, job
        self.mark = uuid.uuid4().hex
        self.log = place.folder / f"{job}-{self.mark[:8]}.log"
        given = [*command, "--job", job, "--checkpoint", str(place.folder / f"checkpoint-{job}")]
        given += ["--prefix", place.prefix, "--dead-letters", place.dead, *words]
        if command[-1] == "map":
            given += ["--replays", place.replays]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                given,
                env=environment(place) | {MARK: self.mark},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def family(self) -> list[psutil.Process]:
        return marked(self.mark)

    def await_batches(self, count: int = 1, patience: float = TIMEOUT) -> None:
        """Until this process, not one before it, has recorded so many."""
        query = """
            select from metl.job_batches inner join metl.jobs using (job, instance)
            where job = %s and (about ->> 'pid')::int = %s
        """
        self.await_true(
            lambda: len(self.place.rows(query, self.job, self.process.pid)) >= count, f"{count} batches", patience
        )

    def await_true(self, happened: Callable[[], bool], what: str, patience: float = TIMEOUT) -> None:
        """While it runs."""

        def look() -> bool:
            assert self.process.poll() is None, f"ended with {self.process.returncode}:\n{self.said()}"
            return happened()

        try:
            await_true(look, what, patience)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.said()[-3000:]}") from None

    def signal(self, number: signal.Signals, *, group: bool = False) -> None:
        if group:
            os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)

    def end(self, patience: float = 60.0) -> int:
        """Its exit code, once it and all that it started are gone."""
        code = self.process.wait(patience)
        await_true(lambda: not self.family(), f"the end of {self.family()}", 15)
        return code

    def kill(self) -> None:
        """Whatever is left of it."""
        for process in self.family():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.process.wait(30)


@contextlib.contextmanager
def mapper(place: Place, *words: str, job: str = "map", command: tuple[str, ...] = (*METL, "map")) -> Iterator[Mapper]:
    """Gone afterwards, also if the test fails."""
    started = Mapper(place, *words, job=job, command=command)
    try:
        yield started
    finally:
        started.kill()


def environment(place: Place) -> dict[str, str]:
    """METL's addresses, and nothing of whoever runs the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("METL_") or name == "METL_CACHE"}
    return kept | {
        "METL_HOME": str(place.folder / "home"),
        "METL_DSN": place.dsn,
        "METL_JOB_DSN": place.job_dsn,
        "METL_KAFKA": place.kafka,
    }


def run(place: Place, *words: str, patience: float = 60, **changes: str | None) -> subprocess.CompletedProcess[str]:
    """A command of METL to its end; a change of null takes a variable away."""
    given = environment(place) | {name: value for name, value in changes.items() if value is not None}
    for name, value in changes.items():
        if value is None:
            given.pop(name, None)
    return subprocess.run([*METL, *words], env=given, text=True, capture_output=True, timeout=patience)


def marked(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE and process.environ().get(MARK) == mark:
                found.append(process)
    return found
