"""Every way in which a message says which version it is of: the table in wire-formats.md, row by row."""

import json
import uuid
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from metl.registry.fingerprint import fingerprint
from tests.live.exact_json import Number
from tests.live.job import Results, lay_out, produce, results, run
from tests.live.messages import drawn
from tests.live.oracle import Block, ColumnSet, Message, Topic
from tests.live.running import Place

# The first test pays for Spark, dbt and the run.
pytestmark = pytest.mark.timeout(600)

Fields = list[dict[str, Any]]

ROW = {"id": 1, "nr": 2}
GUIDS = [str(uuid.UUID(int=number << 64 | 0xFF)) for number in (1, 2)]
COLUMNS: Fields = [
    {"type": "int32", "optional": False, "field": "id"},
    {
        "type": "bytes",
        "optional": True,
        "name": "org.apache.kafka.connect.data.Decimal",
        "version": 1,
        "parameters": {"scale": "2", "connect.decimal.precision": "10"},
        "field": "nr",
    },
]
LATER: Fields = [*COLUMNS, {"type": "string", "optional": True, "default": "x", "field": "note"}]


def refs(global_id: int, content_id: int, guid: str, columns: Fields) -> dict[str, list[str]]:
    return {
        "global_id": [str(global_id)],
        "content_id": [str(content_id)],
        "confluent_id": [str(content_id + 100)],
        "confluent_guid": [guid],
        "fingerprint": [fingerprint(columns)],
    }


# Version 3 has the content of version 1 again, and so the ids of that content.
ITEMS = [
    ColumnSet("items", 1, [Block("item", 1, {"number": "id"})], refs(2**40 + 1, 7, GUIDS[0], COLUMNS)),
    ColumnSet("items", 2, [Block("item", 1, {"number": "nr"})], refs(2, 8, GUIDS[1], LATER)),
    ColumnSet("items", 3, [Block("item", 1, {"number": "id"})], refs(3, 7, GUIDS[0], COLUMNS)),
]


def awkward_fields() -> list[Fields]:
    """Lists of fields whose names need care: in escapes, in their order, in what is missing."""
    names = st.one_of(
        st.sampled_from(
            ['"', "\\", "\\u001f", "\x00\x1f\x7f", "\u2028", "é", "e\u0301", "😀", "\uffee", "a/b", "<&>'"]
        ),
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5),
    )
    known = {"field": names, "type": st.sampled_from(["int32", "string", "bytes", "array", "struct"])}
    others = {
        "optional": st.booleans(),
        "name": names,
        "parameters": st.dictionaries(names, names, max_size=4),
        "items": st.fixed_dictionaries({"type": st.sampled_from(["int32", "string"]), "optional": st.booleans()}),
        "fields": st.lists(st.fixed_dictionaries({"field": names, "type": st.just("int64")}), max_size=2),
        "version": st.just(1),
        "doc": names,
    }
    fields = drawn(st.lists(st.fixed_dictionaries(known, optional=others), min_size=1, max_size=4), 40)
    return list({fingerprint(each): each for each in fields}.values())[:25]


AWKWARD_FIELDS = awkward_fields()
AWKWARD = [
    ColumnSet("awkward", number, [Block("item", 1, {"number": "id"})], {"fingerprint": [fingerprint(fields)]})
    for number, fields in enumerate(AWKWARD_FIELDS, 1)
]

RULES = {
    f"{format_}-{payload}": Topic("items", format_, payload, version)
    for format_, version in {
        "ext_json": None,
        "ext_json_content_id": None,
        "apicurio": None,
        "apicurio_2": None,
        "confluent": None,
        "connect": None,
        "plain": 1,
    }.items()
    for payload in ("debezium", "flat")
} | {
    "newest-debezium": Topic("items", "plain", "debezium"),
    "newest-flat": Topic("items", "plain", "flat"),
    "awkward-debezium": Topic("awkward", "connect", "debezium"),
    "awkward-flat": Topic("awkward", "connect", "flat"),
}


def envelope(row: dict[str, Any]) -> dict[str, Any]:
    return {"before": None, "after": row, "source": {"lsn": 5}, "op": "c", "ts_ms": 9, "transaction": None}


def connect_schema(fields: Fields, payload: str) -> dict[str, Any]:
    if payload == "flat":
        return {"type": "struct", "fields": fields, "optional": False, "name": "event", "version": 1}
    row = {"type": "struct", "fields": fields, "optional": True, "name": "shop.items.Value"}
    source = {"type": "struct", "fields": [{"type": "int64", "field": "lsn"}], "optional": False, "field": "source"}
    op = {"type": "string", "optional": False, "field": "op"}
    return {
        "type": "struct",
        "fields": [row | {"field": "before"}, row | {"field": "after"}, source, op],
        "optional": False,
        "name": "shop.items.Envelope",
        "version": 2,
    }


@dataclass(frozen=True)
class Case:
    """A message and what it has to become: a version, or the reason why not."""

    name: str
    about: str
    version: int | str
    frame: bytes = b""
    headers: tuple[tuple[str, bytes], ...] = ()
    wrapper: dict[str, Any] = field(default_factory=dict)
    key: bytes = b'{"id":1}'

    @property
    def value(self) -> bytes:
        payload: Any = ROW if self.about.endswith("-flat") else envelope(ROW)
        if self.about.startswith(("ext_json", "connect", "awkward")):
            payload = self.wrapper | {"payload": payload}
        return self.frame + json.dumps(payload).encode()


def four(number: int) -> bytes:
    return b"\0" + number.to_bytes(4, "big")


def eight(number: int) -> bytes:
    return b"\0" + number.to_bytes(8, "big")


def id_in(header: str, number: int) -> tuple[tuple[str, bytes], ...]:
    return ("apicurio.value.encoding", b"JSON"), (header, number.to_bytes(8, "big"))


def guid(text: str) -> tuple[tuple[str, bytes], ...]:
    return (("__value_schema_id", b"\x01" + uuid.UUID(text).bytes),)


# Version 1 alone has this globalId; version 3 has the content, too.
BOTH_IDS = (*id_in("apicurio.value.contentId", 7), *id_in("apicurio.value.globalId", 2**40 + 1))
TWO_IDS = (*id_in("apicurio.value.contentId", 7), *id_in("apicurio.value.contentId", 8))
CASES = [
    case
    for payload in ("debezium", "flat")
    for case in [
        Case("globalId", f"ext_json-{payload}", 1, wrapper={"schemaId": 2**40 + 1}),
        Case("another globalId", f"ext_json-{payload}", 2, wrapper={"schemaId": 2}),
        Case("unknown globalId", f"ext_json-{payload}", "unknown_version", wrapper={"schemaId": 7}),
        Case("contentId", f"ext_json_content_id-{payload}", 2, wrapper={"schemaId": 8}),
        Case("contentId of two", f"ext_json_content_id-{payload}", 3, wrapper={"schemaId": 7}),
        Case("unknown contentId", f"ext_json_content_id-{payload}", "unknown_version", wrapper={"schemaId": 2}),
        Case("contentId in a header", f"apicurio-{payload}", 2, headers=id_in("apicurio.value.contentId", 8)),
        Case("contentId of two in a header", f"apicurio-{payload}", 3, headers=id_in("apicurio.value.contentId", 7)),
        Case("globalId in a header", f"apicurio-{payload}", 1, headers=id_in("apicurio.value.globalId", 2**40 + 1)),
        Case("both ids in headers", f"apicurio-{payload}", 1, headers=BOTH_IDS),
        Case("an id in two headers", f"apicurio-{payload}", 2, headers=TWO_IDS),
        Case(
            "an id too long", f"apicurio-{payload}", "malformed", headers=(("apicurio.value.globalId", b"1234567890"),)
        ),
        Case("a frame and another's header", f"confluent-{payload}", 2, four(108), BOTH_IDS),
        Case("contentId in the body", f"apicurio-{payload}", 2, frame=four(8)),
        Case("unknown contentId in the body", f"apicurio-{payload}", "unknown_version", frame=four(9)),
        Case("no frame and no header", f"apicurio-{payload}", "malformed"),
        Case("a frame too short", f"apicurio-{payload}", "malformed", frame=b"\0\0"),
        Case("a frame and a header", f"apicurio-{payload}", "malformed", four(8), id_in("apicurio.value.contentId", 8)),
        Case("globalId in a header", f"apicurio_2-{payload}", 1, headers=id_in("apicurio.value.globalId", 2**40 + 1)),
        Case("globalId in the body", f"apicurio_2-{payload}", 1, frame=eight(2**40 + 1)),
        Case("no frame and no header", f"apicurio_2-{payload}", "malformed"),
        Case("a frame too short", f"apicurio_2-{payload}", "malformed", frame=four(2)),
        Case("id in the body", f"confluent-{payload}", 2, frame=four(108)),
        Case("id of two in the body", f"confluent-{payload}", 3, frame=four(107)),
        Case("GUID in a header", f"confluent-{payload}", 2, headers=guid(GUIDS[1])),
        Case("unknown GUID", f"confluent-{payload}", "unknown_version", headers=guid(str(uuid.UUID(int=9)))),
        Case("no frame and no header", f"confluent-{payload}", "malformed"),
        Case("a key in a frame", f"confluent-{payload}", 2, frame=four(108), key=four(1) + b'{"id":1}'),
        Case("fingerprint", f"connect-{payload}", 2, wrapper={"schema": connect_schema(LATER, payload)}),
        Case("fingerprint of two", f"connect-{payload}", 3, wrapper={"schema": connect_schema(COLUMNS, payload)}),
        Case(
            "unknown fingerprint",
            f"connect-{payload}",
            "unknown_version",
            wrapper={"schema": connect_schema(COLUMNS[::-1], payload)},
        ),
        Case("no schema", f"connect-{payload}", "unknown_version", wrapper={"schema": None}),
        Case("configured version", f"plain-{payload}", 1),
        Case("newest version", f"newest-{payload}", 3),
    ]
]
AWKWARD_CASES = [
    Case(f"awkward {number}", f"awkward-{payload}", number, wrapper={"schema": connect_schema(fields, payload)})
    for payload in ("debezium", "flat")
    for number, fields in enumerate(AWKWARD_FIELDS, 1)
]


@pytest.fixture(scope="module")
def done(place: Place, session: SparkSession) -> Results:
    """One run on all topics."""
    oracle = lay_out(place, [*ITEMS, *AWKWARD], RULES)
    for about in ("newest-debezium", "newest-flat"):
        oracle.topics[f"{place.name}.{about}"] = Topic("items", "plain", RULES[about].payload, 3)
    written = produce(
        place.kafka,
        [Message(f"{place.name}.{case.about}", case.key, case.value, case.headers) for case in CASES + AWKWARD_CASES],
    )
    run(session, place, rf"{place.name}\..*")
    return results(place, written, oracle)


def found(done: Results, place: Place, case: Case) -> list[Message]:
    return [
        message
        for message in done.messages.values()
        if (message.topic, message.key, message.value, message.headers)
        == (f"{place.name}.{case.about}", case.key, case.value, case.headers)
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.about}: {case.name}")
def test_a_message_is_mapped_as_the_version_that_it_names(done: Results, place: Place, case: Case) -> None:
    [message] = found(done, place, case)
    outcome = done.outcome(message)
    if isinstance(case.version, str):
        assert outcome.reason == case.version
        return
    [record] = outcome.records
    assert record.topic == f"{place.prefix}item"
    assert dict(record.headers)["metl.version"] == str(case.version)
    assert record.value["after"] == {"number": Number("2" if case.version == 2 else "1")}
    assert record.key == {"source": message.topic, "key": {"id": Number("1")}}


def test_the_oracle_says_the_same(done: Results) -> None:
    complaints = done.complaints(done.messages.values())
    assert not complaints, "\n".join(complaints[:5])


def test_fingerprints_agree_on_awkward_names(done: Results, place: Place) -> None:
    wrong = []
    for case in AWKWARD_CASES:
        for message in found(done, place, case):
            outcome = done.outcome(message)
            if [dict(record.headers)["metl.version"] for record in outcome.records] != [str(case.version)]:
                wrong.append((case.about, AWKWARD_FIELDS[int(case.version) - 1], outcome))
    assert len(AWKWARD_FIELDS) > 15
    assert not wrong, wrong[:3]
