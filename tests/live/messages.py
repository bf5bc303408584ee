"""Messages as they come, and as they should never come: strategies that write JSON by hand, as no library would."""

import base64
import json
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

ATTRIBUTES = [
    "id",
    "total",
    "näme",
    'quo"te',
    "sp ace",
    "dot.ted",
    "back\\slash",
    "$",
    "a[0]",
    "tab\t",
    "日本😀",
    "payload",
    "null",
]
NUMBERS = [
    "0", "-0", "-0.0", "1.10", "1e5", "1.5E-7", "1E+2", "-12345678901234567890", "0.1", "1e-400", "1e400", "1e23",
    "123456789012345678901234567890.12345678", "9007199254740993", "1.7976931348623157e308", "4.9e-324", "1e0000000005",
    "99999999999999999999999999999999999999", "999999999999999999999999999999999999999", "1" + "0" * 60,
    "1e99999999999",
    "0." + "0" * 37 + "1", "0." + "0" * 38 + "1", "0." + "1" * 40, "3.14159265358979323846264338327950288",
    "9223372036854775808", "-1e-5", "0e0", "1.000000000000000000000000000000000000000000",
]  # fmt: skip
ALIKE = [
    "", "1", "1.10", "true", "null", '{"a":1}', "[]", "1e400", "NaN", " 1", "2024-01-01", '"', "\\", "\\u0041", "\0",
    "\u2028", "é", "e\u0301", "😀", "\ufeff", "a/b", "<&>'", "__debezium_unavailable", "op", "9" * 50,
]  # fmt: skip
UNAVAILABLE = "__debezium_unavailable_value"
GARBAGE = ["x", "{}", "1", ",", "]", "}", "\0", "//", "[", '"', ",{}", "null", "\u00a0", "\ufeff"]
NO_DOCUMENT = [
    "", " ", "null", "5", '"abc"', "[]", "[{}]", "{}", "{", "NaN", "{'a':1}", "{a:1}", '{"a":01}', '{"a":+1}',
    '{"a":.5}', '{"a":1.}', '{"a":NaN}', '{"a":Infinity}', '{"a":1,}', '{"a":tru}', '{"a":"\t"}', '{"a":"\\x"}',
    '{"a":"\\u12"}', "/**/{}", "\ufeff{}", '{"a" 1}', '{"a":1e}', "{}{}", "{} {}", "{},{}", "é", "avro\x02\x06",
]  # fmt: skip


T = TypeVar("T")


@dataclass(frozen=True)
class Draft:
    key: bytes | None
    value: bytes | None


def quoted(text: str, ascii_only: bool = False) -> str:
    return json.dumps(text, ensure_ascii=ascii_only)


def pairs(cells: list[tuple[str, str]], space: str = "") -> str:
    return "{" + f",{space}".join(f"{quoted(name)}:{space}{value}" for name, value in cells) + "}"


numbers = st.one_of(
    st.sampled_from(NUMBERS),
    st.integers(-(10**6), 10**25).map(str),
    st.decimals(-(10**12), 10**12, places=4).map(str),
    st.builds("{}.{}e{}".format, st.integers(-99, 99), st.integers(0, 10**17), st.integers(-330, 330)),
)
strings = st.one_of(
    st.sampled_from(ALIKE).map(quoted),
    st.builds(quoted, st.text(st.characters(exclude_categories=["Cs"]), max_size=12), st.booleans()),
)
unavailable = st.sampled_from(
    [
        quoted(UNAVAILABLE),
        quoted(base64.b64encode(UNAVAILABLE.encode()).decode()),
        f'["{UNAVAILABLE}"]',
        json.dumps(list(UNAVAILABLE.encode()), separators=(",", ":")),
        '["b68a35a7-17ad-35b3-af2a-ae46edb4545a"]',
    ]
)
scalars = st.one_of(st.just("null"), st.sampled_from(["true", "false"]), numbers, strings)
names = st.one_of(st.sampled_from(["a", "b", "payload", "op", "é", ""]), st.text("ab.$", max_size=3))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda found: f"[{','.join(found)}]"),
        # Lists of pairs: a name may come twice.
        st.lists(st.tuples(names, inner), max_size=3).map(pairs),
    ),
    max_leaves=6,
)
cells = st.tuples(
    st.one_of(st.sampled_from(ATTRIBUTES), st.sampled_from(ATTRIBUTES), st.sampled_from(["extra", "ID", "id "])),
    st.one_of(values, scalars, st.just("null"), unavailable),
)
rows = st.lists(cells, min_size=1, max_size=8).map(pairs)
no_rows = st.sampled_from(['"row"', "5", "[]", '["a"]', "true"])
sources = st.one_of(st.just("null"), st.just('{"name":"shop","lsn":12345}'), rows, values.filter(lambda v: v[0] == "{"))
times = st.integers(-(2**63), 2**63 - 1).map(str)


def rarely(usual: st.SearchStrategy[Any], odd: st.SearchStrategy[Any], one_in: int = 12) -> st.SearchStrategy[Any]:
    """Hypothesis likes small and round numbers, which are to be usual."""
    return st.integers(0, 2**16).flatmap(lambda number: odd if number * 40503 % 65537 % one_in == 1 else usual)


@st.composite
def envelopes(draw: st.DrawFn) -> str:
    op = draw(st.sampled_from("ccruuddrtm"))
    nothing = st.just("null")
    usual_after, usual_before = (nothing, rows) if op == "d" else (rows, st.one_of(nothing, rows))
    cells = {
        "op": draw(rarely(st.just(quoted(op)), st.sampled_from(['"x"', "null", "5", '"C"', '""', '{"op":"c"}']), 25)),
        "ts_ms": draw(rarely(times, st.sampled_from(["null", '"5"', "1.5", "1e3", str(2**63), "[]", "true"]), 25)),
        "before": draw(rarely(usual_before, st.one_of(no_rows, nothing), 25)),
        "after": draw(rarely(usual_after, st.one_of(no_rows, nothing, rows), 25)),
        "source": draw(sources),
        "transaction": draw(st.sampled_from(["null", '{"id":"1:2","total_order":1}', "1e400"])),
    }
    chosen = [(name, cells[name]) for name in draw(st.permutations(list(cells)))]
    if draw(rarely(st.just(False), st.just(True), 8)):
        chosen.pop(draw(st.integers(0, len(chosen) - 1)))
    if draw(rarely(st.just(False), st.just(True), 12)):
        chosen += [(draw(st.sampled_from(list(cells))), draw(st.one_of(rows, scalars)))]
    return pairs(chosen, draw(st.sampled_from(["", "", " ", "\n\t"])))


def wrapped(payloads: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """As ExtJsonConverter writes it; ids 11, 12 and 13 are known."""
    ids = rarely(
        st.sampled_from(["11", "11", "12", "12", '"12"', "13"]),
        st.sampled_from(["99", "null", "11.0", "[11]", '" 11"']),
    )
    return st.builds(lambda number, payload: pairs([("schemaId", number), ("payload", payload)]), ids, payloads)


@st.composite
def broken(draw: st.DrawFn, documents: st.SearchStrategy[str]) -> bytes:
    """What becomes of a document on a bad day."""
    whole = draw(documents).encode()
    cut = draw(st.integers(0, len(whole)))
    return draw(
        st.sampled_from(
            [
                whole[:cut],
                whole[:cut]
                + draw(st.sampled_from([b"\xff", b"\xed\xa0\x80", b"\0", b"\\", b'"', b"\xc3"]))
                + whole[cut:],
                whole + draw(st.sampled_from(GARBAGE)).encode(),
                draw(st.sampled_from(GARBAGE)).encode() + whole,
                whole + b"\n" + whole,
                draw(st.sampled_from(NO_DOCUMENT)).encode(),
                b" \t\r\n" + whole + b" \n",
            ]
        )
    )


def keys(is_wrapped: bool) -> st.SearchStrategy[bytes | None]:
    documents = st.one_of(rows, scalars, st.just('{"id":1}'))
    if is_wrapped:
        inside = st.builds(lambda payload: pairs([("schemaId", "1"), ("payload", payload)]), documents)
        documents = st.one_of(inside, inside, documents)
    texts = documents.map(str.encode)
    odd = st.one_of(
        st.none(), st.binary(max_size=120), st.sampled_from([b"", b"abc", b"null", b"{", b"1 2"]), broken(documents)
    )
    return rarely(texts, odd, 5)


def drafts(payload: str, is_wrapped: bool) -> st.SearchStrategy[Draft]:
    documents = rows if payload == "flat" else envelopes()
    documents = wrapped(documents) if is_wrapped else documents
    usual = documents.map(str.encode)
    return st.builds(Draft, keys(is_wrapped), rarely(usual, st.one_of(st.none(), broken(documents)), 8))


def drawn(strategy: st.SearchStrategy[T], count: int) -> list[T]:
    """The same ones every time."""
    found: list[T] = []

    @seed(20260131)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def draw(example: T) -> None:
        found.append(example)

    draw()
    return found
