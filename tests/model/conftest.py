"""Somebody who may change METL and somebody who may only read it, at the command line."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb

from metl.cli import main
from tests.conftest import scratch_database
from tests.live.running import job_role

Row = tuple[Any, ...]


@dataclass
class Model:
    """A database with METL; commands are those of a steward unless a test says otherwise."""

    owner: str
    steward: str
    reader: str
    folder: Path
    #: For publishing, which most tests leave out.
    registry: str = field(default="http://127.0.0.1:1")

    def metl(self, *words: str, dsn: str | None = None, stdin: str | bytes | None = None) -> Result:
        environment = {"METL_DSN": dsn or self.steward, "METL_REGISTRY": self.registry}
        result = CliRunner().invoke(main, words, env=environment, input=stdin)
        # A traceback is never what somebody at a terminal should see.
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    def said(self, *words: str, stdin: str | bytes | None = None) -> str:
        """What a command prints that does what it should."""
        result = self.metl(*words, stdin=stdin)
        assert (result.exit_code, result.stderr) == (0, ""), result.output
        return result.stdout

    def apply(self, text: str, *words: str) -> str:
        return self.said("entities", "apply", "--no-publish", self.file(text), *words)

    def file(self, text: str | bytes, name: str = "cdm.yaml") -> str:
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    def rows(self, query: str, *arguments: object) -> list[Row]:
        with psycopg.connect(self.owner, autocommit=True) as connection:
            return connection.execute(query.encode(), arguments).fetchall()

    def call(self, function: str, *arguments: object) -> Any:
        given = [Jsonb(each) if isinstance(each, dict | list) else each for each in arguments]
        [[value]] = self.rows(f"select metl.{function}({', '.join(['%s'] * len(given))})", *given)
        return value

    def ones(self) -> list[Row]:
        return self.rows("select * from metl.decompaction order by 1, 2, 3, 4, 5, 6")

    def state(self) -> int:
        return int(self.call("current_state"))


@contextlib.contextmanager
def model_in(server: str, template: str, folder: Path) -> Iterator[Model]:
    with scratch_database(server, template) as name:
        owner = make_conninfo(server, dbname=name)
        with job_role(owner, "metl_steward") as steward, job_role(owner, "metl_reader") as reader:
            yield Model(owner, steward, reader, folder)


@pytest.fixture
def model(postgres: str, template: str, tmp_path: Path) -> Iterator[Model]:
    with model_in(postgres, template, tmp_path) as made:
        yield made


def attributes(*names: str, kind: str = "string") -> list[dict[str, str]]:
    return [{"name": name, "type": kind} for name in names]
