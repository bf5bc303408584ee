"""The matrix that the mapper is measured with."""

import json

import psycopg
from contestants import DURATION, Stack
from traffic import TOPIC

from metl.marts import dbt

PERSON = {"pid": "id", "pname": "name", "pemail": "email", "pcity": "city", "pbalance": "balance", "sent": "sent"}
PLACE = {"city": "city", "street": "street", "zip": "zip"}
ENTITIES = {"person": PERSON, "place": PLACE}


def fill(stack: Stack, versions: int) -> None:
    """Ten versions for each schema; the one that has traffic is the first."""
    attributes = _attributes(*dict.fromkeys((*PERSON.values(), *PLACE.values())))
    with psycopg.connect(stack.postgres, autocommit=True) as connection:
        [(present,)] = connection.execute("select count(*) from metl.schema_versions").fetchall()
        if present == 0:
            for entity, mapping in ENTITIES.items():
                connection.execute("select metl.add_entity_version(%s, 1, %s)", [entity, _attributes(*mapping)])
        for number in range(present, versions):
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
    """Of the last batch: kilobytes of the matrix, and seconds that it took beyond its duration, with all that is
    between two batches: commit, planning, reading and broadcasting the matrix."""
    with psycopg.connect(dsn) as connection:
        [(kilobytes, seconds)] = connection.execute(
            """
            select matrix_bytes / 1000.0, extract(epoch from ended_at - began_at)
            from metl.job_batches order by ended_at desc limit 1
            """
        ).fetchall()
    return float(kilobytes), float(seconds) - DURATION
