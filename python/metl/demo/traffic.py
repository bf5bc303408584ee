"""Random inserts, updates and deletes in the services, a few dozen a second."""

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
#: The insert and update of each table. They touch only columns that the scenario does not alter.
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
# Lower ids are the scenario's own rows.
FIRST_ID = 1000


class Traffic:
    """Counts the messages that Debezium sends for its changes: one each, two for a delete (with its tombstone)."""

    def __init__(self, services: dict[str, Service]) -> None:
        self._services = services
        self._stop = threading.Event()
        self._failure: Exception | None = None
        self._random = random.Random(1)  # noqa: S311, not for cryptography
        self.messages: Counter[str] = Counter()
        self.rows = 0

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()
        if self._failure:
            raise MetlError(f"The traffic stopped: {self._failure}") from self._failure

    def _run(self) -> None:
        try:
            with contextlib.ExitStack() as stack:
                connections = {
                    name: stack.enter_context(psycopg.connect(service.dsn, autocommit=True))
                    for name, service in self._services.items()
                }
                while not self._stop.is_set():
                    self._change(connections)
                    time.sleep(PAUSE)
        except psycopg.Error as error:
            self._failure = error

    def _change(self, connections: dict[str, psycopg.Connection]) -> None:
        service, table = self._random.choice(
            [(service, table) for service in self._services.values() for table in service.tables if table in CHANGES]
        )
        insert, update = CHANGES[table]
        ids = range(FIRST_ID, FIRST_ID + self.rows)
        values = {"text": f"Name {self.rows}", "number": self._random.randrange(10_000) / 100}
        statement = self._random.choices([insert, update, DELETE.format(table)], [5, 4, 1])[0]
        key = self._random.choice(ids) if ids else FIRST_ID
        if statement == insert:
            key = FIRST_ID + self.rows
            self.rows += 1
        changed = connections[service.name].execute(statement.encode(), {"id": key, **values}).rowcount
        # None if the id belongs to another table's row, or the row is deleted.
        self.messages[service.topic(table)] += changed * (2 if statement.startswith("delete") else 1)
