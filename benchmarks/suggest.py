"""What suggestions cost: 1,000 schemas of 10 unmapped attributes against 100 entities of 10."""

import itertools
import json
import random
import time
from collections.abc import Iterator

import psycopg
from click.testing import CliRunner
from database import database, server

from metl.cli import main
from metl.db.install import install
from metl.matrix import unmapped
from metl.matrix.suggest import Ranking
from metl.util.terminal import console, table

SCHEMAS = 1_000
ENTITIES = 100
ATTRIBUTES = 10
TYPES = ("integer", "string", "decimal", "boolean", "timestamp")
SAID = (
    "account address amount bank billing birth brand category change city code country create currency customer date "
    "delivery email end first gender gross height iban id invoice language last name net note number order payment "
    "phone price product quantity region sku start status stock street supplier tax title type unit vat weight zip"
)
WORDS = SAID.split()
RUNS = 5


def names() -> Iterator[str]:
    """Of one to three words, in the manners of different services; mostly different ones."""
    chance = random.Random(4)  # noqa: S311
    while True:
        words = chance.sample(WORDS, chance.randint(1, 3))
        yield chance.choice(["_".join(words), words[0] + "".join(word.title() for word in words[1:])])


def attributes(found: Iterator[str]) -> str:
    chosen = list(dict.fromkeys(itertools.islice(found, 2 * ATTRIBUTES)))[:ATTRIBUTES]
    return json.dumps([{"name": name, "type": TYPES[place % len(TYPES)]} for place, name in enumerate(chosen)])


def load(dsn: str) -> None:
    found = names()
    with psycopg.connect(dsn) as connection:
        for number in range(ENTITIES):
            entity = f"{WORDS[number % len(WORDS)]} {number}"
            connection.execute("select metl.add_entity_version(%s, 1, %s)", [entity, attributes(found)])
        for number in range(SCHEMAS):
            schema = f"service_{number}.public.{WORDS[number % len(WORDS)]}"
            connection.execute("select metl.add_schema_version(%s, 1, %s)", [schema, attributes(found)])


def measure(dsn: str) -> dict[str, float]:
    began = time.perf_counter()
    with psycopg.connect(dsn) as connection:
        found = unmapped.read(connection, None, None, None)
    read = time.perf_counter()
    assert (len(found.attributes), len(found.targets)) == (SCHEMAS * ATTRIBUTES, ENTITIES * ATTRIBUTES)
    ranking = Ranking(found.targets, found.matrix, found.attributes)
    suggested = sum(bool(ranking.best(each, 5, 0.55)) for each in found.attributes)
    ranked = time.perf_counter()
    assert suggested > len(found.attributes) / 2
    result = CliRunner().invoke(main, ["suggest", "--json"], env={"METL_DSN": dsn})
    assert len(json.loads(result.stdout)) == len(found.attributes)
    return {
        "read": read - began,
        "rank": ranked - read,
        "metl suggest --json": time.perf_counter() - ranked,
    }


def run() -> None:
    with server() as dsn, database(dsn) as own:
        install(own)
        load(own)
        runs = [measure(own) for _ in range(RUNS)]
    shown = table("10,000 attributes, 1,000 places", "best, s", "worst, s")
    for what in runs[0]:
        seconds = [each[what] for each in runs]
        shown.add_row(what, f"{min(seconds):.2f}", f"{max(seconds):.2f}")
    console.print(shown)


if __name__ == "__main__":
    run()
