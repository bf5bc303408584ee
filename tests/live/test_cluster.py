"""The same job on a Spark cluster sends the same records."""

import asyncio
import contextlib
import os
import re
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import pyspark
import pytest

from metl import config
from metl.home import SPARE_PORTS, free_port
from metl.jvm import jars
from tests.live.running import MARK, METL, Place, Record, await_true, key, mapper, marked, produce, row, run
from tests.packaging.wheel import build, install

pytestmark = pytest.mark.timeout(600)

SPARK = Path(pyspark.__file__).parent
ATTRIBUTES = [{"name": "id", "type": "int32"}, {"name": "name", "type": "string"}]
PARTITIONS = 3


@dataclass
class Cluster:
    """A master and two workers, each a process of this machine."""

    url: str
    folder: Path

    def submit(self, python: str) -> tuple[str, ...]:
        """The command line as people would write it, with METL where this interpreter finds it."""
        main = [python, "-m", "metl_spark", "map_stream"]
        return (
            *(str(SPARK / "bin" / "spark-submit"), "--master", self.url),
            *("--jars", ",".join(str(jar) for jar in sorted(jars.folder("spark").glob("*.jar")))),
            *("--executor-memory", "700m", "--conf", "spark.log.level=ERROR", "--conf", "spark.ui.enabled=false"),
            subprocess.run(main, cwd=self.folder, check=True, capture_output=True, text=True).stdout.strip(),
        )


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    asyncio.run(jars.fetch("spark", lambda _text: None))
    folder = tmp_path_factory.mktemp("cluster")
    mark = uuid.uuid4().hex
    taken: set[str] = set()
    started: list[subprocess.Popen[bytes]] = []

    def port() -> str:
        found = str(free_port(SPARE_PORTS[0], taken, config.port_range()))
        taken.add(found)
        return found

    def begin(name: str, kind: str, *words: str) -> Path:
        log = folder / f"{name}.log"
        with log.open("wb") as said:
            begun = subprocess.Popen(
                [SPARK / "bin" / "spark-class", f"org.apache.spark.deploy.{kind}", "--host", "127.0.0.1", *words],
                env={**os.environ, MARK: mark, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        started.append(begun)
        return log

    try:
        chosen = port()
        master = begin("master", "master.Master", "--port", chosen, "--webui-port", port())
        await_true(lambda: "New state: ALIVE" in master.read_text(), f"the master in {master}")
        url = f"spark://127.0.0.1:{chosen}"
        for number in (1, 2):
            words = ("--cores", "4", "--memory", "1g", "--work-dir", str(folder / f"work{number}"))
            begin(f"worker{number}", "worker.Worker", *words, "--webui-port", port(), url)
        await_true(lambda: master.read_text().count("Registering worker") == 2, f"both workers in {master}")
        yield Cluster(url, folder)
    finally:
        for process in marked(mark):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        for child in started:
            child.wait(20)
        await_true(lambda: not marked(mark), "the end of the cluster", 20)


@pytest.fixture(scope="module")
def topic(world: Place) -> str:
    """Messages of two versions, and of one that nobody knows."""
    made = world.topic("customer", PARTITIONS)
    world.call("add_schema_version", made, 1, ATTRIBUTES, {"global_id": 1})
    world.call("add_entity_version", "customer", 1, ATTRIBUTES)
    world.call("add_entity_version", "login", 1, ATTRIBUTES[1:])
    world.call("set_block", made, 1, "customer", 1, {"id": "id", "name": "name"})
    world.call("set_block", made, 1, "login", 1, {"name": "name"})
    world.call("add_schema_version", made, 2, ATTRIBUTES[:1], {"global_id": 2})
    produce(world.kafka, [(made, key(n % 20), row(1 + n % 3, id=n, name=f"name {n}")) for n in range(600)])
    return made


def once(
    place: Place, *words: str, name: str, command: tuple[str, ...] = (*METL, "map")
) -> Counter[tuple[object, ...]]:
    """What one run over all messages sends, each run to topics of its own."""
    there = replace(place, name=f"{place.name}-{name}")
    with mapper(there, "--topics", rf"{place.name}\..*", *words, job=name, command=command) as running:
        if "available-now" in words:
            assert running.end(240) == 0, running.said()
        else:
            wanted = {record.position for record in place.inputs()}
            running.await_true(lambda: wanted <= {record.origin for record in there.sent()}, "all in the output")
            # From outside: a signal would reach Spark's JVM, whose child the job is here.
            assert run(place, "jobs", "stop", name).returncode == 0
            assert running.end() == 0, running.said()
        assert there.job(name)["status"] == "stopped"
    return Counter(content(record, there) for record in there.sent())


def content(record: Record, place: Place) -> tuple[object, ...]:
    topic = record.topic.replace(place.prefix, "").replace(place.dead, "dead")
    # Who it was that could not map it, is in the headers of a dead letter.
    headers = tuple(header for header in record.headers if header[0] != "__connect.errors.connector.name")
    return topic, record.key, record.value, headers


@pytest.fixture(scope="module")
def here(world: Place, topic: str) -> Counter[tuple[object, ...]]:
    sent = once(world, "--trigger", "available-now", name="here")
    assert Counter(str(record[0]) for record in sent.elements()) == {"customer": 400, "login": 200, "dead": 200}
    return sent


@pytest.fixture(scope="module")
def installed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The interpreter of an environment that has the wheel, not the clone."""
    wheel = build(root, tmp_path_factory.mktemp("dist"))
    return str(install(root, wheel, tmp_path_factory.mktemp("installed") / "venv", "[spark]") / "bin" / "python")


@pytest.mark.parametrize("trigger", ["available-now", "real-time"])
def test_a_cluster_sends_what_one_machine_sends(
    world: Place, here: Counter[tuple[object, ...]], cluster: Cluster, monkeypatch: pytest.MonkeyPatch, trigger: str
) -> None:
    # The driver's interpreter, which has metl.
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    command = cluster.submit(sys.executable)
    sent = once(world, "--trigger", trigger, "--duration", "3", name=f"there-{trigger}", command=command)
    assert sent == here
    executors = {
        found[1]
        for log in cluster.folder.glob("worker*.log")
        for found in re.finditer(r"Asked to launch executor (\S+)", log.read_text())
    }
    assert len(executors) >= 2, "it was the workers' work"


def test_the_installed_wheel_sends_the_same(
    world: Place,
    here: Counter[tuple[object, ...]],
    cluster: Cluster,
    installed: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = cluster.submit(installed)
    assert Path(command[-1]).is_relative_to(Path(installed).parents[1]), "the main of the wheel"
    monkeypatch.setenv("PYSPARK_PYTHON", installed)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    assert once(world, "--trigger", "available-now", name="there-installed", command=command) == here
