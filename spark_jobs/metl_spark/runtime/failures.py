"""Errors of Spark, and of what it talks to, as sentences."""

import contextlib
from collections.abc import Iterator

from py4j.java_gateway import JavaObject  # type: ignore[import-untyped]
from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from metl.errors import MetlError

#: Marks, before and after, the sentence that counts in a long error of Spark's.
CAUSE = "METL-CAUSE "
#: The same for what a retry does not mend: the job halts.
HALT = "METL-HALT "


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Errors of Spark, and of what it talks to, become errors of METL's; only bugs are tracebacks."""
    try:
        yield
    except Py4JJavaError as error:
        raise MetlError(_sentence(messages(error.java_exception))) from None
    except PySparkException as error:
        raise MetlError(_sentence(str(error))) from None
    except (Py4JError, ConnectionError):
        raise MetlError("Spark's JVM ended, killed or out of memory.") from None


def _sentence(text: str) -> str:
    return f"{first_line(text).rstrip('.')}."


def messages(error: JavaObject | None) -> str:
    """Of an error and its causes, the innermost first."""
    messages: list[str] = []
    kinds: list[str] = []
    while error is not None and len(messages) < 20:
        messages.insert(0, str(error.getMessage()))
        kinds.append(error.getClass().getSimpleName())
        error = error.getCause()
    # Some have no message. One word, so that first_line passes over it.
    return "\n".join([*messages, ",".join(kinds)])


def first_line(text: str) -> str:
    """The first one that explains something: "Connection refused" does not name the server."""
    text = marked(text, CAUSE) or text
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if len(line.split()) > 3), next(iter(lines), "no reason was given"))[:300]


def marked(text: str, mark: str) -> str | None:
    """What stands between two of these marks."""
    parts = text.split(mark)
    return parts[1] if len(parts) > 1 else None
