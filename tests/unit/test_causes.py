"""The root cause of a failed task, as a sentence."""

import pytest

from metl.capture.causes import first_cause

WRAPPED = """\
org.apache.kafka.connect.errors.ConnectException: An exception occurred in the change event producer.
	at io.debezium.pipeline.ErrorHandler.setProducerThrowable(ErrorHandler.java:67)
Caused by: io.debezium.DebeziumException: Publication autocreation is disabled, please create one.
	... 5 more
"""
WITHOUT_MESSAGE = """\
org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler
	at org.apache.kafka.connect.runtime.errors.RetryWithToleranceOperator.execAndHandleError
Caused by: java.lang.RuntimeException: java.net.ConnectException
Caused by: java.net.ConnectException
"""
BUG = """\
org.apache.kafka.connect.errors.ConnectException: An exception occurred in the change event producer.
Caused by: java.lang.NullPointerException: Cannot invoke "DataCollection.getId()" because it is null
"""


@pytest.mark.parametrize(
    ("trace", "sentence"),
    [
        (WRAPPED, "Publication autocreation is disabled, please create one"),
        (WITHOUT_MESSAGE, "connect exception"),
        (
            BUG,
            "a NullPointerException in Debezium; the log of Kafka Connect (`metl stack logs connect`) says why",
        ),
        ("org.postgresql.util.PSQLException: FATAL: password authentication failed", "password authentication failed"),
        ("", "it does not say why"),
    ],
)
def test_the_root_cause_is_a_sentence(trace: str, sentence: str) -> None:
    assert first_cause(trace) == sentence
