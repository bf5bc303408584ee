"""Entity versions in a real Apicurio."""

import contextlib
import json
import threading
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from metl.cdm import publish
from metl.cdm.entity import Attribute
from metl.cdm.schema import VALUES, EntityVersion, json_schema
from metl.util import http
from tests.model.conftest import Model, attributes
from tests.model.test_cdm import gate as gate


@pytest.fixture
def published(model: Model, registry: str) -> Model:
    return replace(model, registry=registry)


@pytest.fixture
def entity() -> str:
    """A name that no other test publishes."""
    return f"person {uuid.uuid4().hex[:8]}"


def yaml_of(entity: str, *names: str) -> str:
    given = ", ".join(f"{{name: {name}, type: string, description: The {name}}}" for name in names)
    return f"entity: {entity}\ndescription: Somebody\nattributes: [{given}]"


def artifact(registry: str, entity: str) -> str:
    return f"{registry}/apis/registry/v3/groups/metl.cdm/artifacts/cdm.{entity.replace(' ', '%20')}-value"


def versions(registry: str, entity: str) -> list[str]:
    """As they came."""
    found = http.request("GET", f"{artifact(registry, entity)}/versions?orderby=globalId")
    return [each["version"] for each in found["versions"]]


def test_versions_are_published_when_they_are_applied(published: Model, registry: str, entity: str) -> None:
    said = published.said("entities", "apply", published.file(yaml_of(entity, "mail")))
    assert f"Published to the registry: {entity} 1.\n" in said
    # By SQL, which nobody published.
    published.call("add_entity_version", entity, 3, attributes("mail", "fax"))
    assert published.said("entities", "publish") == f"Published to the registry: {entity} 3.\n"
    published.said("entities", "apply", published.file(yaml_of(entity, "mail", "phone")))
    assert versions(registry, entity) == ["1", "3", "4"]
    assert http.request("GET", artifact(registry, entity))["artifactType"] == "JSON"

    schema = http.request("GET", f"{artifact(registry, entity)}/versions/1/content")
    assert (schema["title"], schema["description"]) == (entity, "Somebody")
    assert schema["definitions"]["values"]["properties"] == {
        "mail": {"type": "string", "description": "The mail", "x-metl-type": "string", "x-metl-optional": False}
    }
    assert "nothing new" in published.said("entities", "apply", published.file(yaml_of(entity, "mail", "phone")))
    assert json.loads(published.said("entities", "publish", "--json")) == {
        "dry_run": False,
        "published": [],
        "different": [],
    }


def test_a_reader_may_publish(published: Model, registry: str, entity: str) -> None:
    published.call("add_entity_version", entity, 1, attributes("mail"))
    assert published.metl("entities", "publish", dsn=published.reader).exit_code == 0
    assert versions(registry, entity) == ["1"]


def test_the_registry_finds_the_schemas_valid(published: Model, registry: str, entity: str) -> None:
    rules = f"{registry}/apis/registry/v3/groups/metl.cdm/rules"
    published.said("entities", "apply", published.file(yaml_of(entity, "mail")))
    http.request("POST", rules, {"ruleType": "VALIDITY", "config": "FULL"})
    try:
        every = [{"name": f"the {kind}", "type": kind} for kind in VALUES]
        published.call("add_entity_version", entity, 2, every)
        published.said("entities", "publish")
    finally:
        http.request("DELETE", rules)
    assert versions(registry, entity) == ["1", "2"]


def test_without_a_registry_everything_is_applied_all_the_same(published: Model, registry: str, entity: str) -> None:
    file = published.file(yaml_of(entity, "mail"))
    away = replace(published, registry="http://user:secret@127.0.0.1:1")
    result = away.metl("entities", "apply", file)
    assert result.exit_code == 1
    assert f"{entity}  version 1 since state 1" in result.stdout
    assert "The entities are applied, but not published: GET http://127.0.0.1:1/" in result.stderr
    assert "got no answer" in result.stderr and "Mend that and run: metl entities publish" in result.stderr
    assert "secret" not in result.output
    assert published.said("entities", "publish") == f"Published to the registry: {entity} 1.\n"


def test_something_else_in_the_registry_is_left_and_named(published: Model, registry: str, entity: str) -> None:
    """Another database has another first version of an entity of that name."""
    other = EntityVersion(entity, 1, None, (Attribute("fax", "string"),))
    assert publish.publish(registry, [other]).new == [other]
    result = published.metl("entities", "apply", published.file(yaml_of(entity, "mail")))
    assert result.exit_code == 1
    sentence = "The registry has something else under the same name and version, which was left as it is: "
    assert f"{sentence}cdm.{entity}-value 1." in result.stderr
    schema = http.request("GET", f"{artifact(registry, entity)}/versions/1/content")
    assert list(schema["definitions"]["values"]["properties"]) == ["fax"]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"{}", "does not answer as an Apicurio registry does."),
        (b"<html>", "did not answer with JSON: b'<html>'"),
        (b'{"versions": 5, "count": []}', "does not answer as an Apicurio registry does."),
    ],
)
def test_what_is_no_registry(gate: Model, answer: bytes, sentence: str) -> None:
    with served(lambda _method, _path, _body: (200, answer)) as address:
        result = replace(gate, registry=address).metl("entities", "publish")
    assert result.exit_code == 1 and address in result.stderr and sentence in result.stderr


@contextlib.contextmanager
def served(answer: Callable[[str, str, bytes], tuple[int, bytes]]) -> Iterator[str]:
    """The address of something that answers so to a method, a path and a body."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(b"")

        def do_POST(self) -> None:
            self.answer(self.rfile.read(int(self.headers["Content-Length"])))

        def answer(self, body: bytes) -> None:
            status, text = answer(self.command, self.path, body)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_publishing_is_tried_again_and_leaves_each_version_once(published: Model, registry: str, entity: str) -> None:
    """On the way to this registry the first of two equal requests gets through, but not its answer."""
    seen: set[tuple[str, str, bytes]] = set()

    def pass_on(method: str, path: str, body: bytes) -> tuple[int, bytes]:
        asked = (method, path, body)
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(registry + path, body or None, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
        status = 200 if asked in seen else 503
        seen.add(asked)
        return status, text

    for version in (1, 2):
        published.call("add_entity_version", entity, version, attributes("mail"))
    with served(pass_on) as flaky:
        assert f"{entity} 1, {entity} 2" in replace(published, registry=flaky).said("entities", "publish")
    assert versions(registry, entity) == ["1", "2"]


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("integer", [0, -5, 10**40, 1.0], ["1", 1.5, True]),
        ("decimal", ["1.10", 1.10, {"scale": 2, "value": "AQ=="}, "NaN"], [True, []]),
        ("float", [1.5, "NaN", "Infinity", "-Infinity"], ["1.5", True]),
        ("boolean", [True], ["true", 1]),
        ("string", [""], [1, {}]),
        ("bytes", ["AQ=="], [1, []]),
        ("date", [19782, "2024-02-29"], [True, {}]),
        ("time", [86399999999, "23:59:59Z"], [True]),
        ("timestamp", [1709208000123456, "2024-02-29T12:00:00Z"], [True]),
        ("interval", [3600000000, "P1Y"], [True]),
        ("uuid", ["00000000-0000-0000-0000-000000000001"], [1]),
        ("json", ['{"a": 1}', {"a": 1}, [1], 5, True], []),
        ("object", [{"a": 1}, [["k", 1]]], ["text", 1]),
        ("array", [[], [1, None]], ["[]", {}]),
        ("geometry", [{"x": 1.5, "y": 2.5}, "POINT (1 2)"], [1]),
        ("any", ["text", 1, {}], []),
        ("of a later release", ["text", 1, {}], []),
    ],
)
def test_a_type_takes_what_is_sent_for_it(kind: str, good: list[Any], bad: list[Any]) -> None:
    schema = json_schema(EntityVersion("person", 2, None, (Attribute("x", kind),)))
    jsonschema.Draft7Validator.check_schema(schema)
    message = {"entity": "person", "version": 2, "op": "u", "ts_ms": 5, "before": None, "source": None}
    validator = jsonschema.Draft7Validator(schema)
    for value in good:
        assert validator.is_valid({**message, "after": {"x": value}}), value
        assert validator.is_valid({**message, "before": {"x": value}, "after": {}, "unavailable": ["x"]})
    for value in [*bad, None]:
        assert not validator.is_valid({**message, "after": {"x": value}}), value


def test_every_type_of_metl_has_its_values(model: Model) -> None:
    assert sorted(VALUES) == sorted(name for (name,) in model.rows("select type from metl.type"))
