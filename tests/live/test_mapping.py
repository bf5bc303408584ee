"""Thousands of messages, good and bad, through Kafka and the real job: each becomes what the oracle says.

METL_MESSAGES=5000 draws that many for each topic instead of the few that every run of the tests can afford.
"""

import os

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.live.edges import EDGES, WAYS, Edge
from tests.live.job import Results, lay_out, produce, recorded, results, run
from tests.live.messages import ATTRIBUTES, drafts, drawn
from tests.live.oracle import Block, ColumnSet, Message, Oracle, Topic
from tests.live.running import Place

# The first test pays for Spark, dbt and the run.
pytestmark = pytest.mark.timeout(600)

COUNT = int(os.environ.get("METL_MESSAGES", "500"))
LATE = 150

# Names that need escapes, and one that a second version maps otherwise.
ORDER = Block("order", 3, {f'c "{attribute}":': attribute for attribute in ATTRIBUTES})
CUSTOMER = Block("customer", 1, {"number": "id"})
SHORTER = Block("order", 3, {'c "id":': "total", 'c "total":': "id"})
STRANGE = Block("straße", 1, {"number": "id"})
COLUMN_SETS = [
    ColumnSet("orders", 1, [ORDER, CUSTOMER], {"global_id": ["11"]}),
    ColumnSet("orders", 2, [SHORTER], {"global_id": ["12"]}),
    ColumnSet("orders", 3, [], {"global_id": ["13"]}),
    ColumnSet("strange", 1, [STRANGE, CUSTOMER], {"global_id": ["21"]}),
    ColumnSet("strange", 2, [CUSTOMER], {"global_id": ["22"]}),
    ColumnSet("idle", 1, [], {"global_id": ["31"]}),
]
RULES = {
    "wrapped-envelope": Topic("orders"),
    "wrapped-row": Topic("orders", payload="flat"),
    "bare-envelope": Topic("orders", "plain", version=1),
    "bare-row": Topic("orders", "plain", "flat", version=2),
    "late": Topic("orders"),
    "large": Topic("orders"),
    "strange": Topic("strange"),
    "idle": Topic("idle"),
    "known.transaction": Topic("orders", "plain", "flat", version=2),
}


@pytest.fixture(scope="module")
def oracle(place: Place) -> Oracle:
    for about in ("transaction", "unknown"):
        place.topic(about, 1)
    return lay_out(place, COLUMN_SETS, RULES)


def drawn_messages(place: Place) -> list[Message]:
    return [
        Message(f"{place.name}.{about}", draft.key, draft.value)
        for about, payload, is_wrapped in WAYS
        for draft in drawn(drafts(payload, is_wrapped), COUNT)
    ]


@pytest.fixture(scope="module")
def job(place: Place, oracle: Oracle, session: SparkSession) -> tuple[Results, StreamingQuery]:
    """One run on everything."""
    drafted = [*(edge.message(place.name) for edge in EDGES), *drawn_messages(place)]
    written = produce(place.kafka, drafted)
    query = run(session, place, rf"{place.name}\.(?!late$|large$).*|__debezium-heartbeat\.{place.name}")
    return results(place, written, oracle), query


@pytest.fixture(scope="module")
def done(job: tuple[Results, StreamingQuery]) -> Results:
    return job[0]


def show(complaints: list[str]) -> str:
    return f"{len(complaints)} wrong, such as\n" + "\n".join(complaints[:5])


@pytest.mark.parametrize("way", [way for way, _, _ in WAYS])
def test_every_message_becomes_what_the_oracle_says(done: Results, place: Place, way: str) -> None:
    edges = {edge.message(place.name) for edge in EDGES}
    drawn_ones = [
        message
        for message in done.messages.values()
        if message.topic == f"{place.name}.{way}"
        and Message(message.topic, message.key, message.value, message.headers) not in edges
    ]
    complaints = done.complaints(drawn_ones)
    assert len(drawn_ones) > COUNT // 2
    assert not complaints, show(complaints)


@pytest.mark.parametrize("edge", EDGES, ids=lambda edge: edge.name)
def test_an_edge(done: Results, place: Place, edge: Edge) -> None:
    wanted = edge.message(place.name)
    found = [
        message
        for message in done.messages.values()
        if (message.topic, message.key, message.value) == (wanted.topic, wanted.key, wanted.value)
    ]
    complaints = done.complaints(found)
    assert found
    assert not complaints, show(complaints)


def test_the_job_counts_what_it_does(done: Results, place: Place) -> None:
    assert recorded(place, "available-now") == +done.counts()


def test_the_messages_come_to_every_kind_of_end(done: Results) -> None:
    counts = done.counts()
    for kind in ("rows_out", "rows_filtered", "malformed", "unknown_version"):
        assert counts[kind] > COUNT // 50, kind


def test_the_matrix_is_read_once_for_a_batch(job: tuple[Results, StreamingQuery]) -> None:
    plan = job[1]._jsq.explainInternal(False).partition("== Initial Plan ==")[0]
    assert plan.count("Scan JDBC") == 1, plan
    assert plan.count("ReusedExchange") == 1, plan


def test_real_time_gives_the_same(place: Place, oracle: Oracle, session: SparkSession) -> None:
    drafted = [Message(f"{place.name}.late", draft.key, draft.value) for draft in drawn(drafts("debezium", True), LATE)]
    written = produce(place.kafka, drafted)
    run(session, place, rf"{place.name}\.late", trigger="real-time", until=len(written))
    found = results(place, written, oracle)
    complaints = found.complaints(written)
    assert not complaints, show(complaints)
    assert recorded(place, "real-time") == +found.counts()


def test_a_message_as_large_as_kafka_takes_does_not_stop_the_job(
    place: Place, oracle: Oracle, session: SparkSession
) -> None:
    """A dead letter has more headers than the message had."""
    written = produce(place.kafka, [Message(f"{place.name}.large", None, b"x" * 1_048_400)])
    run(session, place, rf"{place.name}\.large", job="large")
    assert not results(place, written, oracle).complaints(written)
    assert recorded(place, "large") == {"rows_in": 1, "malformed": 1}
