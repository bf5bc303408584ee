"""One pass: what a registry has that METL does not know, and what becomes of it."""

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
from metl.registry.listing import Garbled, Key, Reading, Registry, Version
from metl.registry.schemas import read
from metl.registry.store import Books, Event, Known, Task
from metl.util.http import Aborted, Refused, RestError

THREADS = 4
#: How many contents are read before it is their turn.
AHEAD = 64
#: How many are taken in one transaction, for which all others that write have to wait.
AT_ONCE = 20
#: So many without an answer, and it is the registry that is away.
UNANSWERED = 3
#: So many may go at once, as long as they are not most of what there is.
FEW = 100


class Unbelievable(MetlError):
    """The registry seems to have lost most of what it had; nothing was changed."""


@dataclass(frozen=True)
class News:
    """What is to be noted of one group, or of all."""

    group: str | None
    versions: list[Version]
    until: datetime | None
    gone: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Problem:
    text: str
    #: Otherwise it may go better at the next try.
    for_good: bool


Prepared = tuple[list[dict[str, Any]], dict[str, Any]] | Problem


@dataclass
class Sync:
    registry: Registry
    books: Books
    #: None given: all.
    groups: Sequence[str]
    tell: Callable[[Event], None]
    #: Called with how many are done, and how many there are.
    progress: Callable[[int, int], None]
    stop: threading.Event = field(default_factory=threading.Event)
    accept_deletions: bool = False
    #: Schemas of which a version could not be read now; the later ones do not overtake it.
    held: dict[str, str] = field(default_factory=dict)
    #: Groups in which nothing is, or ever was.
    empty: list[str] = field(default_factory=list)
    #: By event: versions that wait behind a plan or were rejected, which are told once.
    _told: dict[str, set[int]] = field(default_factory=lambda: collections.defaultdict(set))
    _ahead: dict[Key, Prepared] = field(default_factory=dict)
    _unanswered: int = 0

    def run(self, full: bool = False, again: bool = True) -> None:
        """`full`: whether to look at everything; `again`: whether to try what failed the last time."""
        self.held.clear()
        self.empty.clear()
        self._unanswered = 0
        refusals: list[Unbelievable] = []
        for group in self.groups or (None,):
            try:
                self._note(self._look(group, full))
            except Unbelievable as refusal:
                refusals.append(refusal)
        self._work(again)
        self._tell_left()
        if refusals:
            raise refusals[0]

    def rehearse(self, rolled_back: Callable[[], Any], full: bool = False) -> None:
        """The same in a transaction that is undone; all that takes time happens before it."""
        found = [self._look(group, full) for group in self.groups or (None,)]
        news = [version for each in found if each for version in each.versions]
        versions = news + [task.version for task in self.books.work(self.groups) if task.kind == "take"]
        for some in self._prepare_ahead(versions):
            self._ahead |= {version.key: prepared for version, prepared in some}
        with rolled_back():
            for each in found:
                self._note(each)
            self._work(again=True)
            self._tell_left()

    def _look(self, group: str | None, full: bool) -> News | None:
        before = None if full else self.books.read_until(group)
        if before is not None:
            since, age = before
            reading = self.registry.changes(group, since)
            known = self.books.known_of(reading.versions)
            news = _news(reading, known)
            fresh = [each for each in news if each.key not in known]
            # Whatever else there is, nothing has gone.
            if not _replaced(reading, known) and reading.count == self.books.count(group) + len(fresh):
                # While that time passed here, it passed there as well.
                until = max(reading.until or since, since + age)
                return News(group, news, until) if news or reading.requests > 1 else None
        return self._look_at_everything(group)

    def _look_at_everything(self, group: str | None) -> News | None:
        reading = self.registry.everything(group)
        known = self.books.known(group)
        listed = {each.key for each in reading.versions}
        if group and not listed and not known:
            self.empty.append(group)
        missing = [each for key, each in known.items() if key not in listed] if reading.is_whole else []
        self._refuse_to_lose([*missing, *_replaced(reading, known)], list(known.values()))
        with ThreadPoolExecutor(THREADS) as pool:
            is_gone = list(pool.map(lambda each: self.registry.is_gone(each.version), missing))
        gone = [each.entry for each, sure in zip(missing, is_gone, strict=True) if sure]
        until = reading.until if reading.is_whole and all(is_gone) else None
        news = _news(reading, known)
        return News(group, news, until, gone) if news or gone or until else None

    def _refuse_to_lose(self, going: list[Known], known: list[Known]) -> None:
        lost, all_ = (sum(each.counts for each in some) for some in (going, known))
        if not self.accept_deletions and lost and (lost == all_ or (lost > FEW and 2 * lost > all_)):
            raise Unbelievable(
                f"The registry has lost {lost} of the {all_} versions that METL has from it, by accident as it seems. "
                "Nothing was changed. Is METL_REGISTRY right? If they were deleted on purpose, run: "
                "metl sync --accept-deletions"
            )

    def _note(self, news: News | None) -> None:
        if news:
            self._tell(self.books.note(news.group, news.versions, news.until, news.gone))

    def _work(self, again: bool) -> None:
        done = 0
        while True:
            tasks = self.books.work(self.groups)
            # What failed is not overtaken, also while it is left alone.
            resting = {task.schema for task in tasks if task.kind == "take" and task.failed_before and not again}
            tasks = [task for task in tasks if task.schema not in resting and task.schema not in self.held]
            before = done
            self.progress(done, before + len(tasks))
            for _ in self._do(tasks):
                done += 1
                self.progress(done, before + len(tasks))
            # What was not their turn may be now, for instance behind a version that was deleted.
            if done == before:
                return

    def _do(self, tasks: list[Task]) -> Iterator[Task]:
        """Yields each that came to an end."""
        takes = {task.version.key: task for task in tasks if task.kind == "take"}
        for some in self._prepare_ahead([task.version for task in takes.values()]):
            yield from self._take([(takes[version.key], prepared) for version, prepared in some])
        for task in tasks:
            if task.kind == "end":
                self._go_on()
                self._tell(self.books.end(task))
                yield task

    def _take(self, some: list[tuple[Task, Prepared]]) -> list[Task]:
        """In one transaction, which is cheaper; returns those that came to an end."""
        events: list[Event] = []
        done: list[Task] = []
        held = dict(self.held)
        try:
            with self.books.together():
                for task, prepared in some:
                    told = self._take_one(task, prepared)
                    events += told
                    done += [task] if told and task.schema not in self.held else []
        except (psycopg.DataError, psycopg.IntegrityError) as error:
            # What PostgreSQL cannot hold is no reason to stop for all the others.
            self.held = held
            if len(some) > 1:
                return [task for each in some for task in self._take([each])]
            [(task, _)] = some
            events, done = self.books.give_up(task, _printable(error), for_good=True), [task]
        self._tell(events)
        return done

    def _take_one(self, task: Task, prepared: Prepared) -> list[Event]:
        if task.schema in self.held:
            return []
        if not isinstance(prepared, Problem):
            return self.books.take(task, *prepared)
        if not prepared.for_good:
            self.held[task.schema] = prepared.text
        return self.books.give_up(task, prepared.text, prepared.for_good)

    def _prepare_ahead(self, versions: list[Version]) -> Iterator[list[tuple[Version, Prepared]]]:
        """In order, as many as there are by now, while the next ones are on their way."""
        waiting: collections.deque[tuple[Version, Future[Prepared]]] = collections.deque()
        todo = iter(versions)
        with ThreadPoolExecutor(THREADS) as pool:
            try:
                while True:
                    self._go_on()
                    for version in itertools.islice(todo, AHEAD - len(waiting)):
                        waiting.append((version, pool.submit(self._prepare, version)))
                    if not waiting:
                        return
                    waiting[0][1].result()
                    some: list[tuple[Version, Prepared]] = []
                    while waiting and len(some) < AT_ONCE and waiting[0][1].done():
                        version, future = waiting.popleft()
                        some.append((version, future.result()))
                    yield some
            finally:
                pool.shutdown(cancel_futures=True)

    def _prepare(self, version: Version) -> Prepared:
        if version.key in self._ahead:
            return self._ahead[version.key]
        try:
            content = self.registry.content(version)
            row = read(content.type, content.text, lambda: self.registry.references(content))
            refs = {**content.refs, **({"fingerprint": row.fingerprint} if row.fingerprint else {})}
            return [each.as_json() for each in row.attributes], refs
        except Unreadable as error:
            return Problem(f"The schema {_printable(error)}", for_good=True)
        except (Refused, Garbled) as error:
            return Problem(_printable(error), for_good=False)
        except RestError as error:
            self._unanswered += 1
            if self._unanswered >= UNANSWERED:
                raise
            return Problem(_printable(error), for_good=False)

    def _tell_left(self) -> None:
        for event in self.books.left(self.groups, self._told):
            self._told[event["event"]].add(event.pop("entry"))
            self.tell(event)

    def _tell(self, events: list[Event]) -> None:
        for event in events:
            self.tell(event)

    def _go_on(self) -> None:
        if self.stop.is_set():
            raise Aborted


def _printable(error: Exception) -> str:
    """What may hold anything that was in a schema, as PostgreSQL can hold it."""
    return str(error).encode(errors="backslashreplace").decode().replace("\0", "\\0")[:2000]


def _news(reading: Reading, known: dict[Key, Known]) -> list[Version]:
    """What is not known, or not so."""

    def content(version: Version) -> tuple[object, ...]:
        return (*version.identity, version.content_id, version.state, version.modified_on)

    return [
        each for each in reading.versions if each.key not in known or content(known[each.key].version) != content(each)
    ]


def _replaced(reading: Reading, known: dict[Key, Known]) -> list[Known]:
    """What has been deleted and made anew under the same name."""
    there = [(each, known[each.key]) for each in reading.versions if each.key in known]
    return [before for now, before in there if now.identity != before.version.identity]
