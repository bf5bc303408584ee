"""What goes on in the services: rows that come, change and go, a few dozen a second."""

import contextlib
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator

import psycopg

from metl.demo.services import Service
from metl.errors import MetlError

PAUSE = 0.025
#: By table: how a row comes and how it changes. Only columns that the story leaves alone.
CHANGES = {
    "customer": (
        "insert into customer (id, name) values (%(id)s, %(text)s)",
        "update customer set name = %(text)s where id = %(id)s",
    ),
    "orders": (
        "insert into orders (id, customer_id, total) values (%(id)s, 1, %(number)s)",
        "update orders set total = %(number)s where id = %(id)s",
    ),
    "contact": (
        "insert into contact (id, full_name) values (%(id)s, %(text)s)",
        "update contact set full_name = %(text)s where id = %(id)s",
    ),
    "invoice": (
        "insert into invoice (id, order_id) values (%(id)s, 1)",
        "update invoice set paid = not coalesce(paid, false) where id = %(id)s",
    ),
}
DELETE = "delete from {} where id = %(id)s"
# The story's own rows have lower numbers.
FIRST = 1000


class Traffic:
    """Counts what it has done, table by table: a message each, and two for a row that goes."""

    def __init__(self, services: dict[str, Service]) -> None:
        self._services = services
        self._ended = threading.Event()
        self._failure: Exception | None = None
        self._random = random.Random(1)  # noqa: S311, nothing depends on it but what happens
        self.messages: Counter[str] = Counter()
        self.rows = 0

    @contextlib.contextmanager
    def going_on(self) -> Iterator[None]:
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()
        if self._failure:
            raise MetlError(f"The traffic stopped: {self._failure}") from self._failure

    def count(self, topic: str, messages: int) -> None:
        """For changes that the story makes itself."""
        self.messages[topic] += messages

    def _run(self) -> None:
        try:
            with contextlib.ExitStack() as stack:
                lines = {
                    name: stack.enter_context(psycopg.connect(service.dsn, autocommit=True))
                    for name, service in self._services.items()
                }
                while not self._ended.is_set():
                    self._change(lines)
                    time.sleep(PAUSE)
        except psycopg.Error as error:
            self._failure = error

    def _change(self, lines: dict[str, psycopg.Connection]) -> None:
        service, table = self._random.choice(
            [(service, table) for service in self._services.values() for table in service.tables if table in CHANGES]
        )
        insert, update = CHANGES[table]
        known = range(FIRST, FIRST + self.rows)
        values = {"text": f"Name {self.rows}", "number": self._random.randrange(10_000) / 100}
        statement = self._random.choices([insert, update, DELETE.format(table)], [5, 4, 1])[0]
        key = self._random.choice(known) if known else FIRST
        if statement == insert:
            key = FIRST + self.rows
            self.rows += 1
        done = lines[service.name].execute(statement.encode(), {"id": key, **values}).rowcount
        # A row of another table, or one that is gone, changes nothing.
        self.messages[service.topic(table)] += done * (2 if statement.startswith("delete") else 1)
