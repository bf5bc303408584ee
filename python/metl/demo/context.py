"""What each step of the scenario uses: services, commands, and waiting for their effects."""

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
class Context:
    home: Home
    say: Callable[[str], None]
    programs: Programs
    services: dict[str, Service]
    traffic: Traffic
    topics: Topics

    def metl(self, *words: str) -> None:
        """Runs a command and prints it with its output."""
        self.say(f"$ metl {shlex.join(words)}")
        for line in programs.run(self.home, *words).splitlines():
            self.say(f"    {line}")

    def query(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(parts(self.home)[0].address) as connection:
            return connection.execute(query.encode(), values).fetchall()

    def wait_for_row(self, failure: str, query: str, *values: object) -> tuple[Any, ...]:
        """The first row of a query, as soon as there is one; `failure` begins the error at the timeout."""
        end = time.monotonic() + TIMEOUT
        while not (rows := self.query(query, *values)):
            self.programs.require_running()
            if time.monotonic() > end:
                raise MetlError(f"{failure} within {TIMEOUT:.0f} s.")
            time.sleep(0.1)
        return rows[0]

    def alter(self, service: str, statement: str) -> None:
        self.say(f"{service}: {statement}")
        self.services[service].execute(statement)

    def change(self, service: str, table: str, statement: str) -> None:
        """A statement that changes one row of the table."""
        self.alter(service, statement)
        self.traffic.messages[self.services[service].topic(table)] += 1

    def wait_for_version(self, schema: str, version: int) -> None:
        """Waits until the matrix has a schema version."""
        self.wait_for_row(
            f"Version {version} of {schema} did not come into the matrix",
            "select from metl.schema_versions where schema = %s and version = %s and deleted is null",
            *(schema, version),
        )

    def wait_for_mapper(self) -> None:
        """Waits until the mapper maps under the current state."""
        [(state,)] = self.query("select metl.current_state()")
        self.wait_for_row(
            f"The mapper did not take up state {state}",
            "select from metl.jobs where job = %s and state >= %s",
            *(JOB, state),
        )

    def wait_for_record(self, topic: str, key: int, matches: Callable[[Any], bool]) -> Record:
        """The first record of a row that matches."""
        record = self.topics.wait_for(
            f"A record of row {key} of {topic}",
            lambda record: (
                record.key == {"source": topic, "key": {"id": key}}
                and record.value is not None
                and matches(record.value["after"])
            ),
        )
        self.say(f"→ {record.topic} {record.value['after']}, from version {record.version}, state {record.state}")
        return record
