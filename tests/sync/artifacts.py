"""A group of its own in the real registry, and a database of its own to sync it to."""

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import psycopg
from click.testing import CliRunner, Result

from metl.cli import main
from metl.util import http


@dataclass
class Artifacts:
    """What a test registers, deletes and disables."""

    registry: str
    group: str

    @property
    def artifacts(self) -> str:
        return f"{self.registry}/apis/registry/v3/groups/{self.group}/artifacts"

    def add(self, artifact: str, kind: str, schema: Any, **version: Any) -> int:
        """A new version, of a new artifact if need be; returns its global id."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        content = {"content": text, "contentType": "application/json", "references": version.pop("references", [])}
        made = http.request(
            "POST",
            f"{self.artifacts}?ifExists=CREATE_VERSION",
            {"artifactId": artifact, "artifactType": kind, "firstVersion": {"content": content, **version}},
            timeout=30,
        )
        return int(made["version"]["globalId"])

    def table(self, topic: str, *columns: str, **version: Any) -> int:
        """As Debezium would: columns are names of int32, or name:type."""
        return self.add(f"{topic}-value", "KCONNECT", envelope(*columns), **version)

    def set_state(self, artifact: str, version: int | str, state: str) -> None:
        url = f"{self.artifacts}/{quote(artifact, safe='')}/versions/{version}/state"
        http.request("PUT", url, {"state": state}, timeout=30)

    def delete(self, artifact: str, version: int | str | None = None) -> None:
        what = quote(artifact, safe="") + (f"/versions/{version}" if version else "")
        http.request("DELETE", f"{self.artifacts}/{what}", timeout=30)


def envelope(*columns: str) -> dict[str, Any]:
    fields = [
        {"field": name, "type": kind or "int32", "optional": False}
        for name, _, kind in (column.partition(":") for column in columns)
    ]
    row = {"type": "struct", "fields": fields, "optional": True, "name": "Value"}
    others = [{"field": name, "type": "string", "optional": False} for name in ("op", "source")]
    return {
        "type": "struct",
        "name": "Envelope",
        "optional": False,
        "fields": [{**row, "field": "before"}, {**row, "field": "after"}, *others],
    }


@dataclass
class Matrix:
    """The database that is synced to, through the command line as a user does it."""

    dsn: str
    registry: str
    groups: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)

    def sync(self, *words: str, code: int = 0) -> str:
        """What it printed, errors at the end."""
        done = self.invoke(*words)
        assert done.exit_code == code, done.output
        return str(done.output)

    def events(self, *words: str, code: int = 0) -> list[dict[str, Any]]:
        done = self.invoke("--json", *words)
        assert done.exit_code == code, done.output
        return [json.loads(line) for line in done.stdout.splitlines()]

    def invoke(self, *words: str) -> Result:
        chosen = [word for group in self.groups for word in ("--group", group)]
        environment = {"METL_DSN": self.dsn, "METL_REGISTRY": self.registry, **self.environment}
        done = CliRunner().invoke(main, ["sync", *chosen, *words], env=environment)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.output
        return done

    def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            return connection.execute(query.encode(), parameters).fetchall()

    def outcomes(self) -> list[tuple[Any, ...]]:
        """Artifact, version there, version here, outcome; in the order of the registry."""
        return self.rows(
            "select artifact, registry_version, version, outcome from metl.registry_versions order by entry"
        )

    def entity(self, name: str, **mapping: str) -> None:
        """An entity whose integer attributes are fed by these attributes of version 1 of schema `name`."""
        attributes = json.dumps([{"name": each, "type": "integer"} for each in mapping])
        self.rows("select metl.add_entity_version(%s, 1, %s)", name, attributes)
        self.rows("select metl.set_run(%s, 1, %s, 1, %s)", name, name, json.dumps(mapping))

    def ones(self) -> list[tuple[Any, ...]]:
        return self.rows("select version, attribute from metl.decompaction order by 1, 2")
