"""Algorithm 6 of the paper in plain Python: what a message becomes, a reading of design.md and not of spark_jobs/."""

import base64
import hashlib
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from metl.registry.fingerprint import fingerprint
from tests.live.exact_json import NotJson, Number, Object, parse

WRAPPED = {"ext_json", "ext_json_content_id", "connect"}
FRAME = {"apicurio": 4, "apicurio_2": 8, "confluent": 4}
HEADERS = {
    "apicurio": {"apicurio.value.globalId": "global_id", "apicurio.value.contentId": "content_id"},
    "apicurio_2": {"apicurio.value.globalId": "global_id"},
    "confluent": {"__value_schema_id": "confluent_guid"},
}
FRAMED = {"apicurio": "content_id", "apicurio_2": "global_id", "confluent": "confluent_id"}
PLACEHOLDER = b"__debezium_unavailable_value"
UNAVAILABLE: tuple[Any, ...] = (
    PLACEHOLDER.decode(),
    base64.b64encode(PLACEHOLDER).decode(),
    [PLACEHOLDER.decode()],
    [base64.b64encode(PLACEHOLDER).decode()],
    [Number(str(byte)) for byte in PLACEHOLDER],
    # As Java makes one of the digest of a name.
    [str(uuid.UUID(bytes=hashlib.md5(PLACEHOLDER).digest(), version=3))],
)


@dataclass(frozen=True)
class Topic:
    """A row of metl.topics; a plain one has the version that is configured or else the newest."""

    schema: str
    format: str = "ext_json"
    payload: str = "debezium"
    version: int | None = None


@dataclass(frozen=True)
class Block:
    entity: str
    version: int
    mapping: dict[str, str]  # entity attribute: attribute


@dataclass(frozen=True)
class ColumnSet:
    schema: str
    version: int
    blocks: Sequence[Block] = ()
    refs: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Message:
    topic: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int = 0
    offset: int = -1
    timestamp: int = 0

    def header(self, name: str) -> bytes | None:
        """Of the last one of that name."""
        return next((value for key, value in reversed(self.headers) if key == name), None)


@dataclass(frozen=True)
class Sent:
    """A record of an entity; no value is a tombstone."""

    topic: str
    key: Any
    value: Any
    headers: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Outcome:
    records: tuple[Sent, ...] = ()
    reason: str | None = None
    filtered: int = 0


@dataclass(frozen=True)
class Row:
    op: str
    ts_ms: Number | None
    before: Object | None
    after: Object | None
    source: Any


class Malformed(Exception):
    """Not what the topic is configured to hold."""


@dataclass
class Oracle:
    topics: dict[str, Topic]
    column_sets: Sequence[ColumnSet]
    state: int
    prefix: str = "cdm."

    def outcome(self, message: Message) -> Outcome:
        topic = self.topics.get(message.topic)
        if message.topic.startswith("__debezium-heartbeat"):
            return Outcome(filtered=1)
        if _marks_transaction(message, is_known=topic is not None):
            return Outcome(filtered=1)
        if message.topic.endswith(".signals") and topic is None and b'-snapshot"' in (message.value or b""):
            return Outcome(filtered=1)
        if topic is None:
            return Outcome(reason="unknown_version")
        if message.value is None:
            return self._to_all(message, topic, self._known(topic, _ref_beside(message, topic)), None)
        try:
            document = parse(_text(message, topic))
            row = _read(message, topic, document)
        except (Malformed, NotJson):
            return Outcome(reason="malformed")
        return self._mapped(message, topic, document, row)

    def _known(self, topic: Topic, ref: tuple[str, str] | None) -> ColumnSet | None:
        """Where several versions match, the newest."""
        if topic.format == "plain":
            ref = ("version", str(topic.version))
        matching = [
            found
            for found in self.column_sets
            if found.schema == topic.schema
            and ref is not None
            and (ref == ("version", str(found.version)) or ref[1] in found.refs.get(ref[0], ()))
        ]
        return max(matching, key=lambda found: found.version, default=None)

    def _mapped(self, message: Message, topic: Topic, document: Any, row: Row) -> Outcome:
        if row.op == "m":
            return Outcome(filtered=1)
        known = self._known(topic, _ref_beside(message, topic) or _ref_inside(topic, document))
        if known is None:
            return Outcome(reason="unknown_version")
        if row.op == "t":
            return self._to_all(message, topic, known, row)
        if not all(map(self._is_routable, known.blocks)):
            return Outcome(reason="unroutable_entity")
        records = [self._record(message, topic, known, block, row) for block in known.blocks if _is_sent(block, row)]
        return Outcome(tuple(records), filtered=max(1, len(known.blocks)) - len(records))

    def _to_all(self, message: Message, topic: Topic, known: ColumnSet | None, row: Row | None) -> Outcome:
        """A tombstone or a truncate goes to every entity that the topic feeds in any version."""
        fed = {
            block.entity: replace(block, mapping={})
            for found in self.column_sets
            if found.schema == topic.schema
            for block in found.blocks
        }
        if row and not fed:
            return Outcome(reason="unmapped_truncate")
        if not all(map(self._is_routable, fed.values())):
            return Outcome(reason="unroutable_entity")
        records = [self._record(message, topic, known, block, row) for block in fed.values()]
        return Outcome(tuple(records), filtered=0 if records else 1)

    def _is_routable(self, block: Block) -> bool:
        return re.fullmatch(r"[A-Za-z0-9._-]{1,249}", self.prefix + block.entity) is not None

    def _record(self, message: Message, topic: Topic, known: ColumnSet | None, block: Block, row: Row | None) -> Sent:
        headers = {
            "metl.state": str(self.state),
            "metl.schema": topic.schema,
            "metl.version": str(known.version) if known else "",
            "metl.topic": message.topic,
            "metl.partition": str(message.partition),
            "metl.offset": str(message.offset),
        }
        if row is None or row.ts_ms is None:
            headers["metl.timestamp"] = str(message.timestamp)
        key = {"source": message.topic, "key": _key(message.key, topic)}
        return Sent(self.prefix + block.entity, key, row and _value(block, row), tuple(headers.items()))


def _text(message: Message, topic: Topic) -> str:
    """Without the frame, which must be there unless a header names the version."""
    value = message.value or b""
    if topic.format in FRAME and _header_ref(message, topic) is None:
        if not value.startswith(b"\0"):
            raise Malformed
        value = value[1 + FRAME[topic.format] :]
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise Malformed from None


def _ref_beside(message: Message, topic: Topic) -> tuple[str, str] | None:
    if topic.format not in FRAME:
        return None
    size = FRAME[topic.format]
    found = _header_ref(message, topic)
    if found is None and message.value and message.value.startswith(b"\0") and len(message.value) > size:
        found = FRAMED[topic.format], str(int.from_bytes(message.value[1 : 1 + size], "big"))
    return found


def _header_ref(message: Message, topic: Topic) -> tuple[str, str] | None:
    for name, kind in HEADERS[topic.format].items():
        value = message.header(name)
        if value is None:
            continue
        if kind == "confluent_guid" and len(value) == 17:
            return kind, re.sub(r"^(.{8})(.{4})(.{4})(.{4})", r"\1-\2-\3-\4-", value[1:].hex())
        if kind != "confluent_guid" and len(value) <= 8:
            return kind, str(int.from_bytes(value, "big"))
    return None


def _ref_inside(topic: Topic, document: Any) -> tuple[str, str] | None:
    if topic.format == "connect":
        fields = _fields(document.get("schema"))
        if topic.payload == "debezium":
            fields = next((_fields(field) for field in fields or [] if field.get("field") == "after"), None)
        return None if fields is None else ("fingerprint", fingerprint(fields))
    given = document.get("schemaId") if isinstance(document, Object) else None
    if not isinstance(given, str | Number):
        return None
    kind = "content_id" if topic.format == "ext_json_content_id" else "global_id"
    return kind, given if isinstance(given, str) else given.text


def _fields(schema: Any) -> list[dict[str, Any]] | None:
    return schema.get("fields") if isinstance(schema, Object) else None


def _read(message: Message, topic: Topic, document: Any) -> Row:
    payload = document
    if topic.format in WRAPPED:
        payload = document.get("payload") if isinstance(document, Object) else None
    if not isinstance(payload, Object):
        raise Malformed
    if topic.payload == "flat":
        return Row("c", Number(str(message.timestamp)), None, payload, None)
    return _envelope(payload)


def _envelope(payload: Object) -> Row:
    op, ts_ms, before, after = (payload.get(name) for name in ("op", "ts_ms", "before", "after"))
    if op == "m":
        return Row("m", None, None, None, None)
    if not _is_time(ts_ms):
        raise Malformed
    rows_are_rows = isinstance(before, Object | None) and isinstance(after, Object | None)
    if op not in ("c", "r", "u", "d", "t") or not rows_are_rows or (op in ("c", "r", "u") and after is None):
        raise Malformed
    return Row(op, ts_ms, before, after, payload.get("source"))


def _is_time(value: Any) -> bool:
    is_whole = isinstance(value, Number) and re.fullmatch(r"-?\d{1,19}", value.text)
    return value is None or bool(is_whole and -(2**63) <= int(value.text) < 2**63)


def _marks_transaction(message: Message, *, is_known: bool) -> bool:
    """Whatever frame it has; of a topic that is known only if it is one of Debezium's without doubt."""
    if not message.topic.endswith(".transaction"):
        return False
    for skipped in (0, 5, 9):
        try:
            document = parse((message.value or b"")[skipped:].decode())
        except ValueError:
            continue
        said = document.get("payload", document) if isinstance(document, Object) else None
        if not isinstance(said, Object) or said.get("status") not in ("BEGIN", "END"):
            return False
        return not is_known or "data_collections" in said
    return False


def _is_sent(block: Block, row: Row) -> bool:
    return row.op in ("u", "d", "t") or bool(_values(block, row.after)) or bool(_unavailable(block, row))


def _values(block: Block, row: Object | None) -> dict[str, Any] | None:
    if row is None:
        return None
    found = {name: row.get(attribute) for name, attribute in block.mapping.items()}
    return {name: value for name, value in found.items() if value is not None and value not in UNAVAILABLE}


def _unavailable(block: Block, row: Row) -> list[str]:
    after: Mapping[str, Any] = row.after or {}
    return sorted(name for name, attribute in block.mapping.items() if after.get(attribute) in UNAVAILABLE)


def _value(block: Block, row: Row) -> dict[str, Any]:
    unavailable = _unavailable(block, row)
    return {
        "entity": block.entity,
        "version": Number(str(block.version)),
        "op": row.op,
        "ts_ms": row.ts_ms,
        "before": _values(block, row.before),
        "after": _values(block, row.after),
        "source": row.source,
    } | ({"unavailable": unavailable} if unavailable else {})


def _key(key: bytes | None, topic: Topic) -> Any:
    """JSON, if it is that; else the text or the bytes that it is."""
    if key is None:
        return None
    framed = topic.format in FRAME and key.startswith(b"\0")
    try:
        text = (key[1 + FRAME[topic.format] :] if framed else key).decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(key).decode()}
    try:
        found = parse(text)
    except NotJson:
        return text
    is_wrapper = topic.format in WRAPPED and isinstance(found, Object) and "payload" in found
    return found["payload"] if is_wrapper else found
