"""metl sync: from the schema registry to the matrix."""

import collections
import contextlib
import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

import click
import psycopg
from rich.progress import Progress

from metl import config
from metl.capture.monitor import Monitor
from metl.cli.options import dry_run_option, json_option
from metl.config import database_dsn
from metl.db.connection import autocommit
from metl.errors import BadInput
from metl.registry import messages
from metl.registry.apicurio import Apicurio
from metl.registry.client import registry_client
from metl.registry.confluent import Confluent
from metl.registry.listing import Registry
from metl.registry.store import Event, RegistryStore
from metl.registry.sync import Sync
from metl.registry.watch import Watch
from metl.util import signals
from metl.util.nearest import nearest
from metl.util.terminal import console

#: So many at once are summed up instead of listed one by one, unless somebody has to take note of one.
MANY = 50
PROGRESS_INTERVAL = 10.0
MONITOR_TIMEOUT = 2.0
CCOMPAT = "/apis/ccompat/v7"


@click.command(short_help="Take new schema versions from the registry.")
@click.option(
    "--watch",
    is_flag=True,
    help="Go on until Ctrl-C: news are taken up within two seconds. Also tells of connectors that die.",
)
@click.option("--group", "groups", multiple=True, help="Only this group of the registry; may be given several times.")
@click.option(
    "--registry-type",
    type=click.Choice(["apicurio", "confluent"]),
    default="apicurio",
    show_default=True,
    help="Whose API the registry speaks.",
)
@click.option("--name", help="Under which name METL remembers it, with several of one type.  [default: its type]")
@dry_run_option
@click.option("--full", is_flag=True, help="Look at everything, also at what has not changed lately.")
@click.option("--retry", "retried", multiple=True, metavar="SCHEMA", help="Try again what of SCHEMA was not taken.")
@click.option(
    "--accept-deletions", is_flag=True, help="Delete here what the registry lost, even if that is most of it."
)
@json_option
@click.pass_context
def sync(
    context: click.Context,
    watch: bool,
    groups: tuple[str, ...],
    registry_type: str,
    name: str | None,
    dry_run: bool,
    full: bool,
    retried: tuple[str, ...],
    accept_deletions: bool,
    as_json: bool,
) -> None:
    """Take new schema versions from the registry of METL_REGISTRY (or the local stack) into the matrix.

    Each version of an artifact becomes a version of the schema that has its name, without -value: its topic.
    Mappings are carried over; a version that would lose cells under policy confirm waits as a plan, and those
    after it wait with it. What is deleted in the registry is deleted here, whatever the policy. KCONNECT, JSON
    Schema and Avro are read; keys, drafts, Debezium's heartbeats and the group metl.cdm are passed over. What
    became of each version, and why, is in metl.registry_versions; those that could not be read leave a notice. With
    --json each event is a line.

    \b
    metl sync                          one pass; exits with 1 if something new could not be taken
    metl sync --watch --group shop     pass after pass, for one group
    metl sync --retry shop.customer    once more what could not be read, was rejected or deleted here
    METL_REGISTRY=http://host:8081 metl sync --registry-type confluent
    """
    if watch and (dry_run or full or retried or accept_deletions):
        raise BadInput("--watch goes on by itself. Run a single pass beside it for what the other options do.")
    if dry_run and retried:
        raise BadInput("--dry-run changes nothing, --retry does. Give one of them.")
    stop = threading.Event()
    registry, name = _registry(registry_type, stop), name or registry_type
    out = _Output(as_json, watch)

    def prepare(store: RegistryStore) -> Sync:
        return Sync(registry, store, groups, out.report, out.progress, stop, accept_deletions)

    with contextlib.closing(registry):
        if watch:
            with _ending(stop, registry, politely=True):
                _watch(prepare, name, stop, out)
            return
        with _ending(stop, registry, politely=False), autocommit(database_dsn()) as connection, out:
            store = RegistryStore(connection, name)
            store.require_steward()
            for schema in retried:
                _retry(store, schema)
            _wait_for_lock(store, out)
            one = prepare(store)
            if dry_run:
                one.dry_run(lambda: _undone(connection), full)
            else:
                one.run(full)
    for group in one.empty_groups:
        out.say(f"Group {group!r} of the registry has no versions. Is it spelled right?")
    out.sum_up(dry_run)
    failed = out.failures + len(one.blocked)
    if failed:
        where = "A pass that is no dry run writes down why." if dry_run else "metl.registry_versions says why."
        reason = next(iter(one.blocked.values()), where)
        click.echo(f"Error: {failed} of the versions could not be taken: {reason}", err=True)
        context.exit(1)


def _registry(kind: str, stop: threading.Event) -> Registry:
    url = config.registry_url()
    if kind == "apicurio":
        return Apicurio(registry_client(url, stop))
    # The local one is an Apicurio, which has Confluent's API as well.
    return Confluent(registry_client(url if config.REGISTRY.is_elsewhere(config.home()) else f"{url}{CCOMPAT}", stop))


def _watch(prepare: Callable[[RegistryStore], Sync], name: str, stop: threading.Event, out: "_Output") -> None:
    # What is wrong from the start is no reason to wait.
    with autocommit(database_dsn()) as connection:
        RegistryStore(connection, name).require_steward()
    with _monitored(stop, out):
        Watch(database_dsn(), prepare, name, stop, out.say).run()


@contextlib.contextmanager
def _monitored(stop: threading.Event, out: "_Output") -> Iterator[None]:
    """Whoever watches the registry is the first to wonder why nothing comes: connectors are looked at as well."""
    connect = config.CONNECT.find()
    if connect is None:
        yield
        return
    monitor = threading.Thread(target=Monitor(connect, database_dsn(), out.say).run, args=(stop,), daemon=True)
    monitor.start()
    try:
        yield
    finally:
        stop.set()
        monitor.join(MONITOR_TIMEOUT)


def _retry(store: RegistryStore, schema: str) -> None:
    if not store.retry(schema):
        schemas = store.schemas()
        if schema not in schemas:
            raise BadInput(f"The registry has no schema {schema!r}.{nearest(schema, schemas)}")
        click.echo(f"Nothing of {schema} is left to be taken.", err=True)


def _wait_for_lock(store: RegistryStore, out: "_Output") -> None:
    was_reported = False
    while not store.try_lock("pass"):
        if not was_reported:
            out.say(f"{store.lock_holder('pass')} is in the middle of a pass. Waiting for it.")
            was_reported = True
        time.sleep(0.1)


@contextlib.contextmanager
def _undone(connection: psycopg.Connection) -> Iterator[None]:
    with connection.transaction(force_rollback=True):
        yield


@contextlib.contextmanager
def _ending(stop: threading.Event, registry: Registry, politely: bool) -> Iterator[None]:
    """On a signal, abort requests in flight; politely: let the transaction in flight commit."""

    def end(_number: int, _frame: FrameType | None) -> None:
        stop.set()
        registry.abort()
        if not politely:
            raise KeyboardInterrupt

    with signals.restored():
        for number in signals.TERMINATION:
            signal.signal(number, end)
        yield


class _Output:
    """On a terminal, in a log or for a program."""

    def __init__(self, as_json: bool, watch: bool) -> None:
        self._as_json = as_json
        self._watch = watch
        self._counts: collections.Counter[str] = collections.Counter()
        self._total = 0
        self._last_progress = time.monotonic()
        self._bar = Progress(console=console, transient=True, disable=watch or as_json or not console.is_terminal)
        self._task = self._bar.add_task("versions", total=None, visible=False)
        self.failures = 0

    def __enter__(self) -> None:
        self._bar.start()

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def report(self, event: Event) -> None:
        self._counts[event["event"]] += 1
        self.failures += messages.is_failure(event)
        if self._as_json:
            self._line(json.dumps(messages.as_json(event), ensure_ascii=False))
        elif self._watch or self._total <= MANY or messages.needs_attention(event):
            self._line(messages.sentence(event))

    def progress(self, done: int, total: int) -> None:
        self._total = total
        if self._watch or total <= MANY:
            return
        self._bar.update(self._task, completed=done, total=total, visible=True)
        if self._bar.disable and time.monotonic() - self._last_progress > PROGRESS_INTERVAL:
            self._last_progress = time.monotonic()
            self.say(f"{done:,} of {total:,} versions are done.")

    def say(self, text: str) -> None:
        """What is no event of the registry."""
        if self._as_json:
            text = json.dumps({"event": "message", "text": text}, ensure_ascii=False)
        click.echo(text, err=True)

    def sum_up(self, dry_run: bool) -> None:
        if not self._as_json:
            self._line(messages.summary(self._counts) + (" Nothing was changed: a dry run." if dry_run else ""))

    def _line(self, text: str) -> None:
        console.print(text, markup=False, emoji=False, soft_wrap=True)
        # Who reads a pipe waits for it.
        console.file.flush()
