"""How long the registry sync takes, beside doing it by hand: asking each artifact, registering one by one."""

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
from metl.registry.store import Books
from metl.registry.sync import Sync
from metl.stack import parts, supervisor
from metl.util import signals
from metl.util.http import Client
from metl.util.terminal import console

THREADS = 4
LOOKS = 20


class Counting(Client):
    asked = 0

    def _send(self, method: str, url: str, body: bytes | None) -> bytes:
        self.asked += 1
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
            with signals.undisturbed():
                supervisor.down(home, started, lambda _part, _text: None)


def fill(registry: str, artifacts: int, versions: int) -> None:
    """Tables as Debezium registers them, each version with a column more."""
    own = local()

    def add(number: int) -> None:
        if not hasattr(own, "connection"):
            own.connection = connected(registry)
        for version in range(1, versions + 1):
            register(own.connection, number, version)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(add, range(artifacts)))


def connected(registry: str) -> HTTPConnection:
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
    answer = connection.getresponse()
    said = answer.read()
    if answer.status != 200:
        raise SystemExit(f"The registry says {answer.status}: {said!r}")


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


def synced(postgres: str, registry: str) -> tuple[float, int, int]:
    """Seconds, requests and events of a pass."""
    http = Counting(registry)
    events: list[object] = []
    began = time.monotonic()
    with autocommit(postgres) as connection, contextlib.closing(http):
        Sync(Apicurio(http), Books(connection, "apicurio"), (), events.append, lambda _done, _total: None).run()
    return time.monotonic() - began, http.asked, len(events)


def asked_one_by_one(registry: str) -> tuple[float, int]:
    """What a pass without news costs who asks each artifact for its versions, with as many threads as we have."""
    http = Counting(registry)

    def artifacts() -> Iterator[str]:
        seen = 0
        while True:
            page = http.json(*API, "groups", "default", "artifacts", limit=1000, offset=seen)
            yield from (each["artifactId"] for each in page["artifacts"])
            seen += len(page["artifacts"])
            if seen >= page["count"]:
                return

    began = time.monotonic()
    with contextlib.closing(http), ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda each: _versions(http, each), artifacts()))
    return time.monotonic() - began, http.asked


def registered_one_by_one(postgres: str, registry: str, artifacts: int) -> tuple[float, int, int]:
    """What a short script does: for each version its content, then its attributes into the matrix."""
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
                    [f"by_hand.t{number}", int(version["version"]), attributes, refs],
                )
                done += 1
    return time.monotonic() - began, http.asked, done


def _versions(http: Client, artifact: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = http.json(
        *API, "groups", "default", "artifacts", artifact, "versions", limit=1000, orderby="globalId"
    )["versions"]
    return found


def watched(home: Home, registry: str, versions: int) -> list[float]:
    """Seconds from a new version in the registry to the line that says what Auto-Update did, in order."""
    environment = {**os.environ, "METL_HOME": str(home.path)}
    watch = [sys.executable, "-m", "metl", "sync", "--watch"]
    took = []
    connection = connected(registry)
    with subprocess.Popen(watch, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            for number in range(LOOKS + 1):
                register(connection, 0, versions + number + 1)
                began = time.monotonic()
                for line in process.stdout:
                    if line.startswith(f"shop.public.t0 {versions + number + 1} came"):
                        break
                took.append(time.monotonic() - began)
                # Not always at the same moment between two looks.
                time.sleep(0.1 * (number % 7))
        finally:
            process.terminate()
    # The first one waited for the program to start.
    return sorted(took[1:])


def command(home: Home) -> float:
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
    chosen = parser.parse_args()
    total = chosen.artifacts * chosen.versions
    tenth = max(1, chosen.artifacts // 10)
    with running_stack() as (home, postgres, registry):
        filling = timed(lambda: fill(registry, chosen.artifacts, chosen.versions))
        console.print(f"The registry took {filling:.0f} s for {chosen.artifacts:,} x {chosen.versions} versions.")
        first, first_asked, events = synced(postgres, registry)
        if events != total:
            raise SystemExit(f"{events} of {total} versions came.")
        looks = [synced(postgres, registry) for _ in range(LOOKS)]
        naive, naive_asked = asked_one_by_one(registry)
        by_hand, by_hand_asked, by_hand_done = registered_one_by_one(postgres, registry, tenth)
        whole = median(command(home) for _ in range(5))
        latencies = watched(home, registry, chosen.versions)

    table = Table("what", "versions", "requests", "seconds", "versions/s")
    table.add_row("first sync", f"{total:,}", f"{first_asked:,}", f"{first:.1f}", f"{total / first:,.0f}")
    table.add_row(
        *("a script, one by one, of a tenth", f"{by_hand_done:,}", f"{by_hand_asked:,}"),
        *(f"{by_hand:.1f}", f"{by_hand_done / by_hand:,.0f}"),
    )
    # What came in the last seconds before a look is looked at once more.
    table.add_row("the pass after it", "0", f"{looks[0][1]:,}", f"{looks[0][0]:.3f}", "")
    quiet = median(seconds for seconds, _, _ in looks)
    table.add_row("later passes without news: p50", "0", f"{looks[-1][1]:,}", f"{quiet:.3f}", "")
    table.add_row("… as a command, with its start", "0", f"{looks[-1][1]:,}", f"{whole:.2f}", "")
    table.add_row("… asking each artifact", "0", f"{naive_asked:,}", f"{naive:.2f}", "")
    table.add_row("metl sync --watch, to a new version: p50", "1", "", f"{median(latencies):.2f}", "")
    table.add_row("… the slowest", "1", "", f"{latencies[-1]:.2f}", "")
    console.print(table)


if __name__ == "__main__":
    main()
