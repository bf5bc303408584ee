"""Single messages at the edges of what can be mapped, each by name."""

from dataclasses import dataclass

from tests.live.messages import UNAVAILABLE
from tests.live.oracle import Message

# Where a message is, what it holds, whether it names its version: the four ways in which the mapper reads messages.
WAYS = [
    ("wrapped-envelope", "debezium", True),
    ("wrapped-row", "flat", True),
    ("bare-envelope", "debezium", False),
    ("bare-row", "flat", False),
]
MEGABYTE = 1_000_000
HALF = r"\ud83d"
HEARTBEAT = "__debezium-heartbeat"


@dataclass(frozen=True)
class Edge:
    name: str
    value: str | bytes | None
    about: str = "bare-envelope"
    key: str | bytes | None = '{"id":1}'
    headers: tuple[tuple[str, bytes | None], ...] = ()

    def message(self, place: str) -> Message:
        topic = f"{self.about}.{place}" if self.about == HEARTBEAT else f"{place}.{self.about}"
        return Message(topic, _bytes(self.key), _bytes(self.value), self.headers)


def _bytes(text: str | bytes | None) -> bytes | None:
    return text.encode() if isinstance(text, str) else text


def envelope(after: str = '{"id":1}', *, op: str = "c", before: str = "null", source: str = "null") -> str:
    return f'{{"before":{before},"after":{after},"source":{source},"op":"{op}","ts_ms":1,"transaction":null}}'


def wrapped(schema_id: object, payload: str) -> str:
    return f'{{"schemaId":{schema_id},"payload":{payload}}}'


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


EDGES = [
    # Size
    Edge("a string of a megabyte", envelope(f'{{"id":"{"x" * MEGABYTE}"}}')),
    Edge("a megabyte of escapes beside a double", envelope('{"id":1e5,"total":"' + r"\"é" * 200_000 + '"}')),
    Edge("a megabyte that is not read", envelope(f'{{"id":1,"extra":"{"x" * MEGABYTE}"}}')),
    Edge("a megabyte and no JSON", b"x" * MEGABYTE),
    Edge("a deep value", envelope(f'{{"id":{nested(700)}}}')),
    Edge("a deep value that is not mapped", envelope(f'{{"id":1,"extra":{nested(700)}}}')),
    Edge("a value too deep", envelope(f'{{"id":{nested(5_000)}}}')),
    Edge("a document too deep", nested(100_000)),
    Edge("a name too long", envelope(f'{{"{"n" * 60_000}":1,"id":1}}')),
    Edge("a thousand attributes", envelope("{" + ",".join(f'"a{n}":{n}' for n in range(1_000)) + ',"id":1}')),
    # Numbers
    Edge("a number of 1,200 digits", envelope(f'{{"id":{"7" * 1_200}}}')),
    Edge("a number of 1,200 digits that is not mapped", envelope(f'{{"id":1,"extra":{"7" * 1_200}}}')),
    Edge("a text of 1,200 digits", envelope(f'{{"id":"{"7" * 1_200}"}}')),
    Edge("an exponent of 1,200 digits", envelope(f'{{"id":1e{"7" * 1_200}}}')),
    Edge("a number of 500 digits", envelope(f'{{"id":{"7" * 500}}}')),
    Edge("1e400", envelope('{"id":1e400}')),
    Edge("1e-400", envelope('{"id":1e-400}')),
    Edge("0e400 is 0", envelope('{"id":0e400}')),
    Edge("1e400 deep inside", envelope('{"id":[{"a":[1,{"b":1e400}]}]}')),
    Edge("1e400 in before", envelope(op="u", before='{"id":1e400}')),
    Edge("1e400 replaced by another", envelope('{"id":1e400,"id":1}')),
    Edge("1e400 that is not mapped", envelope('{"id":1,"extra":1e400}')),
    Edge("1e400 beside a mapped double", envelope('{"id":1e5,"extra":1e400}')),
    Edge("1e400 in a text beside a mapped double", envelope('{"id":1e5,"total":"1e400 \\" 1e400"}')),
    Edge("0.1e1 and its like", envelope('{"id":[0.1e1,10e-1,1E0,-1e-0,123456789e-4,1e22,1.7976931348623157e308]}')),
    Edge("1e23", envelope('{"id":1e23}')),
    Edge("17 digits and an exponent", envelope('{"id":1.2345678901234567e5}')),
    Edge("18 digits and an exponent", envelope('{"id":1.23456789012345678e5}')),
    Edge("38 digits", envelope(f'{{"id":-{"9" * 38},"total":0.{"9" * 38},"null":{"9" * 19}.{"9" * 19}}}')),
    Edge("a double among other things", envelope('{"id":["a",1e5]}')),
    Edge("1e400 among other things", envelope('{"id":["a",1e400]}')),
    Edge("39 digits", envelope(f'{{"id":{"9" * 39}}}')),
    Edge("39 digits that a double holds", envelope(f'{{"id":[1{"0" * 38},1{"0" * 100},0.{"0" * 60}1]}}')),
    Edge("39 decimals", envelope(f'{{"id":0.{"0" * 38}7}}')),
    Edge("zeros behind the point", envelope(f'{{"id":[1.{"0" * 60},0.{"0" * 60},-0.0]}}')),
    # Text
    Edge("half a character", envelope(f'{{"id":"{HALF}"}}')),
    Edge("half a character that is not mapped", envelope(f'{{"id":1,"extra":"{HALF}"}}')),
    Edge("half a character as a name", envelope(f'{{"id":1,"{HALF}":1}}')),
    Edge("half a character in source", envelope(source=f'{{"a":"{HALF}"}}')),
    Edge("two halves the wrong way round", envelope(r'{"id":"\ude00\ud83d"}')),
    Edge("a whole character in escapes", envelope(r'{"id":"\ud83d\ude00\u0000\u001f\/\b"}')),
    Edge("a name in escapes", envelope(r'{"\u0069d":1}')),
    Edge("an operation in escapes", envelope().replace('"op":"c"', r'"op":"\u0063"')),
    Edge("half a character in bytes", envelope('{"id":"?"}').encode().replace(b"?", b"\xed\xa0\xbd")),
    Edge("not UTF-8", envelope('{"id":"?"}').encode().replace(b"?", b"\xff")),
    Edge("overlong UTF-8", envelope('{"id":"?"}').encode().replace(b"?", b"\xc0\xaf")),
    Edge("a byte order mark", "\ufeff" + envelope()),
    Edge("UTF-16", envelope().encode("utf-16")),
    # Behind the document
    Edge("what looks like the end of an envelope", envelope() + ',{"op":"."}]'),
    Edge("what looks like the end of a wrapper", wrapped(11, envelope()) + ',{"schemaId":"."}]', "wrapped-envelope"),
    Edge("what looks like the end of a row", '{"id":1},{"op":"."}]', "bare-row"),
    Edge("what looks like the end, and no JSON", envelope() + ',{"op":"."}] and more'),
    Edge("a logical message and another", envelope(op="m") + "," + envelope()),
    Edge("two envelopes", envelope() + envelope()),
    Edge("two lines", envelope() + "\n" + envelope()),
    Edge("spaces around", f" \r\n\t{envelope()}\n\n"),
    # What it says of itself
    Edge("source is text", envelope(source='"abc"')),
    Edge("source is empty text", envelope(source='""')),
    Edge("source is a number", envelope(source="1.10")),
    Edge("source is a list", envelope(source="[1, 2]")),
    Edge("source has spaces and escapes", envelope(source=r'{ "a" : "\u00e9 \" \n", "b" : [ 1.50 , null ] }')),
    Edge("source is 1e400", envelope(source='{"a":1e400}')),
    Edge("source has 1e400 and the row 1e5", envelope('{"id":1e5}', source='{"a":1e400}')),
    Edge("source has many digits", envelope(source='{"a":0.12345678901234567890123}')),
    Edge(
        "source has many digits, and the row what is left of them",
        envelope('{"id":{"a":0.12345678901234568}}', source='{"a":0.12345678901234567890123}'),
    ),
    Edge(
        "source beside a payload that has another",
        envelope(source='{"a":1.10}')[:-1] + ',"payload":{"source":{"a":"wrong"}}}',
    ),
    Edge("ts_ms twice, first as text", envelope().replace('"ts_ms"', '"ts_ms":"x","ts_ms"')),
    Edge("op twice", envelope().replace('"op"', '"op":"d","op"')),
    Edge("after twice", envelope().replace('"after"', '"after":"x","after"')),
    Edge("no ts_ms", '{"op":"c","after":{"id":1}}'),
    Edge("only an operation", '{"op":"d"}'),
    Edge("a wrapper without a payload", '{"schemaId":11}', "wrapped-envelope"),
    Edge("a wrapper with null", wrapped(11, "null"), "wrapped-envelope"),
    Edge("a wrapper with text", wrapped(11, '"x"'), "wrapped-row"),
    Edge("a wrapper without an id", '{"payload":{"id":1}}', "wrapped-row"),
    Edge("an envelope without a wrapper", envelope(), "wrapped-envelope"),
    Edge("schemaId twice", '{"schemaId":99,"schemaId":11,"payload":{"id":1}}', "wrapped-row"),
    # Which rows are sent
    Edge("a create of nothing", envelope('{"id":null,"extra":1}')),
    Edge("a create of an empty row", envelope("{}")),
    Edge("a create for one entity of two", envelope('{"total":1}')),
    Edge("an update of nothing", envelope("{}", op="u", before="{}")),
    Edge("a delete of nothing", envelope("null", op="d", before='{"extra":1}')),
    Edge("a delete with a row", envelope('{"id":1}', op="d", before='{"id":2}')),
    Edge("a create without a row", envelope("null")),
    Edge("empty values", envelope('{"id":"","total":[],"payload":{},"null":false}')),
    Edge("a row of nothing but nulls and an unavailable value", envelope(f'{{"id":"{UNAVAILABLE}"}}')),
    Edge("an unavailable value before", envelope(op="u", before=f'{{"id":"{UNAVAILABLE}","total":1}}')),
    Edge("an unavailable value in escapes", envelope(rf'{{"total":1,"id":"\u005f{UNAVAILABLE[1:]}"}}', op="u")),
    Edge(
        "unavailable bytes in escapes",
        envelope(r'{"total":1,"id":"X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ\u003d\u003d"}', op="u"),
    ),
    Edge("an unavailable list with spaces", envelope(f'{{"total":1,"id":[ "{UNAVAILABLE}" ]}}', op="u")),
    Edge("nearly an unavailable value", envelope(f'{{"id":"{UNAVAILABLE} ","total":["{UNAVAILABLE}",1]}}')),
    # Where to
    Edge("a version that maps nothing", wrapped(13, envelope(op="u")), "wrapped-envelope"),
    Edge(
        "a version that maps nothing, and 1e400",
        wrapped(13, envelope('{"id":1e400}', source='{"a":1e400}')),
        "wrapped-envelope",
    ),
    Edge("a version that nobody knows", wrapped(99, envelope()), "wrapped-envelope"),
    Edge("a truncate", wrapped(12, envelope("null", op="t")), "wrapped-envelope"),
    Edge("a truncate of a version that nobody knows", wrapped(99, envelope("null", op="t")), "wrapped-envelope"),
    Edge("a tombstone", None, "wrapped-envelope"),
    Edge("a tombstone without a key", None, key=None),
    Edge("a tombstone of rows", None, "bare-row"),
    Edge("an empty message", b"", "bare-row"),
    Edge("a truncate that feeds nothing", wrapped(31, envelope("null", op="t")), "idle"),
    Edge("a tombstone that feeds nothing", None, "idle"),
    Edge("an entity that makes no topic", wrapped(21, envelope()), "strange"),
    Edge("a version without that entity", wrapped(22, envelope()), "strange"),
    Edge("a tombstone for an entity that makes no topic", None, "strange"),
    Edge("a truncate of an entity that makes no topic", wrapped(22, envelope("null", op="t")), "strange"),
    Edge("a heartbeat", '{"ts_ms":1}', HEARTBEAT),
    Edge("a heartbeat that is no JSON", b"\xff", HEARTBEAT),
    Edge("a transaction", '{"status":"BEGIN","id":"1:2"}', "transaction"),
    Edge("a transaction in a wrapper", wrapped(1, '{"status":"END","id":"1:2"}'), "transaction"),
    Edge("a transaction in a frame", b"\0\0\0\0\x07" + b'{"status":"BEGIN","id":"1:2"}', "transaction"),
    Edge("a transaction in a long frame", b"\0" + bytes(8) + b'{"status":"END","id":"1:2"}', "transaction"),
    Edge("no transaction", '{"status":"OPEN"}', "transaction"),
    Edge("a transaction of a known topic", '{"status":"END","id":"1:2","data_collections":null}', "known.transaction"),
    Edge("an event of a topic of that name", '{"status":"END","id":"1:2"}', "known.transaction"),
    Edge("a signal to a connector", '{"id":"1","type":"execute-snapshot","data":{}}', "signals"),
    Edge("no signal", '{"id":"1","type":"red","data":{}}', "signals"),
    Edge("an unknown topic", envelope(), "unknown"),
    Edge("a tombstone of an unknown topic", None, "unknown"),
    Edge("a logical message", envelope("null", op="m")),
    Edge("a logical message of a version that nobody knows", wrapped(99, envelope("null", op="m")), "wrapped-envelope"),
    Edge(
        "a key that changes: the delete", envelope("null", op="d", before='{"id":1}'),
        headers=(("__debezium.newkey", b'{"id":2}'),),
    ),
    Edge("a key that changes: the create", envelope('{"id":2}'), headers=(("__debezium.oldkey", b'{"id":1}'),)),
    Edge("headers of its own", b"x", headers=(("a", b"\xff"), ("a", b"2"), ("", b""), ("null", None))),
    # Keys
    *(
        Edge(f"key {name}", envelope(), key=key)
        for name, key in {
            "null": None,
            "of nothing": "",
            "JSON null": "null",
            "text": "abc",
            "JSON text": '"abc"',
            "number": "17",
            "number of 30 digits": '{"id":123456789012345678901234567890}',
            "double": '{"id":1e5}',
            "double among other things": '["a",1e400]',
            "double replaced": '{"id":1e5,"id":5}',
            "number of 1,200 digits": "7" * 1_200,
            "bytes": bytes(range(256)),
            "half a character": f'{{"id":"{HALF}"}}',
            "not one document": '{"id":1}{"id":2}',
            "what looks like the first of two": "1,2]",
            "what looks like the only one": "1],[2",
            "names twice": '{"id":1,"id":2}',
            "in another order": '{"b":[1, {"d":1,"c":2}],"a":"é"}',
            "deep": nested(700),
            "too deep": nested(5_000),
            "with a payload, where there is no wrapper": wrapped(1, '{"id":1}'),
        }.items()
    ),
    *(
        Edge(f"wrapped key {name}", wrapped(11, envelope()), "wrapped-envelope", key=key)
        for name, key in {
            "of a row": wrapped(1, '{"id":1}'),
            "of null": wrapped(1, "null"),
            "of a double": wrapped(1, '{"id":1e5}'),
            "with a double beside the row": '{"schemaId":1e5,"payload":{"id":1}}',
            "without a payload": '{"schemaId":1}',
            "without a wrapper": '{"id":1}',
            "with a schema": '{"schema":{"type":"int32"},"payload":5}',
        }.items()
    ),
]  # fmt: skip
