"""How long the registry sync takes, relative to a naive script: one request per artifact, one call per version."""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from threading import local
from typing import Any
from urllib.parse import urlsplit

import psycopg
from rich.table import Table

from metl.db.connection import autocommit
from metl.db.install import install
from metl.home import Home
from metl.registry.apicurio import API, Apicurio
from metl.registry.schemas import read
from metl.registry.store import RegistryStore
from metl.registry.sync import Sync
from metl.stack import parts, supervisor
from metl.util import signals
from metl.util.http import Client
from metl.util.terminal import console

THREADS = 4
PASSES = 20


class Counting(Client):
    requests = 0

    def _send(self, method: str, url: str, body: bytes | None) -> bytes:
        self.requests += 1
        return super()._send(method, url, body)


@contextlib.contextmanager
def running_stack() -> Iterator[tuple[Home, str, str]]:
    with signals.all_interrupt(), tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder, "home"))
        started = parts(home, ("postgres", "registry"))
        supervisor.up(home, started, lambda _part, _text: None)
        try:
            postgres, registry = (part.address for part in started)
            install(postgres)
            yield home, postgres, registry
        finally:
            with signals.shielded():
                supervisor.down(home, started, lambda _part, _text: None)


def fill(registry: str, artifacts: int, versions: int) -> None:
    """Tables as Debezium registers them, each version with one more column."""
    thread = local()

    def add(number: int) -> None:
        if not hasattr(thread, "connection"):
            thread.connection = connect(registry)
        for version in range(1, versions + 1):
            register(thread.connection, number, version)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(add, range(artifacts)))


def connect(registry: str) -> HTTPConnection:
    url = urlsplit(registry)
    return HTTPConnection(str(url.hostname), url.port, timeout=300)


def register(connection: HTTPConnection, table: int, version: int) -> None:
    content = {"content": json.dumps(envelope(table, version)), "contentType": "application/json"}
    artifact = {"artifactId": f"shop.public.t{table}-value", "artifactType": "KCONNECT"}
    connection.request(
        "POST",
        "/apis/registry/v3/groups/default/artifacts?ifExists=CREATE_VERSION",
        json.dumps({**artifact, "firstVersion": {"content": content}}),
        {"Content-Type": "application/json"},
    )
    response = connection.getresponse()
    body = response.read()
    if response.status != 200:
        raise SystemExit(f"The registry answers {response.status}: {body!r}")


def envelope(table: int, version: int) -> dict[str, Any]:
    columns = [
        {"type": "int32", "optional": False, "field": "id"},
        {"type": "int64", "optional": True, "name": "io.debezium.time.MicroTimestamp", "version": 1, "field": "at"},
        *({"type": "string", "optional": True, "field": f"c{number}"} for number in range(7 + version)),
    ]
    row = {"type": "struct", "optional": True, "name": f"shop.public.t{table}.Value", "fields": columns}
    others = [{"type": "string", "optional": True, "field": name} for name in ("source", "op", "ts_ms", "transaction")]
    fields = [{**row, "field": "before"}, {**row, "field": "after"}, *others]
    return {"type": "struct", "optional": False, "name": f"shop.public.t{table}.Envelope", "fields": fields}


def sync(postgres: str, registry: str) -> tuple[float, int, int]:
    """Seconds, requests and events of one pass."""
    http = Counting(registry)
    events: list[object] = []
    began = time.monotonic()
    with autocommit(postgres) as connection, contextlib.closing(http):
        Sync(Apicurio(http), RegistryStore(connection, "apicurio"), (), events.append, lambda _done, _total: None).run()
    return time.monotonic() - began, http.requests, len(events)


def poll_each_artifact(registry: str) -> tuple[float, int]:
    """Seconds and requests of a pass without news that lists the versions of each artifact, in concurrent threads."""
    http = Counting(registry)

    def artifacts() -> Iterator[str]:
        offset = 0
        while True:
            page = http.json(*API, "groups", "default", "artifacts", limit=1000, offset=offset)
            yield from (each["artifactId"] for each in page["artifacts"])
            offset += len(page["artifacts"])
            if offset >= page["count"]:
                return

    began = time.monotonic()
    with contextlib.closing(http), ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda each: _versions(http, each), artifacts()))
    return time.monotonic() - began, http.requests


def register_one_by_one(postgres: str, registry: str, artifacts: int) -> tuple[float, int, int]:
    """Seconds, requests and versions of a script that fetches each version and adds it to the matrix."""
    http = Counting(registry)
    done = 0
    began = time.monotonic()
    with contextlib.closing(http), psycopg.connect(postgres, autocommit=True) as connection:
        for number in range(artifacts):
            for version in _versions(http, f"shop.public.t{number}-value"):
                row = read("KCONNECT", http.content(*API, "ids", "globalIds", str(version["globalId"])).decode())
                attributes = json.dumps([each.as_json() for each in row.attributes])
                refs = json.dumps({"global_id": version["globalId"]})
                connection.execute(
                    "select metl.add_schema_version(%s, %s, %s, %s)",
                    [f"script.t{number}", int(version["version"]), attributes, refs],
                )
                done += 1
    return time.monotonic() - began, http.requests, done


def _versions(http: Client, artifact: str) -> list[dict[str, Any]]:
    page: dict[str, list[dict[str, Any]]] = http.json(
        *API, "groups", "default", "artifacts", artifact, "versions", limit=1000, orderby="globalId"
    )
    return page["versions"]


def watch_latencies(home: Home, registry: str, versions: int) -> list[float]:
    """Seconds from a new version in the registry to the line that reports its Auto-Update, ascending."""
    environment = {**os.environ, "METL_HOME": str(home.path)}
    command = [sys.executable, "-m", "metl", "sync", "--watch"]
    latencies = []
    connection = connect(registry)
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            for number in range(PASSES + 1):
                register(connection, 0, versions + number + 1)
                began = time.monotonic()
                for line in process.stdout:
                    if line.startswith(f"shop.public.t0 {versions + number + 1} came"):
                        break
                latencies.append(time.monotonic() - began)
                # At a varying time between two polls.
                time.sleep(0.1 * (number % 7))
        finally:
            process.terminate()
    # Without the first, which includes the start of the program.
    return sorted(latencies[1:])


def sync_command(home: Home) -> float:
    began = time.monotonic()
    environment = {**os.environ, "METL_HOME": str(home.path)}
    subprocess.run([sys.executable, "-m", "metl", "sync"], env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


def timed(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--artifacts", type=int, default=1000)
    parser.add_argument("--versions", type=int, default=10)
    arguments = parser.parse_args()
    total = arguments.artifacts * arguments.versions
    tenth = max(1, arguments.artifacts // 10)
    with running_stack() as (home, postgres, registry):
        filling = timed(lambda: fill(registry, arguments.artifacts, arguments.versions))
        console.print(f"The registry took {filling:.0f} s for {arguments.artifacts:,} x {arguments.versions} versions.")
        first, first_requests, events = sync(postgres, registry)
        if events != total:
            raise SystemExit(f"{events} of {total} versions were added.")
        passes = [sync(postgres, registry) for _ in range(PASSES)]
        naive, naive_requests = poll_each_artifact(registry)
        script, script_requests, script_versions = register_one_by_one(postgres, registry, tenth)
        startup = median(sync_command(home) for _ in range(5))
        latencies = watch_latencies(home, registry, arguments.versions)

    table = Table("what", "versions", "requests", "seconds", "versions/s")
    table.add_row("first sync", f"{total:,}", f"{first_requests:,}", f"{first:.1f}", f"{total / first:,.0f}")
    table.add_row(
        *("a script, one by one, of a tenth", f"{script_versions:,}", f"{script_requests:,}"),
        *(f"{script:.1f}", f"{script_versions / script:,.0f}"),
    )
    # Lists the versions of the last seconds once more.
    table.add_row("the pass after it", "0", f"{passes[0][1]:,}", f"{passes[0][0]:.3f}", "")
    quiet = median(seconds for seconds, _, _ in passes)
    table.add_row("later passes without news: p50", "0", f"{passes[-1][1]:,}", f"{quiet:.3f}", "")
    table.add_row("… as a command, with its start", "0", f"{passes[-1][1]:,}", f"{startup:.2f}", "")
    table.add_row("… asking each artifact", "0", f"{naive_requests:,}", f"{naive:.2f}", "")
    table.add_row("metl sync --watch, to a new version: p50", "1", "", f"{median(latencies):.2f}", "")
    table.add_row("… the slowest", "1", "", f"{latencies[-1]:.2f}", "")
    console.print(table)


if __name__ == "__main__":
    main()
