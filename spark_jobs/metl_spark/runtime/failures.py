"""What Spark says when something fails, as a sentence."""

import contextlib
from collections.abc import Iterator

from py4j.java_gateway import JavaObject  # type: ignore[import-untyped]
from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from metl.errors import MetlError

#: Around the one that matters in what Spark makes of a failure.
SAID = "METL-SAID "


@contextlib.contextmanager
def in_a_sentence() -> Iterator[None]:
    """Whatever Spark, or what it talks to, fails with in here becomes an error of METL's; only bugs are tracebacks."""
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


def messages(cause: JavaObject | None) -> str:
    """Of a failure and of what made it fail, the innermost first."""
    messages: list[str] = []
    kinds: list[str] = []
    while cause is not None and len(messages) < 20:
        messages.insert(0, str(cause.getMessage()))
        kinds.append(cause.getClass().getSimpleName())
        cause = cause.getCause()
    # Some say nothing but by their names. One word, which is not taken for a sentence.
    return "\n".join([*messages, ",".join(kinds)])


def first_line(text: str) -> str:
    """That says something: "Connection refused" does not say whose."""
    text = text.split(SAID)[1] if SAID in text else text
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if len(line.split()) > 3), next(iter(lines), "no reason was given"))[:300]
