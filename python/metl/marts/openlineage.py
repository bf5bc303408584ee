"""Lineage in the format of OpenLineage."""

import uuid
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import psycopg

from metl.errors import BadInput
from metl.marts.lineage import Lineage, Step, relation_of
from metl.util.extras import DISTRIBUTION

SPEC = "https://openlineage.io/spec"


def run_event(lineage: Lineage, name: str, server: psycopg.ConnectionInfo) -> dict[str, Any]:
    """The event of a completed run that built the model."""
    steps = lineage.of_model(name)
    model = lineage.models[name]
    if not model["relation_name"]:
        raise BadInput(f"{name} is no relation of its own, which OpenLineage needs. Ask for one of the marts.")
    # The host of a Unix socket is a folder.
    host = "localhost" if server.host.startswith("/") else server.host
    producer = f"urn:metl:{version(DISTRIBUTION)}"

    def dataset(relation: str) -> dict[str, Any]:
        return {"namespace": f"postgres://{host}:{server.port}", "name": f"{server.dbname}.{relation}"}

    def facet(path: str, fields: object) -> dict[str, Any]:
        return {"_producer": producer, "_schemaURL": f"{SPEC}/facets/{path}", "fields": fields}

    def input_fields(step: Step) -> list[dict[str, Any]]:
        columns = sorted({leaf for leaf in step.leaves() if leaf.kind == "table"})
        transformations = [{"type": "DIRECT"}]
        return [
            {**dataset(each.relation), "field": each.column, "transformations": transformations} for each in columns
        ]

    columns = [
        {"name": column["name"], "type": column["data_type"], "description": column["description"]}
        for column in model["columns"].values()
    ]
    fields = {step.column: {"inputFields": input_fields(step)} for step in steps}
    facets = {
        "schema": facet("1-1-1/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet", columns),
        "columnLineage": facet("1-2-0/ColumnLineageDatasetFacet.json#/$defs/ColumnLineageDatasetFacet", fields),
    }
    return {
        "eventType": "COMPLETE",
        "eventTime": datetime.now(UTC).isoformat(),
        "producer": producer,
        "schemaURL": f"{SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": str(uuid.uuid4())},
        "job": {"namespace": "metl", "name": model["unique_id"]},
        "inputs": [dataset(table) for table in sorted(lineage.tables_below(relation_of(model)))],
        "outputs": [{**dataset(relation_of(model)), "facets": facets}],
    }
