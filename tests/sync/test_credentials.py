"""A registry that asks for a user and a password, which METL_REGISTRY holds."""

import json
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from click.testing import CliRunner, Result

from metl.cli import main
from tests.sync.artifacts import Artifacts, Matrix
from tests.sync.proxy import Proxy, proxy

USER, PASSWORD = "steward", "p@ss:w\u00f6rd/%"


@pytest.fixture
def guarded(registry: str) -> Iterator[Proxy]:
    with proxy(registry, f"{USER}:{PASSWORD}") as made:
        yield made


def address(guarded: Proxy, password: str = PASSWORD) -> str:
    return guarded.address.replace("//", f"//{USER}:{quote(password, safe='')}@")


def metl(url: str, *words: str, dsn: str | None = None) -> Result:
    result = CliRunner().invoke(main, words, env={"METL_REGISTRY": url, "METL_DSN": dsn})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert PASSWORD not in result.output and quote(PASSWORD, safe="") not in result.output
    return result


def test_versions_are_taken(guarded: Proxy, artifacts: Artifacts, matrix: Matrix) -> None:
    artifacts.table("shop.customer", "a")
    matrix.registry = address(guarded)
    assert [(each["event"], each["schema"]) for each in matrix.events()] == [("registered", "shop.customer")]


def test_entities_are_published(guarded: Proxy, artifacts: Artifacts, matrix: Matrix) -> None:
    name = f"person {artifacts.group}"
    matrix.rows("select metl.add_entity_version(%s, 1, %s)", name, json.dumps([{"name": "mail", "type": "string"}]))
    result = metl(address(guarded), "entities", "publish", dsn=matrix.dsn)
    assert (result.exit_code, result.stdout) == (0, f"Published to the registry: {name} 1.\n")
    assert "nothing new" in metl(address(guarded), "entities", "publish", dsn=matrix.dsn).stdout


def test_it_counts_as_up(guarded: Proxy, tmp_path_factory: pytest.TempPathFactory) -> None:
    result = metl(address(guarded), "up", "registry")
    assert result.exit_code == 0, result.output
    assert "runs elsewhere (METL_REGISTRY)" in result.stdout and "answers" in result.stdout
    parts = {part["name"]: part for part in json.loads(metl(address(guarded), "status", "--json").stdout)["parts"]}
    assert (parts["registry"]["state"], parts["registry"]["address"]) == ("elsewhere", guarded.address)


def test_a_wrong_password_is_a_sentence(guarded: Proxy, matrix: Matrix) -> None:
    wrong = address(guarded, "wrong")
    for words in (["entities", "publish"], ["sync"], ["up", "registry"]):
        result = metl(wrong, *words, dsn=matrix.dsn)
        assert result.exit_code == 1
        assert "answered 401: who are you?" in result.output
