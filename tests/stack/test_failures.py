"""What goes wrong is said in a sentence, and nothing is left running."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from metl.jvm import jars
from tests.stack.conftest import Metl


@contextlib.contextmanager
def stranger_on(port: int) -> Iterator[None]:
    with socket.socket() as stranger:
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        stranger.bind(("127.0.0.1", port))
        stranger.listen()
        yield


def test_a_port_taken_by_a_stranger(metl: Metl) -> None:
    metl("up", "postgres")
    metl("down")
    port = next(iter(metl.ports()))
    with stranger_on(port):
        said = metl("up", "postgres", code=1)
    assert f"postgres cannot have port {port}: " in said
    assert f"(pid {os.getpid()}) uses it" in said
    assert "METL_POSTGRES_PORT" in said and "ports.properties" in said
    assert metl.processes() == []


def test_a_part_that_dies_while_starting_shows_its_last_words(metl: Metl) -> None:
    metl("up", "postgres")
    metl("down")
    (metl.home / "postgres" / "data" / "PG_VERSION").write_text("9.1\n")
    said = metl("up", code=1)
    assert "postgres died while starting. The last lines of" in said
    assert "PostgreSQL version 9.1" in said
    assert metl.processes() == [], "the other parts, which had begun to start, are stopped too"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk to fill")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", disk], check=True)
    yield disk
    subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("part", ["postgres", "kafka", "registry"])
def test_a_full_disk(part: str, small_disk: Path) -> None:
    metl = Metl(small_disk / "home")
    try:
        metl("up", part)
        metl("down")
        with contextlib.suppress(OSError), (small_disk / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(bytes(4096))
        said = metl("up", part, code=1)
        assert f"the disk that holds {metl.home} is full" in said
        assert metl.processes() == []
    finally:
        metl("down")


def test_a_disk_too_small_to_begin_with(small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(bytes(80 * 2**20))
    metl = Metl(small_disk / "home")
    assert "is full" in metl("up", "postgres", code=1)
    assert metl.processes() == []


def test_a_process_that_could_not_be_recorded_is_ended(metl: Metl) -> None:
    metl("up", "postgres")
    metl("down")
    # A folder where the record would go makes every attempt to write it fail.
    (metl.home / "postgres" / "process.json").mkdir()
    metl("up", "postgres", code=1)
    assert metl.processes() == []
    (metl.home / "postgres" / "process.json").rmdir()


def test_a_stale_pid_is_never_killed(metl: Metl) -> None:
    metl("up", "postgres")
    record = metl.home / "postgres" / "process.json"
    killed = json.loads(record.read_text())
    os.kill(killed["pid"], signal.SIGKILL)
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    try:
        # Both our record and PostgreSQL's own lock now point to somebody else.
        record.write_text(json.dumps({**killed, "pid": stranger.pid}))
        lock = metl.home / "postgres" / "data" / "postmaster.pid"
        lock.write_text("\n".join([str(stranger.pid), *lock.read_text().splitlines()[1:]]))
        assert metl.status(code=3)["postgres"]["state"] == "died"
        metl("up", "postgres")
        metl("down")
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_truncated_archive_is_fetched_again(metl: Metl, tmp_path: Path) -> None:
    metl("stack", "fetch", "debezium")
    cache = tmp_path / "cache"
    copy = cache / jars.folder("debezium").parent.name / "debezium"
    shutil.copytree(jars.folder("debezium"), copy)
    jar = next(copy.rglob("debezium-connector-postgres-*.jar"))
    whole = jar.stat().st_size
    os.truncate(jar, 1000)

    said = metl("stack", "fetch", "debezium", METL_CACHE=str(cache))

    assert "the cache is damaged" in said and "1000 bytes instead of" in said
    assert jar.stat().st_size == whole
    assert "damaged" not in metl("stack", "fetch", "debezium", METL_CACHE=str(cache))


def test_an_address_from_the_environment_is_checked_and_not_started(metl: Metl, postgres: str) -> None:
    said = metl("up", "postgres", METL_DSN=postgres)
    assert "postgres  runs elsewhere (METL_DSN), checking it" in said
    assert metl.processes() == []
