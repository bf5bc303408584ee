"""One pass: lists what is new or deleted in a registry, records it and takes it into the matrix."""

import collections
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import psycopg

from metl.errors import MetlError
from metl.registry.attributes import Unreadable
from metl.registry.listing import Key, Listing, Registry, UnexpectedAnswer, Version
from metl.registry.schemas import read
from metl.registry.store import Event, RecordedVersion, RegistryStore, Task
from metl.util.http import Aborted, Refused, RestError

THREADS = 4
#: Contents that are read ahead.
PREFETCH = 64
#: Versions taken in one transaction, for which all other writers wait.
BATCH = 20
#: Failed requests before the registry counts as down.
MAX_FAILURES = 3
#: Up to so many deletions are believed, unless nothing would be left.
MAX_DELETIONS = 100


class ImplausibleLoss(MetlError):
    """The registry seems to have lost most of what it had; nothing was changed."""


@dataclass(frozen=True)
class Changes:
    """What has changed in one group, or in all."""

    group: str | None
    versions: list[Version]
    #: The registry's time up to which everything is listed; None: unknown.
    watermark: datetime | None
    #: Entries of metl.registry_versions whose version was deleted.
    deleted: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Problem:
    text: str
    #: Otherwise it is tried again.
    is_permanent: bool


#: Attributes and refs, or why there are none.
Prepared = tuple[list[dict[str, Any]], dict[str, Any]] | Problem


@dataclass
class Sync:
    registry: Registry
    store: RegistryStore
    #: Empty: all.
    groups: Sequence[str]
    report: Callable[[Event], None]
    #: Called with the versions done and their number.
    progress: Callable[[int, int], None]
    stop: threading.Event = field(default_factory=threading.Event)
    accept_deletions: bool = False
    #: Schemas of which a version could not be read, and why; later versions must not overtake it.
    blocked: dict[str, str] = field(default_factory=dict)
    #: Groups without versions, now and before.
    empty_groups: list[str] = field(default_factory=list)
    #: By event: entries that wait behind a plan or were rejected, which are reported once.
    _reported: dict[str, set[int]] = field(default_factory=lambda: collections.defaultdict(set))
    _prefetched: dict[Key, Prepared] = field(default_factory=dict)
    _failures: int = 0

    def run(self, full: bool = False, retry: bool = True) -> None:
        """`full`: list everything, not only changes; `retry`: also take what failed before."""
        self.blocked.clear()
        self.empty_groups.clear()
        self._failures = 0
        refusals: list[ImplausibleLoss] = []
        for group in self.groups or (None,):
            try:
                self._record(self._list_changes(group, full))
            except ImplausibleLoss as refusal:
                refusals.append(refusal)
        self._process(retry)
        self._report_waiting()
        if refusals:
            raise refusals[0]

    def dry_run(self, rolled_back: Callable[[], Any], full: bool = False) -> None:
        """The same in a transaction that is rolled back; contents are read before it."""
        changes = [self._list_changes(group, full) for group in self.groups or (None,)]
        changed = [version for each in changes if each for version in each.versions]
        versions = changed + [task.version for task in self.store.tasks(self.groups) if task.kind == "take"]
        for batch in self._prefetch(versions):
            self._prefetched |= {version.key: prepared for version, prepared in batch}
        with rolled_back():
            for each in changes:
                self._record(each)
            self._process(retry=True)
            self._report_waiting()

    def _list_changes(self, group: str | None, full: bool) -> Changes | None:
        watermark = None if full else self.store.watermark(group)
        if watermark is not None:
            since, age = watermark
            listing = self.registry.list_changes(group, since)
            recorded = self.store.find(listing.versions)
            changed = _changed(listing, recorded)
            new = [each for each in changed if each.key not in recorded]
            # Only if the counts agree is nothing deleted.
            if not _recreated(listing, recorded) and listing.count == self.store.count(group) + len(new):
                # Advance the watermark by the elapsed local time.
                advanced = max(listing.watermark or since, since + age)
                return Changes(group, changed, advanced) if changed or listing.requests > 1 else None
        return self._list_all(group)

    def _list_all(self, group: str | None) -> Changes | None:
        listing = self.registry.list_all(group)
        recorded = self.store.recorded(group)
        listed = {each.key for each in listing.versions}
        if group and not listed and not recorded:
            self.empty_groups.append(group)
        missing = [each for key, each in recorded.items() if key not in listed] if listing.is_complete else []
        self._refuse_implausible_loss([*missing, *_recreated(listing, recorded)], list(recorded.values()))
        with ThreadPoolExecutor(THREADS) as pool:
            is_deleted = list(pool.map(lambda each: self.registry.is_deleted(each.version), missing))
        deleted = [each.entry for each, is_sure in zip(missing, is_deleted, strict=True) if is_sure]
        watermark = listing.watermark if listing.is_complete and all(is_deleted) else None
        changed = _changed(listing, recorded)
        return Changes(group, changed, watermark, deleted) if changed or deleted or watermark else None

    def _refuse_implausible_loss(self, deleted: list[RecordedVersion], recorded: list[RecordedVersion]) -> None:
        lost, all_ = (sum(each.is_effective for each in versions) for versions in (deleted, recorded))
        if not self.accept_deletions and lost and (lost == all_ or (lost > MAX_DELETIONS and 2 * lost > all_)):
            raise ImplausibleLoss(
                f"The registry has lost {lost} of the {all_} versions that METL has from it, by accident as it seems. "
                "Nothing was changed. Is METL_REGISTRY right? If they were deleted on purpose, run: "
                "metl sync --accept-deletions"
            )

    def _record(self, changes: Changes | None) -> None:
        if changes:
            self._report(self.store.record(changes.group, changes.versions, changes.watermark, changes.deleted))

    def _process(self, retry: bool) -> None:
        done = 0
        while True:
            tasks = self.store.tasks(self.groups)
            # Later versions must not overtake one that failed, even while it is not retried.
            paused = {task.schema for task in tasks if task.kind == "take" and task.failed_before and not retry}
            tasks = [task for task in tasks if task.schema not in paused and task.schema not in self.blocked]
            before = done
            self.progress(done, before + len(tasks))
            for _ in self._process_tasks(tasks):
                done += 1
                self.progress(done, before + len(tasks))
            # More may be due now, such as versions behind one that was deleted.
            if done == before:
                return

    def _process_tasks(self, tasks: list[Task]) -> Iterator[Task]:
        """Yields each task that is finished."""
        takes = {task.version.key: task for task in tasks if task.kind == "take"}
        for batch in self._prefetch([task.version for task in takes.values()]):
            yield from self._take_batch([(takes[version.key], prepared) for version, prepared in batch])
        for task in tasks:
            if task.kind == "end":
                self._check_stop()
                self._report(self.store.end(task))
                yield task

    def _take_batch(self, batch: list[tuple[Task, Prepared]]) -> list[Task]:
        """In one transaction, which is cheaper; returns the finished tasks."""
        events: list[Event] = []
        done: list[Task] = []
        blocked = dict(self.blocked)
        try:
            with self.store.transaction():
                for task, prepared in batch:
                    reported = self._take_one(task, prepared)
                    events += reported
                    done += [task] if reported and task.schema not in self.blocked else []
        except (psycopg.DataError, psycopg.IntegrityError) as error:
            # One version that PostgreSQL refuses must not stop the others.
            self.blocked = blocked
            if len(batch) > 1:
                return [task for each in batch for task in self._take_batch([each])]
            [(task, _)] = batch
            events, done = self.store.fail(task, _printable(error), is_permanent=True), [task]
        self._report(events)
        return done

    def _take_one(self, task: Task, prepared: Prepared) -> list[Event]:
        if task.schema in self.blocked:
            return []
        if not isinstance(prepared, Problem):
            return self.store.take(task, *prepared)
        if not prepared.is_permanent:
            self.blocked[task.schema] = prepared.text
        return self.store.fail(task, prepared.text, prepared.is_permanent)

    def _prefetch(self, versions: list[Version]) -> Iterator[list[tuple[Version, Prepared]]]:
        """Batches in order, as large as is read by now, while the next versions are being read."""
        pending: collections.deque[tuple[Version, Future[Prepared]]] = collections.deque()
        remaining = iter(versions)
        with ThreadPoolExecutor(THREADS) as pool:
            try:
                while True:
                    self._check_stop()
                    for version in itertools.islice(remaining, PREFETCH - len(pending)):
                        pending.append((version, pool.submit(self._prepare, version)))
                    if not pending:
                        return
                    pending[0][1].result()
                    batch: list[tuple[Version, Prepared]] = []
                    while pending and len(batch) < BATCH and pending[0][1].done():
                        version, future = pending.popleft()
                        batch.append((version, future.result()))
                    yield batch
            finally:
                pool.shutdown(cancel_futures=True)

    def _prepare(self, version: Version) -> Prepared:
        if version.key in self._prefetched:
            return self._prefetched[version.key]
        try:
            content = self.registry.content(version)
            row = read(content.type, content.text, lambda: self.registry.references(content))
            refs = {**content.refs, **({"fingerprint": row.fingerprint} if row.fingerprint else {})}
            return [each.as_json() for each in row.attributes], refs
        except Unreadable as error:
            return Problem(f"The schema {_printable(error)}", is_permanent=True)
        except (Refused, UnexpectedAnswer) as error:
            return Problem(_printable(error), is_permanent=False)
        except RestError as error:
            self._failures += 1
            if self._failures >= MAX_FAILURES:
                raise
            return Problem(_printable(error), is_permanent=False)

    def _report_waiting(self) -> None:
        for event in self.store.waiting(self.groups, self._reported):
            self._reported[event["event"]].add(event.pop("entry"))
            self.report(event)

    def _report(self, events: list[Event]) -> None:
        for event in events:
            self.report(event)

    def _check_stop(self) -> None:
        if self.stop.is_set():
            raise Aborted


def _printable(error: Exception) -> str:
    """Escapes what PostgreSQL cannot hold: a message may quote anything from a schema."""
    return str(error).encode(errors="backslashreplace").decode().replace("\0", "\\0")[:2000]


def _changed(listing: Listing, recorded: dict[Key, RecordedVersion]) -> list[Version]:
    """New versions, and those that are recorded differently."""

    def content(version: Version) -> tuple[object, ...]:
        return (*version.identity, version.content_id, version.state, version.modified_on)

    return [
        each
        for each in listing.versions
        if each.key not in recorded or content(recorded[each.key].version) != content(each)
    ]


def _recreated(listing: Listing, recorded: dict[Key, RecordedVersion]) -> list[RecordedVersion]:
    """Versions deleted and created again under the same name."""
    pairs = [(each, recorded[each.key]) for each in listing.versions if each.key in recorded]
    return [before for now, before in pairs if now.identity != before.version.identity]
