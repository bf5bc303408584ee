"""The root cause of a Java stack trace, as a sentence."""

import re

CAUSE = re.compile(r"^(?:Caused by: )?(?P<kind>[\w.$]+(?:Exception|Error|Throwable))(?:: (?P<text>.*))?$")
#: Messages of exceptions that only wrap another one.
WRAPPERS = ("Tolerance exceeded in error handler", "An exception occurred in the change event producer")
MAX_LENGTH = 300


def first_cause(trace: str) -> str:
    """The innermost cause that has a message; a trace begins with the outermost."""
    causes = [match for line in trace.splitlines() if (match := CAUSE.match(line.strip()))]
    if causes and causes[-1]["kind"].endswith("NullPointerException"):
        # Its message helps only the authors of Debezium.
        return "a NullPointerException in Debezium; the log of Kafka Connect (`metl stack logs connect`) says why"
    for cause in reversed(causes):
        text = (cause["text"] or "").strip()
        if text and not text.startswith(WRAPPERS) and not CAUSE.match(text):
            return _sentence(text)
    if causes:
        return _class_in_words(causes[-1]["kind"])
    return _sentence(trace.strip().partition("\n")[0] or "it does not say why")


def _sentence(text: str) -> str:
    text = " ".join(text.split()).removeprefix("ERROR: ").removeprefix("FATAL: ")
    return text[:MAX_LENGTH].rstrip(".")


def _class_in_words(kind: str) -> str:
    """java.net.ConnectException as: connect exception."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.rpartition(".")[2]).lower()
