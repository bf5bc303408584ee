"""The functions of metl_spark/functions/ take what is JSON, nothing else, and give it back byte for byte."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from metl_spark.functions.jar import FUNCTIONS_JAR
from tests.live.exact_json import NotJson, Object, parse
from tests.live.messages import ATTRIBUTES, GARBAGE, NO_DOCUMENT, broken, drawn, pairs, rows, values

# The first test pays for Spark.
pytestmark = pytest.mark.timeout(300)

SPACE = " \t\r\n"
COUNT = 1_500
# The shortest, the first and the last of each length; then what is longer than need be, cut short, half or too large.
CHARACTERS = "c280 e0a080 ed9fbf ee8080 f0908080 f48fbfbf"
NO_CHARACTERS = "80 c1bf e09fbf eda080 f08fbfbf f4908080 f5808080 c3 e282 f09f98 e228a1 ff"
EDGES = [
    *(text.encode() for text in [*NO_DOCUMENT, *GARBAGE]),
    *(b"0", b"-", b"-0", b"00", b"1.e1", b'"\\', b'"\\u123', b"[1 2]", b"[,]"),
    *(b'"%b"' % bytes.fromhex(digits) for digits in f"{CHARACTERS} {NO_CHARACTERS}".split()),
    b"[" * 1_000 + b"]" * 1_000,
    b"[" * 1_002 + b"]" * 1_002,
    b"[" * 1_000_000,
    b'{"a":' * 100_000,
]


@pytest.fixture(scope="module")
def documents() -> list[bytes]:
    whole = st.one_of(values, rows)
    return [*EDGES, *drawn(broken(whole), COUNT), *(text.encode() for text in drawn(whole, COUNT))]


def table(session: SparkSession, documents: list[bytes]) -> DataFrame:
    return session.createDataFrame([(each,) for each in documents], "document binary")


def read(document: bytes) -> Any:
    """NotJson if it is not that."""
    try:
        return parse(document.decode())
    except (NotJson, UnicodeDecodeError):
        return NotJson


def test_a_document_is_taken_whole_or_not_at_all(session: SparkSession, documents: list[bytes]) -> None:
    found = table(session, documents).select("document", f.expr("json_value(document) as value")).collect()
    taken = [row for row in found if row.value is not None]
    assert len(found) / 4 < len(taken) < len(found)
    for row in found:
        is_json = read(bytes(row.document)) is not NotJson
        expected = bytes(row.document).strip(SPACE.encode()) if is_json else None
        assert (row.value and bytes(row.value)) == expected, row.document[:300]


def test_members_are_picked_as_they_are_written(session: SparkSession, documents: list[bytes]) -> None:
    names = ["id", "payload", "näme", "nowhere"]
    picked = f.expr(f"json_pick(document, '{' '.join(names)}') as picked")
    objects = 0
    for row in table(session, documents).select("document", picked).collect():
        document = read(bytes(row.document))
        if not isinstance(document, Object):
            assert row.picked is None, row.document[:300]
            continue
        objects += 1
        for name, value in zip(names, row.picked, strict=True):
            assert (value is not None) == (name in document), row.document
            assert value is None or bytes(value) in bytes(row.document)
            assert value is None or read(bytes(value)) == document[name], row.document
    assert objects > COUNT / 2


def test_text_is_what_a_string_says(session: SparkSession) -> None:
    texts = drawn(st.text(st.characters(exclude_categories=["Cs"])), 300)
    spelled = [json.dumps(text, ensure_ascii=escaped).encode() for text in texts for escaped in (True, False)]
    spelled += [rb'"\/\b\f\n\r\t\"\\"', b"null", b"1.10", b'{"a": 1}']
    found = table(session, spelled).select(f.expr("json_text(document) as text")).collect()
    expected = [text for text in texts for _ in range(2)] + ['/\b\f\n\r\t"\\', None, "1.10", '{"a": 1}']
    assert [row.text for row in found] == expected


def test_a_row_is_mapped_by_names_however_they_are_spelled(session: SparkSession) -> None:
    mapping = {f"to {name}": name for name in ATTRIBUTES}
    spellings = [json.dumps(mapping, ensure_ascii=escaped) for escaped in (True, False)]
    drawn_rows = [text.encode() for text in drawn(rows, 400)]
    row = pairs([(name, str(number)) for number, name in enumerate(ATTRIBUTES)])
    escaped = json.dumps({name: number for number, name in enumerate(ATTRIBUTES)})
    given = [*drawn_rows, row.encode(), escaped.encode()]
    found = [
        table(session, given)
        .withColumn("mapping", f.lit(spelling).cast("binary"))
        .select(f.expr("map_row(document, mapping) as mapped"))
        .collect()
        for spelling in spellings
    ]
    for first, second in zip(*found, strict=True):
        assert [read(bytes(each)) for each in first.mapped if each] == [
            read(bytes(each)) for each in second.mapped if each
        ]
    for last in (found[0][-2], found[0][-1]):
        assert {name: int(number.text) for name, number in read(bytes(last.mapped[0])).items()} == {
            f"to {name}": number for number, name in enumerate(ATTRIBUTES)
        }


def test_the_compiler_has_nothing_to_say(tmp_path: Path) -> None:
    FUNCTIONS_JAR.compile_into(tmp_path / "functions.jar", "-deprecation", "-Xlint", "-Werror")
    assert (tmp_path / "functions.jar").exists()


def test_nothing_comes_of_nothing(session: SparkSession) -> None:
    nothing = "cast(null as binary)"
    [row] = session.sql(
        f"select json_value({nothing}), json_text({nothing}), json_pick({nothing}, 'a'), "
        f"map_row({nothing}, cast('{{}}' as binary)), map_row(cast('null' as binary), cast('{{}}' as binary))"
    ).collect()
    assert list(row) == [None] * 5
