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
VOCABULARY = (
    "account address amount bank billing birth brand category change city code country create currency customer date "
    "delivery email end first gender gross height iban id invoice language last name net note number order payment "
    "phone price product quantity region sku start status stock street supplier tax title type unit vat weight zip"
)
WORDS = VOCABULARY.split()
RUNS = 5


def names() -> Iterator[str]:
    """Mostly distinct names of one to three words, in snake_case or camelCase."""
    rng = random.Random(4)  # noqa: S311
    while True:
        words = rng.sample(WORDS, rng.randint(1, 3))
        yield rng.choice(["_".join(words), words[0] + "".join(word.title() for word in words[1:])])


def attributes(source: Iterator[str]) -> str:
    distinct = list(dict.fromkeys(itertools.islice(source, 2 * ATTRIBUTES)))[:ATTRIBUTES]
    return json.dumps([{"name": name, "type": TYPES[index % len(TYPES)]} for index, name in enumerate(distinct)])


def load(dsn: str) -> None:
    source = names()
    with psycopg.connect(dsn) as connection:
        for number in range(ENTITIES):
            entity = f"{WORDS[number % len(WORDS)]} {number}"
            connection.execute("select metl.add_entity_version(%s, 1, %s)", [entity, attributes(source)])
        for number in range(SCHEMAS):
            schema = f"service_{number}.public.{WORDS[number % len(WORDS)]}"
            connection.execute("select metl.add_schema_version(%s, 1, %s)", [schema, attributes(source)])


def measure(dsn: str) -> dict[str, float]:
    began = time.perf_counter()
    with psycopg.connect(dsn) as connection:
        candidates = unmapped.read(connection, None, None, None)
    read = time.perf_counter()
    assert (len(candidates.attributes), len(candidates.targets)) == (SCHEMAS * ATTRIBUTES, ENTITIES * ATTRIBUTES)
    ranking = Ranking(candidates.targets, candidates.matrix, candidates.attributes)
    suggested = sum(bool(ranking.best(each, 5, 0.55)) for each in candidates.attributes)
    ranked = time.perf_counter()
    assert suggested > len(candidates.attributes) / 2
    result = CliRunner().invoke(main, ["matrix", "suggest", "--json"], env={"METL_DSN": dsn})
    assert len(json.loads(result.stdout)) == len(candidates.attributes)
    return {
        "read": read - began,
        "rank": ranked - read,
        "metl matrix suggest --json": time.perf_counter() - ranked,
    }


def run() -> None:
    with server() as dsn, database(dsn) as temporary:
        install(temporary)
        load(temporary)
        runs = [measure(temporary) for _ in range(RUNS)]
    result = table("10,000 attributes, 1,000 targets", "best, s", "worst, s")
    for what in runs[0]:
        seconds = [each[what] for each in runs]
        result.add_row(what, f"{min(seconds):.2f}", f"{max(seconds):.2f}")
    console.print(result)


if __name__ == "__main__":
    run()
