"""The proof of the whole: whatever happens to rows, tables and programs, the warehouse ends up as the sources are.

METL_SOAK is for how many seconds it goes on, and METL_SEED makes it do the same once more.
"""

import contextlib
import csv
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from metl.db.install import install
from metl.demo import programs
from metl.home import Home
from metl.stack import parts, supervisor
from tests.convergence.programs_under_faults import Programs
from tests.convergence.services import ATTRIBUTES, Service, attribute_of

SECONDS = float(os.environ.get("METL_SOAK", "45"))
SEED = int(os.environ.get("METL_SEED", "1"))
TIMEOUT = 180.0
PAUSE = 0.05
#: Of which entity the rows of each table are.
ENTITIES = {"shop.public.customer": "party", "crm.public.person": "party", "shop.public.orders": "purchase"}

pytestmark = pytest.mark.timeout(SECONDS * 3 + 900)


def say(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


class World:
    def __init__(self, home: Home, chance: random.Random) -> None:
        self.home, self.chance = home, chance
        self.postgres = parts(home)[0].address
        tables = {"shop": ["customer", "orders"], "crm": ["person"]}
        self.services = [Service(self.postgres, name, found, chance) for name, found in tables.items()]

    def metl(self, *words: str, codes: tuple[int, ...] = (0,), **environment: str) -> str:
        with pytest.MonkeyPatch.context() as given:
            for name, value in environment.items():
                given.setenv(name, value)
            return programs.run(self.home, *words, codes=codes)

    def ask(self, query: str, *values: object) -> list[dict[str, Any]]:
        with psycopg.connect(self.postgres, row_factory=dict_row) as connection:
            return connection.execute(query.encode(), values).fetchall()

    def set_up(self) -> None:
        install(self.postgres)
        for service in self.services:
            service.create(self.postgres)
            self.metl("capture", "add", service.name, *(f"public.{table}" for table in service.tables))
        for entity in set(ENTITIES.values()):
            shape = [{"name": name, "type": type_} for name, type_ in ATTRIBUTES.items()]
            self.ask("select metl.add_entity_version(%s, 1, %s)", entity, Jsonb(shape))
        self.metl("marts", "dbt", "run", "--select", "+dcpm")

    def map_everything(self) -> None:
        """What a steward does: every column of every version that is known goes to the attribute it is named after."""
        query = "select schema, version, attribute from metl.schema_attributes where is_live and schema = any(%s)"
        file = self.home.path / "mappings.csv"
        with file.open("w", newline="") as lines:
            writer = csv.writer(lines)
            writer.writerow(["schema", "version", "attribute", "entity", "entity_version", "entity_attribute"])
            for row in self.ask(query, list(ENTITIES)):
                schema, version, attribute = row.values()
                writer.writerow([schema, version, attribute, ENTITIES[schema], 1, attribute_of(attribute)])
        self.metl("matrix", "import", str(file))

    def differences(self) -> list[dict[str, Any]]:
        """What `metl entities compare` finds between the sources as they are now and the warehouse."""
        found = []
        for service in self.services:
            for schema in map(service.topic, service.tables):
                words = ("entities", "compare", ENTITIES[schema], "--schema", schema, "--wait", "0", "--json")
                report = json.loads(self.metl(*words, codes=(0, 3), METL_SOURCE_DSN=service.dsn))
                found += [each for each in report["schemas"] if each["differs"]]
                # Every value of every row was compared.
                assert not any(each["not_compared"] for each in report["schemas"])
        return found

    def cells(self) -> dict[str, str]:
        """Every byte of the tables, by row and column."""
        query = """
            select concat_ws(' ', _source, _key, name) as cell, value
            from warehouse.{} as row cross join lateral jsonb_each_text(to_jsonb(row)) as each (name, value)
        """
        found = (row for entity in set(ENTITIES.values()) for row in self.ask(query.format(entity)))
        return {row["cell"]: row["value"] for row in found}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    home = Home(tmp_path / "home")
    every = parts(home)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("METL_HOME", str(home.path))
        for part in every:
            environment.delenv(part.server.variable, raising=False)
        supervisor.up(home, every, lambda _part, _text: None)
        try:
            yield World(home, random.Random(SEED))
        finally:
            supervisor.down(home, every, lambda _part, _text: None)


def until(what: str, happened: Any, programs: Programs, patience: float = TIMEOUT) -> None:
    end = time.monotonic() + patience
    while not happened():
        programs.require()
        programs.mend_connectors()
        if time.monotonic() > end:
            raise TimeoutError(f"not in {patience:.0f} s: {what}")
        time.sleep(0.5)


def test_the_warehouse_ends_up_as_the_sources_are(world: World) -> None:
    say(f"seed {SEED}")
    world.set_up()
    programs = Programs(world.home, say)
    with programs.commands():
        disturb_and_change(world, programs)
        await_convergence(world, programs)
        differences = world.differences()
        assert not differences, f"of seed {SEED}: {json.dumps(differences)}"
    # The first time, what was mapped again may find its place among what is newer.
    world.metl("warehouse", "--available-now", "--job", "replay")
    before = world.cells()
    world.metl("warehouse", "--available-now", "--job", "again")
    after = world.cells()
    assert not world.differences()
    changed = [
        f"{cell}: {before.get(cell)} → {after.get(cell)}"
        for cell in before.keys() | after.keys()
        if before.get(cell) != after.get(cell)
    ]
    assert not changed, f"{len(changed)} cells changed by a replay: {changed[:9]}"
    done = sum((service.done for service in world.services), start=Counter[str]())
    versions = world.ask("select count(*) from metl.schema_versions")[0]["count"]
    letters = world.ask("select count(*) from metl.dead_letters")[0]["count"]
    say(f"{dict(done)}, {versions} versions, {letters} dead letters, {programs.killed} killed or stopped")
    say(f"{len(before):,} cells of the warehouse are what they should be, also after a replay of everything")


def disturb_and_change(world: World, programs: Programs) -> None:
    """Changes all the time, a steward who comes by, and something that breaks now and then."""
    known = "select from metl.schema_versions where schema = any(%s)"
    until("versions of all tables", lambda: len(world.ask(known, list(ENTITIES))) >= len(ENTITIES), programs)
    world.map_everything()
    end = time.monotonic() + SECONDS
    next_break = time.monotonic() + SECONDS / 6
    while time.monotonic() < end:
        service = world.chance.choice(world.services)
        try:
            service.change()
        except psycopg.Error:
            time.sleep(0.2)
            service.look()
        if world.chance.random() < 0.01:
            world.map_everything()
        if world.chance.random() < 0.05:
            programs.mend_connectors()
        if time.monotonic() > next_break:
            programs.disturb(world.chance)
            next_break += SECONDS / 4 if SECONDS < 300 else 20
        programs.require()
        time.sleep(PAUSE)


def await_convergence(world: World, programs: Programs) -> None:
    """The last row of each table has come through, every letter was sent again, and the steward has mapped all."""
    last = 10_000_000
    for service in world.services:
        service.mark(last)
    mark = "select from warehouse.{} where _source = %s and _key = %s"
    key = Jsonb({"id": last})

    def has_all() -> bool:
        try:
            return all(world.ask(mark.format(entity), schema, key) for schema, entity in ENTITIES.items())
        except psycopg.errors.UndefinedTable:
            return False

    until("the last row of each table", has_all, programs)
    world.map_everything()
    until("dead letters that are mapped", lambda: not world.ask("select from metl.due_letters"), programs)
    state = world.ask("select metl.current_state() as state")[0]["state"]
    read = "select from metl.jobs where job = 'map' and state >= %s and lag = 0"
    until("mapper at the newest state", lambda: world.ask(read, state), programs)
    world.metl("streams", "reprocess", "--since-state", "0", "--why", "cells that were mapped late", "--yes")
    # What is left after that is for the test to tell.
    with contextlib.suppress(TimeoutError):
        until("the same rows as at the sources", lambda: not world.differences(), programs, patience=60)
