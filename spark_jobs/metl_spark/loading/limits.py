"""Where a load begins and ends, from options to the offsets of each partition."""

import functools
import json
from datetime import UTC, datetime

import psycopg
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from metl.errors import BadInput
from metl.streams.checkpoint import Offsets
from metl.streams.offsets import OffsetReader, parse_offsets, require_retained, resolve
from metl.util.nearest import nearest
from metl.util.timestamps import parse_timestamp
from metl_spark.loading.settings import LoadSettings
from metl_spark.runtime.limits import Limits


def require_readable(begin: str | None, end: str | None) -> None:
    """Fails before anything is started: on options that cannot be read, or with nothing between them."""
    times = {option: _readable(option, value) for option, value in (("--from", begin), ("--until", end))}
    first, last = times.values()
    if begin is not None and first and first > datetime.now(UTC):
        raise BadInput(f"--from {begin} is in the future: nothing of then can be there.")
    if (first and last and first > last) or (begin, end) == ("latest", "earliest"):
        raise BadInput(f"--from {begin} is later than --until {end}: nothing is between them. Exchange them.")


def _readable(option: str, value: str | None) -> datetime | None:
    if value is None or value in ("earliest", "latest"):
        return None
    if _is_json(value):
        parse_offsets(value, option)
        return None
    return parse_timestamp(value, option)


def resolve_limits(kafka: OffsetReader, settings: LoadSettings, begin: str | None, end: str | None) -> Limits:
    """Times become offsets here, once: what is read and what is recorded as read are then the same."""
    if not kafka.topics:
        raise BadInput(f"There is nothing to load: no topic matches --topics {settings.topics!r}.")
    limits = Limits(begin, end, _offsets(kafka, settings, "--from", begin), _offsets(kafka, settings, "--until", end))
    for topic, partitions in (limits.first or {}).items():
        for partition, first in partitions.items():
            if (last := limits.cut(topic, partition, first)) < first:
                raise BadInput(
                    f"--from is later than --until in {topic}, partition {partition}: offset {first} comes after "
                    f"{last}. Exchange them."
                )
    return limits


def counts(kafka: OffsetReader, limits: Limits) -> dict[str, int]:
    """The number of messages within the limits, by topic."""
    messages: dict[str, int] = {}
    for topic, partitions in sorted(kafka.topics.items()):
        for partition in partitions:
            span = kafka.range_of(topic, partition, None)
            first = max(span.earliest, limits.first_of(topic, str(partition)) or 0)
            count = max(0, limits.cut(topic, str(partition), span.latest) - first)
            messages[topic] = messages.get(topic, 0) + count
    return messages


def before_end(messages: DataFrame, limits: Limits) -> DataFrame:
    if limits.end is None:
        return messages
    is_before = (
        (f.col("topic") == topic) & (f.col("partition") == int(partition)) & (f.col("offset") < end)
        for topic, partitions in limits.end.items()
        for partition, end in partitions.items()
    )
    return messages.where(functools.reduce(Column.__or__, is_before, f.lit(False)))


def earlier(
    connection: psycopg.Connection, settings: LoadSettings, begin: str | None, end: str | None
) -> Limits | None:
    """The limits that the load of this checkpoint began with; an error if the options differ now: messages that a
    checkpoint has passed are never read from it again."""
    query = "select about -> 'limits' from metl.jobs where job = %s and checkpoint = %s"
    rows = connection.execute(query, [settings.job, settings.checkpoint_name]).fetchall()
    if not rows or not _has_begun(settings):
        return None
    limits = Limits.of(rows[0][0] or {})
    if (limits.from_option, limits.until_option) != (begin, end):
        raise BadInput(
            f"Job {settings.job} has begun to load {_options(limits.from_option, limits.until_option)} and goes on so "
            f"from its checkpoint, not {_options(begin, end)}. For another load take another --job."
        )
    return limits if begin or end else None


def _has_begun(settings: LoadSettings) -> bool:
    """Visible for a folder of this machine only; who deletes it begins anew."""
    folder = settings.local_checkpoint
    return folder is None or any((folder / "offsets").glob("[0-9]*"))


def _options(begin: str | None, end: str | None) -> str:
    given = [f"{option} {value}" for option, value in (("--from", begin), ("--until", end)) if value]
    return f"with {' and '.join(given)}" if given else "without --from and --until"


def _is_json(text: str) -> bool:
    return text.lstrip().startswith("{")


def _offsets(
    kafka: OffsetReader, settings: LoadSettings, option: str, value: str | None
) -> dict[str, dict[str, int]] | None:
    if value is None:
        return None
    if _is_json(value):
        offsets = parse_offsets(value, option)
        _require_complete(kafka, settings, option, offsets)
    else:
        spans = [kafka.range_of(topic, partition, None) for topic, each in kafka.topics.items() for partition in each]
        offsets = resolve(kafka, value, spans, option)
    require_retained(offsets, kafka, option)
    return {topic: {str(partition): offset for partition, offset in each.items()} for topic, each in offsets.items()}


def _require_complete(kafka: OffsetReader, settings: LoadSettings, option: str, offsets: Offsets) -> None:
    """A missing partition could mean all or nothing of it."""
    for topic in offsets:
        if topic not in kafka.topics:
            raise BadInput(
                f"{option} names topic {topic!r}, but there is none that --topics {settings.topics!r} matches."
                f"{nearest(topic, kafka.topics)}"
            )
    for topic, partitions in sorted(kafka.topics.items()):
        for partition in partitions:
            if partition not in offsets.get(topic, {}):
                span = kafka.range_of(topic, partition, None)
                way_out = json.dumps({topic: {str(partition): span.earliest if option == "--from" else span.latest}})
                raise BadInput(
                    f"{option} does not say it of partition {partition} of topic {topic}. Say it of every partition, "
                    f"for all of it with {way_out}."
                )
