"""The first cause of a failure, out of a Java stack trace, as a sentence."""

import re

CAUSE = re.compile(r"^(?:Caused by: )?(?P<kind>[\w.$]+(?:Exception|Error|Throwable))(?:: (?P<text>.*))?$")
#: What those say who pass a failure on.
WRAPPERS = ("Tolerance exceeded in error handler", "An exception occurred in the change event producer")
LONGEST = 300


def first_cause(trace: str) -> str:
    """The innermost cause that says something; a trace goes from the outermost to it."""
    causes = [found for line in trace.splitlines() if (found := CAUSE.match(line.strip()))]
    if causes and causes[-1]["kind"].endswith("NullPointerException"):
        # Its words are for the authors of Debezium.
        return "a NullPointerException in Debezium; the log of Kafka Connect (`metl logs connect`) says what led to it"
    for found in reversed(causes):
        text = (found["text"] or "").strip()
        if text and not text.startswith(WRAPPERS) and not CAUSE.match(text):
            return _sentence(text)
    if causes:
        return _words(causes[-1]["kind"])
    return _sentence(trace.strip().partition("\n")[0] or "it does not say why")


def _sentence(text: str) -> str:
    text = " ".join(text.split()).removeprefix("ERROR: ").removeprefix("FATAL: ")
    return text[:LONGEST].rstrip(".")


def _words(kind: str) -> str:
    """java.net.ConnectException as: connect exception."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.rpartition(".")[2]).lower()
