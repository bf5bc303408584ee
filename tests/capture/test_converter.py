"""METL's converter writes numbers and arrays as PostgreSQL itself does; tests/zoo has every type."""

import asyncio
import base64
import json
import os
import random
import struct
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from metl.capture import connectors
from metl.capture.plugin import CONVERTER, CONVERTER_CLASS
from metl.errors import MetlError
from metl.jvm import jars, java, scala
from tests.connectors import capturing
from tests.parts import Source

COUNT = 4_000
#: Elements of arrays of these types, as text.
ELEMENTS: dict[str, Callable[[random.Random], str]] = {
    "int4": lambda chance: str(chance.randrange(-(2**31), 2**31)),
    "numeric": lambda chance: chance.choice(["NaN", "Infinity", "1.10", f"{chance.random():.30f}", "1e30"]),
    "float8": lambda chance: chance.choice(["NaN", "-Infinity", "-0", repr(chance.uniform(-1e30, 1e30)), "1e23"]),
    "bool": lambda chance: chance.choice("tf"),
    "text": lambda chance: "".join(chance.choices("a ,{}\"\\'\n\té🐈NUL", k=chance.randrange(5))),
    "date": lambda chance: chance.choice(["infinity", "0044-03-15 BC", "10000-01-01", "2024-02-29"]),
    "timestamp": lambda chance: chance.choice(["-infinity", "0044-03-15 12:00 BC", "2024-02-29 12:00:00.5"]),
    "timestamptz": lambda chance: chance.choice(["infinity", "0044-03-15 12:00+00 BC", "2024-02-29 12:00+05:30"]),
    "jsonb": lambda chance: json.dumps(chance.choice([None, {"a": [1, "é"]}, "text", 1.5])),
    "interval": lambda chance: chance.choice(["1 day -00:00:01", "-3 mons"]),
    "bytea": lambda chance: chance.choice(["\\x00ff", "\\x"]),
}


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled without a warning, together with tests/capture/Probe.scala."""
    for configuration in ("debezium", "spark"):
        asyncio.run(jars.fetch(configuration, lambda _: None))
    jar = tmp_path_factory.mktemp("probe") / "probe.jar"
    source = Path(__file__).parent / "Probe.scala"
    CONVERTER.compile_into(jar, "-deprecation", "-Xlint", "-Werror", str(source))
    return jar


@pytest.fixture
def connection(postgres: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres, options="-c timezone=UTC") as connection:
        yield connection


def converted(probe: Path, lines: list[str]) -> list[str]:
    path = os.pathsep.join(map(str, (probe, scala.scala_library())))
    command = [str(java.machine_java()), "-cp", path, "metl.capture.Probe"]
    process = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=True)
    return process.stdout.splitlines()


def test_numbers_have_the_digits_of_postgresql(probe: Path, connection: psycopg.Connection) -> None:
    chance = random.Random(1)
    numbers = [
        *(chance.randrange(-(10**18), 10**18) / 10 ** chance.randrange(20) for _ in range(COUNT)),
        *(float(f"{chance.randrange(1, 10)}e{chance.randrange(-320, 308)}") for _ in range(COUNT)),
        *(float(chance.randrange(2**53)) for _ in range(COUNT)),
        *(0.0, -0.0, 5e-324, 1.7976931348623157e308, 1e23, 0.1),
    ]
    lines = [f"float {struct.unpack('<q', struct.pack('<d', each))[0]}" for each in numbers]
    query = "select number::text from unnest(%s::float8[]) with ordinality as input (number, place) order by place"
    expected = [text for (text,) in connection.execute(query, [numbers])]
    assert [pair for pair in zip(converted(probe, lines), expected, strict=True) if pair[0] != pair[1]] == []


def test_arrays_are_as_to_jsonb_writes_them(probe: Path, connection: psycopg.Connection) -> None:
    chance = random.Random(1)
    lines, expected = [], []
    for kind, make in ELEMENTS.items():
        for _ in range(20):
            shape = chance.choice([(0,), (1,), (3,), (2, 2), (1, 2, 2)])
            [(oid, literal, written)] = connection.execute(
                "select typarray::int, input::text, to_jsonb(input)::text "
                f"from pg_type, (select %s::{kind}[] as input) as one where typname = %s",
                [_nested(shape, make, chance), kind],
            ).fetchall()
            lines.append(f"array {oid} {base64.b64encode(literal.encode()).decode()}")
            expected.append((kind, literal, written))
    arrays = [base64.b64decode(line).decode() for line in converted(probe, lines)]
    query = "select %s::jsonb = %s::jsonb"
    wrong = [
        (*about, text)
        for about, text in zip(expected, arrays, strict=True)
        if connection.execute(query, [text, about[2]]).fetchone() != (True,)
    ]
    assert wrong == []


def _nested(shape: tuple[int, ...], make: Callable[[random.Random], str], chance: random.Random) -> list[object]:
    if len(shape) > 1:
        return [_nested(shape[1:], make, chance) for _ in range(shape[0])]
    return [None if chance.random() < 0.1 else make(chance) for _ in range(shape[0])]


def test_a_missing_converter_is_reported_with_the_way_out(
    parts: Source, connect: str, registry: str, database: str
) -> None:
    with psycopg.connect(database) as service:
        service.execute("create table customer (id int primary key)")
    prefix = f"lacking{uuid.uuid4().hex[:8]}"
    with capturing(parts, database, prefix, ["public.customer"]) as settings:
        connectors.put(connect, prefix, settings | {"exact.type": f"{CONVERTER_CLASS}OfAnotherVersion"})
        with pytest.raises(MetlError, match="metl stack fetch debezium converter --to"):
            # The old task keeps running for some time.
            for _ in range(60):
                time.sleep(0.5)
                connectors.require_alive(prefix, connectors.status(connect, prefix))
