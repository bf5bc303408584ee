"""The matrix with which the mapper is measured, and the cost of broadcasting it."""

import json

import psycopg
from systems import DURATION, Stack
from traffic import TOPIC

from metl.marts import dbt

PERSON = {"pid": "id", "pname": "name", "pemail": "email", "pcity": "city", "pbalance": "balance", "sent": "sent"}
PLACE = {"city": "city", "street": "street", "zip": "zip"}
ENTITIES = {"person": PERSON, "place": PLACE}


def fill(stack: Stack, versions: int) -> None:
    """Ten versions for each schema; only the first schema has traffic."""
    attributes = _attributes(*dict.fromkeys((*PERSON.values(), *PLACE.values())))
    with psycopg.connect(stack.postgres, autocommit=True) as connection:
        [(existing,)] = connection.execute("select count(*) from metl.schema_versions").fetchall()
        if existing == 0:
            for entity, mapping in ENTITIES.items():
                connection.execute("select metl.add_entity_version(%s, 1, %s)", [entity, _attributes(*mapping)])
        for number in range(existing, versions):
            schema = TOPIC if number < 10 else f"service{number // 10}.public.table"
            version = number % 10 + 1
            refs = json.dumps({"global_id": [str(number + 1)]})
            connection.execute("select metl.add_schema_version(%s, %s, %s, %s)", [schema, version, attributes, refs])
            if version == 1:
                for entity, mapping in ENTITIES.items():
                    connection.execute("select metl.set_block(%s, 1, %s, 1, %s)", [schema, entity, json.dumps(mapping)])
    done = dbt.run(stack.home, stack.postgres, ["build"], quiet=True)
    if done.returncode:
        raise SystemExit(done.stdout)


def _attributes(*names: str) -> str:
    return json.dumps([{"name": name, "type": "string"} for name in names])


def change_state(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("select metl.set_block(%s, 10, 'place', 1, '{\"zip\": \"zip\"}')", [TOPIC])


def refresh(dsn: str) -> tuple[float, float]:
    """Of the last batch: kilobytes of the matrix, and seconds beyond its duration.

    Those go to commit, planning, reading and broadcasting the matrix.
    """
    with psycopg.connect(dsn) as connection:
        [(kilobytes, seconds)] = connection.execute(
            """
            select matrix_bytes / 1000.0, extract(epoch from ended_at - began_at)
            from metl.job_batches order by ended_at desc limit 1
            """
        ).fetchall()
    return float(kilobytes), float(seconds) - DURATION
