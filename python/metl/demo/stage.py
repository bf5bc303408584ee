"""What every act of the story needs: the services, the commands, and a look at what comes of it."""

import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg

from metl.demo import programs
from metl.demo.programs import Programs
from metl.demo.services import Service
from metl.demo.topics import Record, Topics
from metl.demo.traffic import Traffic
from metl.errors import MetlError
from metl.home import Home
from metl.stack import parts

TIMEOUT = 120.0
JOB = "map"


@dataclass
class Stage:
    home: Home
    say: Callable[[str], None]
    programs: Programs
    services: dict[str, Service]
    traffic: Traffic
    topics: Topics

    def metl(self, *words: str) -> None:
        """A command, as a steward types it, and what it prints."""
        self.say(f"$ metl {shlex.join(words)}")
        for line in programs.run(self.home, *words).splitlines():
            self.say(f"    {line}")

    def ask(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(parts(self.home)[0].address) as connection:
            return connection.execute(query.encode(), values).fetchall()

    def until(self, what: str, query: str, *values: object) -> tuple[Any, ...]:
        """The first row of a query, once there is one; `what` says what did not happen."""
        end = time.monotonic() + TIMEOUT
        while not (rows := self.ask(query, *values)):
            self.programs.require()
            if time.monotonic() > end:
                raise MetlError(f"{what} within {TIMEOUT:.0f} s.")
            time.sleep(0.1)
        return rows[0]

    def alter(self, service: str, statement: str) -> None:
        self.say(f"{service}: {statement}")
        self.services[service].execute(statement)

    def change(self, service: str, table: str, statement: str) -> None:
        """A statement that changes one row of the table."""
        self.alter(service, statement)
        self.traffic.messages[self.services[service].topic(table)] += 1

    def known(self, schema: str, version: int) -> None:
        """Waits until the matrix knows a version."""
        self.until(
            f"Version {version} of {schema} did not come into the matrix",
            "select from metl.schema_versions where schema = %s and version = %s and deleted is null",
            *(schema, version),
        )

    def taken_up(self) -> None:
        """Waits until the mapper works under the current state."""
        [(state,)] = self.ask("select metl.current_state()")
        self.until(
            f"The mapper did not take up state {state}",
            "select from metl.jobs where job = %s and state >= %s",
            *(JOB, state),
        )

    def mapped(self, topic: str, key: int, wanted: Callable[[Any], bool]) -> Record:
        """The record of a row, once it has come out as it should."""
        record = self.topics.first(
            f"A record of row {key} of {topic}",
            lambda record: (
                record.key == {"source": topic, "key": {"id": key}}
                and record.value is not None
                and wanted(record.value["after"])
            ),
        )
        self.say(f"→ {record.topic} {record.value['after']}, from version {record.version}, state {record.state}")
        return record
