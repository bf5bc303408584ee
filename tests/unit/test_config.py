import ast
import os
import re
import subprocess
from pathlib import Path

import pytest

from metl import config
from metl.errors import BadInput

#: Everything but the tests knows servers by their address only; these run the local stack, or stand for its user.
KNOW_THE_STACK = ("metl/stack/", "metl/demo/", "metl/cli/")


def files(root: Path, *patterns: str) -> dict[str, str]:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *patterns], cwd=root, capture_output=True)
    names = [name for name in listed.stdout.decode().splitlines() if (root / name).is_file()]
    return {name: (root / name).read_text(errors="replace") for name in names}


def mentioned(texts: dict[str, str]) -> set[str]:
    found = {name for text in texts.values() for name in re.findall(r"(?<!_)METL_[A-Z_]+\b", text)}
    return {name for name in found if not name.endswith("_")}


@pytest.fixture(scope="module")
def listed() -> set[str]:
    return {each.name for each in (*config.VARIABLES, *config.DEPLOYMENT_VARIABLES, *config.TEST_VARIABLES)}


def test_every_variable_is_listed_in_config(root: Path, listed: set[str]) -> None:
    places = ("python", "spark_jobs", "tests", "benchmarks", "sql", "compose", "Makefile", "docker-compose.yml")
    assert mentioned(files(root, *places)) <= listed


def test_every_listed_variable_is_used(root: Path, listed: set[str]) -> None:
    ports = {config.port_variable(port) for server in config.SERVERS for port in server.ports}
    everywhere = files(
        root, "README.md", "docs", "python", "tests", "benchmarks", "sql", "Makefile", "*.yml", "*/README.md"
    )
    del everywhere["python/metl/config.py"], everywhere["tests/unit/test_config.py"]
    assert listed - mentioned(everywhere) - ports == set()


def test_only_config_reads_the_variables(root: Path) -> None:
    reading = re.compile(r"environ(?:\.get\(|\[)\s*\"METL_|getenv\(\"METL_")
    found = [name for name, text in files(root, "python/*.py", "spark_jobs/*.py").items() if reading.search(text)]
    assert found == ["python/metl/config.py"]


def test_clients_do_not_depend_on_the_local_stack(root: Path) -> None:
    for name, text in files(root, "python/*.py", "spark_jobs/*.py").items():
        imported = {
            module
            for node in ast.walk(ast.parse(text))
            for module in (
                [f"{node.module}.{each.name}" for each in node.names]
                if isinstance(node, ast.ImportFrom)
                else [each.name for each in node.names]
                if isinstance(node, ast.Import)
                else []
            )
        }
        if any(f"{module}.".startswith("metl.stack.") for module in imported):
            assert any(place in name for place in KNOW_THE_STACK), f"{name} imports metl.stack"


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A METL_HOME in which nothing was ever started."""
    for name in [name for name in os.environ if name.startswith("METL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("METL_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("server", config.SERVERS, ids=lambda server: server.name)
def test_a_server_that_is_nowhere_is_a_sentence(empty: Path, server: config.Server) -> None:
    assert server.find() is None
    with pytest.raises(BadInput, match=rf"Start a local one with `metl up {server.name}`, or set {server.variable}\."):
        server.require()


def test_an_address_is_the_given_one_or_else_the_local_one(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (empty / "ports.properties").write_text("registry=23456\nkafka=23457\npostgres=23458\n")
    assert config.registry_url() == "http://127.0.0.1:23456"
    assert config.kafka_servers() == "127.0.0.1:23457"
    assert "port=23458 dbname=metl user=metl_owner" in config.database_dsn()
    assert "port=23458 dbname=metl user=metl_mapper" in config.job_dsn()
    monkeypatch.setenv("METL_REGISTRY", "http://elsewhere:8080/")
    assert config.registry_url() == "http://elsewhere:8080"
    assert config.REGISTRY.is_elsewhere(config.home())
    monkeypatch.setenv("METL_REGISTRY", "http://elsewhere:8080/apis/registry/v3")
    assert config.registry_url() == "http://elsewhere:8080", "where its documentation says that its API is"
    monkeypatch.setenv("METL_KAFKA", "127.0.0.1:23457")
    assert not config.KAFKA.is_elsewhere(config.home()), "it names the local one"


def test_jobs_log_in_as_the_job_or_else_as_whoever_is_elsewhere(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="Set METL_JOB_DSN or METL_DSN"):
        config.job_dsn()
    monkeypatch.setenv("METL_DSN", "host=elsewhere")
    assert (config.job_dsn(), config.job_variable()) == ("host=elsewhere", "METL_DSN")
    monkeypatch.setenv("METL_JOB_DSN", "host=elsewhere user=job")
    assert (config.job_dsn(), config.job_variable()) == ("host=elsewhere user=job", "METL_JOB_DSN")


def test_what_is_no_address_of_a_registry_is_refused_without_its_password(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METL_REGISTRY", "ftp://user:secret@host")
    with pytest.raises(BadInput, match=r"is not the address of a registry\. Set METL_REGISTRY") as error:
        config.registry_url()
    assert "secret" not in str(error.value)
