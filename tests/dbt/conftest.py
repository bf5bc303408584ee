"""dbt on real databases: one command per test that needs it, its manifest for the others."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import make_conninfo

from metl.home import Home
from metl.marts import dbt
from tests.conftest import scratch_database


class Dbt:
    """dbt on one database, with a folder of its own."""

    def __init__(self, dsn: str, folder: Path) -> None:
        self.dsn = dsn
        self.home = Home(folder)

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        return dbt.run(self.home, self.dsn, words, quiet=True)

    def succeed(self, *words: str) -> None:
        done = self(*words)
        assert done.returncode == 0, done.stdout

    def artifact(self, name: str) -> Any:
        return json.loads((dbt.target(self.home) / f"{name}.json").read_text())

    def code(self, model: str) -> str:
        """The compiled SQL of a model."""
        return str(self.artifact("manifest")["nodes"][f"model.metl.{model}"]["compiled_code"])


@pytest.fixture
def dbt_on(database: str, tmp_path: Path) -> Dbt:
    return Dbt(database, tmp_path / "home")


@pytest.fixture(scope="session")
def compiled(postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dbt]:
    """Every model compiled, on a database with nothing but METL."""
    with scratch_database(postgres, template) as name:
        made = Dbt(make_conninfo(postgres, dbname=name), tmp_path_factory.mktemp("compiled"))
        made.succeed("compile")
        yield made
