"""One pass after the other: what comes to a registry, comes to the matrix."""

import json

from metl.registry.fingerprint import fingerprint
from tests.sync.artifacts import Artifacts, Matrix, envelope

AVRO = {
    "type": "record",
    "name": "Paid",
    "fields": [
        {"name": "order", "type": "long"},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}], "doc": "When it came"},
    ],
}
EVENT = {"type": "object", "required": ["id"], "properties": {"id": {"type": "string", "format": "uuid"}}}


def test_the_three_kinds_of_schemas_come_with_their_ids(artifacts: Artifacts, matrix: Matrix) -> None:
    table = artifacts.table("shop.customer", "id", "at:int64")
    avro = artifacts.add("shop.paid-value", "AVRO", AVRO)
    event = artifacts.add("shop.left", "JSON", EVENT)

    events = matrix.events()

    assert [(each["event"], each["schema"], each["version"]) for each in events] == [
        ("registered", "shop.customer", 1),
        ("registered", "shop.paid", 1),
        ("registered", "shop.left", 1),
    ]
    assert matrix.rows(
        "select schema, attribute, source_type, type, optional, description from metl.schema_attributes "
        "order by schema, position"
    ) == [
        ("shop.customer", "id", "int32", "integer", False, None),
        ("shop.customer", "at", "int64", "integer", False, None),
        ("shop.left", "id", "uuid", "uuid", False, None),
        ("shop.paid", "order", "long", "integer", False, None),
        ("shop.paid", "at", "timestamp-millis", "timestamp", True, "When it came"),
    ]
    contents = dict(matrix.rows("select artifact, content_id from metl.registry_versions"))
    [_, after, *_] = envelope("id", "at:int64")["fields"]
    refs = matrix.rows("select schema, kind, ref from metl.schema_refs")
    assert set(refs) == {
        *(("shop.customer", "global_id", str(table)), ("shop.customer", "fingerprint", fingerprint(after["fields"]))),
        *(("shop.paid", "global_id", str(avro)), ("shop.left", "global_id", str(event))),
        *(
            (artifact.removesuffix("-value"), kind, str(content))
            for artifact, content in contents.items()
            for kind in ("content_id", "confluent_id")
        ),
    }
    assert matrix.sync() == "Nothing is new in the registry.\n"


def test_each_version_is_an_auto_update_and_a_state_in_order(artifacts: Artifacts, matrix: Matrix) -> None:
    artifacts.table("shop.customer", "id", "name", "note")
    matrix.sync()
    matrix.entity("shop.customer", number="id", remark="note")
    artifacts.table("shop.customer", "id", "name", "note", "mail")
    artifacts.table("shop.order", "id")
    artifacts.table("shop.customer", "id", "mail")

    said = matrix.sync()

    assert said.splitlines() == [
        "shop.customer 2 came: 2 cells carried over.",
        "shop.order 1 came: there was nothing to carry over.",
        "shop.customer 3 came: 1 cell carried over, 1 lost: see metl plans notices.",
        "Versions: 3 registered.",
    ]
    added = matrix.rows("select schema, version, added from metl.schema_versions order by added")
    assert added == [("shop.customer", 1, 1), ("shop.customer", 2, 4), ("shop.order", 1, 5), ("shop.customer", 3, 6)]
    assert matrix.ones() == [(1, "id"), (1, "note"), (2, "id"), (2, "note"), (3, "id")]


def test_states_are_mirrored(artifacts: Artifacts, matrix: Matrix) -> None:
    for columns in (["a"], ["a", "b"], ["a", "c"]):
        artifacts.table("shop.customer", *columns)
    artifacts.set_state("shop.customer-value", 2, "DISABLED")
    states = "select version, registry_state, outcome from metl.registry_versions order by version"

    matrix.sync()
    assert matrix.rows(states) == [
        (1, "ENABLED", "registered"),
        (2, "DISABLED", "registered"),
        (3, "ENABLED", "registered"),
    ]

    artifacts.set_state("shop.customer-value", 1, "DEPRECATED")
    artifacts.set_state("shop.customer-value", 2, "ENABLED")
    told = {(each["event"], each["version"], each["registry_state"]) for each in matrix.events()}
    assert told == {("state changed", 1, "DEPRECATED"), ("state changed", 2, "ENABLED")}
    assert [state for _, state, _ in matrix.rows(states)] == ["DEPRECATED", "ENABLED", "ENABLED"]
    assert matrix.rows("select metl.current_state()") == [(3,)], "the matrix did not change"


def test_what_is_deleted_there_is_deleted_here(artifacts: Artifacts, matrix: Matrix) -> None:
    artifacts.table("shop.customer", "a")
    artifacts.table("shop.customer", "a", "b")
    artifacts.table("shop.order", "a")
    matrix.sync()
    matrix.entity("shop.customer", x="a")

    artifacts.delete("shop.customer-value", 1)
    [event] = matrix.events()
    assert (event["event"], event["version"], event["lost"]) == ("deleted", 1, 1)
    assert matrix.ones() == [(2, "a")]

    artifacts.delete("shop.customer-value")
    [event] = matrix.events()
    assert (event["event"], event["version"]) == ("deleted", 2)
    assert matrix.rows("select schema from metl.schema_versions where deleted is null") == [("shop.order",)]
    told = "select kind, version, lost from metl.notices where confirmed_at is null"
    assert matrix.rows(told) == [("vanished", 2, [{"attribute": "a", "entity_attribute": "x"}])], "of the last one"
    assert [outcome for *_, outcome in matrix.outcomes()] == ["gone", "gone", "registered"]


def test_no_other_registry_holds_a_deletion_up(artifacts: Artifacts, matrix: Matrix) -> None:
    artifacts.table("shop.customer", "a")
    artifacts.table("shop.order", "a")
    matrix.sync()
    matrix.sync("--name", "another", code=1)

    artifacts.delete("shop.customer-value")
    [event] = matrix.events()

    assert (event["event"], event["schema"]) == ("deleted", "shop.customer")
    assert matrix.rows("select schema from metl.schema_versions where deleted is null") == [("shop.order",)]


def test_what_is_made_anew_gets_new_numbers_and_keeps_its_mappings(artifacts: Artifacts, matrix: Matrix) -> None:
    artifacts.table("shop.customer", "a", "b")
    artifacts.table("shop.customer", "a", "b", "c")
    artifacts.table("shop.order", "a")
    matrix.sync()
    matrix.entity("shop.customer", x="a", y="b")

    artifacts.delete("shop.customer-value")
    artifacts.table("shop.customer", "a", "b")
    artifacts.table("shop.customer", "a")
    artifacts.table("shop.customer", "a", "b", "c")
    events = [(each["event"], each["version"], each["registry_version"]) for each in matrix.events()]

    assert events == [
        ("registered", 3, "1"),
        ("registered", 4, "2"),
        ("registered", 5, "3"),
        ("deleted", 1, "1"),
        ("deleted", 2, "2"),
    ]
    assert matrix.ones() == [(3, "a"), (3, "b"), (4, "a"), (5, "a")]


def test_numbers_ascend_with_the_versions_whatever_the_registry_calls_them(
    artifacts: Artifacts, matrix: Matrix
) -> None:
    for number, name in enumerate(["1.0.0", "7", "3", "9"]):
        artifacts.table("shop.customer", "a", *(f"b{n}" for n in range(number)), version=name)
    matrix.sync()
    assert [(name, number) for _, name, number, _ in matrix.outcomes()] == [("1.0.0", 1), ("7", 7), ("3", 8), ("9", 9)]


def test_what_is_no_schema_of_messages_is_passed_over(artifacts: Artifacts, matrix: Matrix) -> None:
    artifacts.add("shop.customer-key", "KCONNECT", {"type": "string"})
    artifacts.add("shop.api", "OPENAPI", {"openapi": "3.0.2", "info": {"title": "Shop", "version": "1"}, "paths": {}})
    artifacts.add("shop.draft-value", "AVRO", AVRO, isDraft=True)
    artifacts.add("__debezium-heartbeat.shop-value", "AVRO", AVRO)
    published = Artifacts(artifacts.registry, "metl.cdm")
    published.add(f"{artifacts.group}-value", "AVRO", AVRO)
    matrix.groups = (artifacts.group, "metl.cdm")

    said = matrix.sync()
    published.delete(f"{artifacts.group}-value")

    assert said == "Nothing is new in the registry.\n"
    mine = [each for each in matrix.outcomes() if artifacts.group in each[0] or "shop" in each[0]]
    assert {outcome for *_, outcome in mine} == {"passed over"} and len(mine) == 5

    artifacts.set_state("shop.draft-value", 1, "ENABLED")
    assert [each["schema"] for each in matrix.events()] == ["shop.draft"]


def test_a_name_in_two_groups_belongs_to_the_first(artifacts: Artifacts, matrix: Matrix) -> None:
    other = Artifacts(artifacts.registry, f"{artifacts.group}-b")
    matrix.groups = (artifacts.group, other.group)
    artifacts.table("shop.customer", "a")
    other.table("shop.customer", "b")
    other.table("shop.customer", "b", "c")
    artifacts.table("shop.order", "a")

    said = matrix.sync(code=1)

    problem = (
        f"Schema shop.customer is that of artifact shop.customer-value in group {artifacts.group} of apicurio already"
    )
    assert said.count(problem) == 2
    notices = "select kind, schema, version from metl.notices where confirmed_at is null"
    assert matrix.rows(notices) == [("conflict", "shop.customer", None)]

    artifacts.delete("shop.customer-value")
    events = matrix.events()
    assert [(each["event"], each["version"]) for each in events] == [
        ("registered", 2),
        ("registered", 3),
        ("deleted", 1),
    ]
    assert matrix.rows(notices) == []


def test_former_names_are_renames_only_where_they_are_gone(artifacts: Artifacts, matrix: Matrix) -> None:
    def event(**fields: list[str]) -> dict[str, object]:
        return {
            "type": "record",
            "name": "Event",
            "fields": [{"name": name, "type": "int", "aliases": aliases} for name, aliases in fields.items()],
        }

    artifacts.add("shop.event", "AVRO", event(first=[]))
    matrix.sync()
    matrix.entity("shop.event", x="first")
    artifacts.add("shop.event", "AVRO", event(second=["nought", "first"]))
    # The alias stays for ever, also when the old name is used for something else.
    artifacts.add("shop.event", "AVRO", event(second=["nought", "first"], first=[]))
    artifacts.add("shop.event", "AVRO", event(third=["first", "second"], first=[]))

    assert matrix.sync().count("1 cell carried over.") == 3
    assert matrix.ones() == [(1, "first"), (2, "second"), (3, "second"), (4, "third")]


def test_what_a_schema_refers_to_is_read_too(artifacts: Artifacts, matrix: Matrix) -> None:
    kind = {"type": "enum", "name": "Kind", "namespace": "shop", "symbols": ["A", "B"]}
    artifacts.add("shop.Kind", "AVRO", kind)
    event = {"type": "record", "name": "Event", "fields": [{"name": "kind", "type": "shop.Kind"}]}
    reference = {"groupId": artifacts.group, "artifactId": "shop.Kind", "version": "1", "name": "shop.Kind"}
    artifacts.add("shop.event-value", "AVRO", event, references=[reference])
    matrix.sync(code=1)  # an enum by itself is no row
    types = matrix.rows("select attribute, source_type from metl.schema_attributes where schema = 'shop.event'")
    assert types == [("kind", "enum")]


def test_a_dry_run_tells_all_and_changes_nothing(artifacts: Artifacts, matrix: Matrix) -> None:
    artifacts.table("shop.customer", "a", "b")
    matrix.sync()
    matrix.entity("shop.customer", x="a", y="b")
    artifacts.table("shop.customer", "a")
    artifacts.table("shop.customer", "a", "c")
    artifacts.add("shop.bad", "AVRO", "{")
    everything = [
        "select * from metl.states",
        "select * from metl.registry_versions",
        "select * from metl.registry_readings",
        "select * from metl.notices",
    ]
    before = [matrix.rows(query) for query in everything]

    said = matrix.sync("--dry-run", code=1)

    assert [matrix.rows(query) for query in everything] == before
    assert "shop.customer 2 came: 1 cell carried over, 1 lost: see metl plans notices." in said
    assert "Versions: 2 registered, 1 not readable. Nothing was changed: a dry run." in said
    real = matrix.sync(code=1)
    assert said.splitlines()[:3] == real.splitlines()[:3]


def test_the_matrix_is_not_wiped_by_a_registry_that_lost_everything(artifacts: Artifacts, matrix: Matrix) -> None:
    artifacts.table("shop.customer", "a")
    artifacts.table("shop.order", "a")
    matrix.sync()
    live = "select count(*) from metl.schema_versions where deleted is null"
    artifacts.delete("shop.customer-value")
    artifacts.delete("shop.order-value")

    said = matrix.sync(code=1)
    assert "The registry has lost 2 of the 2 versions that METL has from it" in said
    assert "metl sync --accept-deletions" in said
    # Made anew, they are other versions.
    artifacts.table("shop.customer", "a")
    assert "The registry has lost 2 of the 2 versions" in matrix.sync(code=1)
    assert matrix.rows(live) == [(2,)]

    assert [each["event"] for each in matrix.events("--accept-deletions")] == ["registered", "deleted", "deleted"]
    assert matrix.rows(live) == [(1,)]


def test_json_lines_are_plain(artifacts: Artifacts, matrix: Matrix) -> None:
    artifacts.table("shop.customer", "a")
    [line] = matrix.sync("--json").splitlines()
    assert json.loads(line) == {
        "event": "registered",
        "schema": "shop.customer",
        "version": 1,
        "state": 1,
        "kept": 0,
        "lost": 0,
        "registry_group": artifacts.group,
        "artifact": "shop.customer-value",
        "registry_version": "1",
        "registry_state": "ENABLED",
    }
