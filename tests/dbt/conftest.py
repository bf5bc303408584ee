"""dbt on real databases, one command per test that needs it."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from metl.home import Home
from metl.marts import dbt


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


@pytest.fixture
def dbt_on(database: str, tmp_path: Path) -> Dbt:
    return Dbt(database, tmp_path / "home")
