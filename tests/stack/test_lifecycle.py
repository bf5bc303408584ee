"""Up, kill -9, up again, down: nothing is lost and nothing is left."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from metl.capture import connectors
from metl.capture.publication import publish
from metl.capture.settings import postgres_source
from metl.home import Home
from metl.stack.postgres import ADMIN, Postgres
from metl.util import http
from tests import topics
from tests.stack.conftest import Metl, listening


def test_everything_survives_a_kill_and_nothing_survives_down(metl: Metl) -> None:
    said = metl("up")
    assert "4 of 4 parts answer" in said
    up = metl.status()
    assert {name: up[name]["state"] for name in ("postgres", "kafka", "registry", "connect")} == {
        "postgres": "up",
        "kafka": "up",
        "registry": "up",
        "connect": "up",
    }
    assert metl.ports() <= listening()
    addresses = environment(metl)
    leave_a_trace(addresses, metl.home / "connect" / "passwords.properties")
    registered = artifacts(addresses)
    assert "kill.public.trace-value" in registered

    assert "4 of 4" in metl("up"), "up twice is harmless"
    assert pids(metl.status()) == pids(up), "and restarts nothing"

    for pid in pids(up).values():
        os.kill(pid, signal.SIGKILL)
    died = metl.status(code=3)
    assert {died[name]["state"] for name in pids(up)} == {"died"}

    metl("up")
    assert environment(metl) == addresses, "ports are remembered"
    assert artifacts(addresses) == registered, "the registry kept its artifacts"
    assert captured(addresses, 1) == [1], "Kafka kept its messages"
    with psycopg.connect(addresses["METL_DSN"]) as connection:
        connection.execute("insert into trace values (2)")
        assert connection.execute("select * from trace").fetchall() == [(1,), (2,)]
    assert captured(addresses, 2) == [1, 2], "Connect took its connector up again"

    assert all(part in metl("stack", "logs", "postgres") for part in ["database system", "not properly shut down"])
    metl("down")
    assert metl.processes() == []
    assert metl.ports() & listening() == set()
    assert {metl.status()[name]["state"] for name in pids(up)} == {"down"}


def pids(status: dict[str, dict[str, int]]) -> dict[str, int]:
    return {name: status[name]["pid"] for name in ("postgres", "kafka", "registry", "connect")}


def environment(metl: Metl) -> dict[str, str]:
    shell = subprocess.run(
        ["sh", "-c", f"{metl('stack', 'env')}\nenv"],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(re.findall(r"^(METL_\w+)=(.*)$", shell.stdout, re.M))


def leave_a_trace(addresses: dict[str, str], passwords: Path) -> None:
    """A row, its message, the message's schema, and the connector that carried it."""
    server = conninfo_to_dict(addresses["METL_DSN"])
    with psycopg.connect(addresses["METL_DSN"]) as connection:
        connection.execute("create table trace (id int primary key)")
        connection.execute("insert into trace values (1)")
        publish(connection, "metl_kill", ["public.trace"])
    settings = postgres_source(
        prefix="kill",
        host=str(server["host"]),
        port=int(str(server["port"])),
        database="metl",
        user="metl_owner",
        password=f"${{file:{passwords}:metl_owner}}",
        tables=["public.trace"],
        registry=addresses["METL_REGISTRY"],
    )
    connectors.create(addresses["METL_CONNECT"], "kill", settings)
    assert captured(addresses, 1) == [1]


def captured(addresses: dict[str, str], count: int) -> list[int]:
    """The rows of the messages; a kill may send one twice, never lose one."""
    messages = topics.read(addresses["METL_KAFKA"], "kill.public.trace", count)
    return sorted({json.loads(message.value() or b"")["payload"]["after"]["id"] for message in messages})


def artifacts(addresses: dict[str, str]) -> set[str]:
    found = http.request("GET", f"{addresses['METL_REGISTRY']}/apis/registry/v3/search/artifacts")
    return {artifact["artifactId"] for artifact in found["artifacts"]}


def test_parts_start_in_any_subset(metl: Metl) -> None:
    metl("up", "registry")
    states = metl.status()
    assert [states[name]["state"] for name in ("postgres", "kafka", "registry", "connect")] == [
        "down",
        "down",
        "up",
        "down",
    ]
    metl("up", "postgres")
    assert metl.status()["postgres"]["state"] == "up"


def test_the_owner_of_the_database_is_no_superuser(metl: Metl) -> None:
    metl("up", "postgres")
    with psycopg.connect(environment(metl)["METL_DSN"]) as connection:
        row = connection.execute(
            "select current_user, current_database(), rolsuper, current_setting('wal_level') "
            "from pg_roles where rolname = current_user"
        ).fetchone()
    assert row == ("metl_owner", "metl", False, "logical")


def test_jobs_log_in_as_somebody_who_may_nothing_else(metl: Metl, monkeypatch: pytest.MonkeyPatch) -> None:
    metl("up", "postgres")
    metl("install")
    server = Postgres(Home(metl.home))
    for variable in ("METL_DSN", "METL_JOB_DSN"):
        monkeypatch.delenv(variable, raising=False)
    assert_jobs_can_start(server)
    # As an older METL has left it, while the server goes on.
    with psycopg.connect(server.dsn(ADMIN, ADMIN)) as admin:
        admin.execute("drop role metl_mapper")
    for file in ("pgpass", "passwords.properties"):
        kept = [line for line in (metl.home / file).read_text().splitlines(True) if "metl_mapper" not in line]
        (metl.home / file).write_text("".join(kept))
    assert "runs already" in metl("up", "postgres")
    assert_jobs_can_start(server)


def assert_jobs_can_start(server: Postgres) -> None:
    with psycopg.connect(server.job_address, autocommit=True) as connection:
        row = connection.execute(
            "select current_user, current_database(), rolsuper or rolcreatedb or rolcreaterole or rolreplication "
            "from pg_roles where rolname = current_user"
        ).fetchone()
        assert row == ("metl_mapper", "metl", False)
        connection.execute("select metl.start_job('map', '/checkpoint', gen_random_uuid())")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("select metl.set_topic('*')")


def test_jobs_log_in_elsewhere_as_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Postgres(Home(tmp_path))
    monkeypatch.delenv("METL_JOB_DSN", raising=False)
    monkeypatch.setenv("METL_DSN", server.local_address)
    assert "user=metl_mapper" in server.job_address, "`metl stack env` names the local one"
    monkeypatch.setenv("METL_DSN", "host=elsewhere")
    assert server.job_address == "host=elsewhere"
    monkeypatch.setenv("METL_JOB_DSN", "host=elsewhere user=job")
    assert server.job_address == "host=elsewhere user=job"


def test_no_password_is_in_a_process_list_or_a_log(metl: Metl) -> None:
    metl("up", "postgres")
    passwords = re.findall(r"=(.+)", (metl.home / "passwords.properties").read_text())
    assert len(passwords) == 3
    texts = [" ".join(process.cmdline()) for process in metl.processes()]
    texts += [path.read_text(errors="replace") for path in metl.home.glob("*/log*")]
    texts += [metl("stack", "env"), metl("status")]
    for password in passwords:
        assert not any(password in text for text in texts)
    for secret in ("passwords.properties", "pgpass"):
        assert (metl.home / secret).stat().st_mode & 0o077 == 0


MOMENTS = ["postgres  making", "postgres  starting", "kafka     starting", "registry  starting"]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("moment", MOMENTS)
def test_an_interrupted_up_leaves_nothing_running(metl: Metl, how: signal.Signals, moment: str) -> None:
    assert_interrupted(metl, moment, [how])


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_impatient_user_leaves_nothing_running_either(metl: Metl, moment: str) -> None:
    assert_interrupted(metl, moment, [signal.SIGINT] * 3)


def assert_interrupted(metl: Metl, moment: str, signals: list[signal.Signals]) -> None:
    process = metl.start("up")
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(moment):
            break
    for each in signals:
        os.killpg(process.pid, each)
        time.sleep(0.03)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "Error: Interrupted. What this command had started was stopped.\n")
    assert metl.processes() == []


def test_any_language_can_name_the_home(tmp_path: Path) -> None:
    metl = Metl(tmp_path / "Zuhause für METL 日本")
    try:
        metl("up", "kafka", "registry")
        metl("down")
        metl("up", "kafka", "registry")
        assert [path.name for path in tmp_path.iterdir()] == [metl.home.name]
    finally:
        metl("down")


def test_the_addresses_in_the_environment_are_our_own(metl: Metl) -> None:
    metl("up", "postgres")
    dsn = environment(metl)["METL_DSN"]
    metl("down")
    assert "answers after" in metl("up", "postgres", METL_DSN=dsn)


def test_two_at_once_do_not_get_in_each_others_way(metl: Metl) -> None:
    both = [metl.start("up", "postgres") for _ in range(2)]
    for process in both:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, out + err
    assert metl.status()["postgres"]["state"] == "up"


@pytest.mark.parametrize("unshare_works", [True, False])
def test_root_starts_postgresql_under_another_number(unshare_works: bool, tmp_path: Path) -> None:
    """In a user namespace, or as nobody where those are forbidden, as in most containers."""
    if os.geteuid() != 0:
        pytest.skip("only root needs this")
    with tempfile.TemporaryDirectory() as reachable:
        Path(reachable).chmod(0o711)
        metl = Metl(Path(reachable, "home"))
        if not unshare_works:
            forbid(tmp_path / "unshare")
            metl.environment["PATH"] = f"{tmp_path}:{metl.environment['PATH']}"
        try:
            metl("up", "postgres")
            owner = psutil.Process(metl.status()["postgres"]["pid"]).uids().effective
            assert owner == (0 if unshare_works else 65_534)
        finally:
            metl("down")
        assert metl.processes() == []


def test_an_ordinary_user_needs_nothing_special(metl: Metl) -> None:
    if os.geteuid() != 0:
        pytest.skip("every other test shows it")
    # To the programs in it, a user namespace looks as if somebody other than root had started them.
    command = ["unshare", "--user", "--map-user=1000", sys.executable, "-m", "metl", "up", "postgres", "kafka"]
    subprocess.run(command, env=metl.environment, check=True)
    assert [metl.status()[name]["state"] for name in ("postgres", "kafka")] == ["up", "up"]


def forbid(program: Path) -> None:
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
