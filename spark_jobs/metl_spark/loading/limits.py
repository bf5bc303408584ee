"""Where a load begins and ends, from what somebody says to the offsets of each partition."""

import json
from datetime import UTC, datetime

import psycopg

from metl.errors import BadInput
from metl.streams.checkpoint import Offsets
from metl.streams.offsets import OffsetReader, parse_offsets, require_retained, resolve
from metl.util.nearest import nearest
from metl.util.timestamps import parse_timestamp
from metl_spark.runtime.settings import Limits, Settings


def require_readable(begin: str | None, end: str | None) -> None:
    """Before anything is started: an error if nobody can tell what is meant, or nothing is between the two."""
    moments = {option: _readable(option, said) for option, said in (("--from", begin), ("--until", end))}
    first, last = moments.values()
    if begin is not None and first and first > datetime.now(UTC):
        raise BadInput(f"--from {begin} is in the future: nothing of then can be there.")
    if (first and last and first > last) or (begin, end) == ("latest", "earliest"):
        raise BadInput(f"--from {begin} is later than --until {end}: nothing is between them. Exchange them.")


def _readable(option: str, said: str | None) -> datetime | None:
    if said is None or said in ("earliest", "latest"):
        return None
    if _is_json(said):
        parse_offsets(said, option)
        return None
    return parse_timestamp(said, option)


def resolved(kafka: OffsetReader, settings: Settings, begin: str | None, end: str | None) -> Limits:
    """Moments become offsets here, once: what is read and what is recorded as read are then the same."""
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
    """How many messages of each topic that is."""
    found: dict[str, int] = {}
    for topic, partitions in sorted(kafka.topics.items()):
        for partition in partitions:
            span = kafka.range_of(topic, partition, None)
            first = max(span.earliest, limits.first_of(topic, str(partition)) or 0)
            found[topic] = found.get(topic, 0) + max(0, limits.cut(topic, str(partition), span.latest) - first)
    return found


def earlier(connection: psycopg.Connection, settings: Settings, begin: str | None, end: str | None) -> Limits | None:
    """Those that the load of this checkpoint began with; an error if it is told others now: what was left out before
    the checkpoint's end is never read from it again."""
    query = "select about -> 'limits' from metl.jobs where job = %s and checkpoint = %s"
    rows = connection.execute(query, [settings.job, settings.checkpoint_name]).fetchall()
    if not rows or not _is_begun(settings):
        return None
    known = Limits(**(rows[0][0] or {}))
    if (known.said_from, known.said_until) != (begin, end):
        raise BadInput(
            f"Job {settings.job} has begun to load {_said(known.said_from, known.said_until)} and goes on so from its "
            f"checkpoint, not {_said(begin, end)}. For another load take another --job."
        )
    return known if begin or end else None


def _is_begun(settings: Settings) -> bool:
    """Of a folder of this machine one can see it; who deletes it begins anew."""
    folder = settings.local_checkpoint
    return folder is None or any((folder / "offsets").glob("[0-9]*"))


def _said(begin: str | None, end: str | None) -> str:
    given = [f"{option} {said}" for option, said in (("--from", begin), ("--until", end)) if said]
    return f"with {' and '.join(given)}" if given else "without --from and --until"


def _is_json(said: str) -> bool:
    return said.lstrip().startswith("{")


def _offsets(
    kafka: OffsetReader, settings: Settings, option: str, said: str | None
) -> dict[str, dict[str, int]] | None:
    if said is None:
        return None
    if _is_json(said):
        found = parse_offsets(said, option)
        _require_all(kafka, settings, option, found)
    else:
        spans = [kafka.range_of(topic, partition, None) for topic, each in kafka.topics.items() for partition in each]
        found = resolve(kafka, said, spans, option)
    require_retained(found, kafka, option)
    return {topic: {str(partition): offset for partition, offset in each.items()} for topic, each in found.items()}


def _require_all(kafka: OffsetReader, settings: Settings, option: str, found: Offsets) -> None:
    """One that is left out could mean all or nothing of it."""
    for topic in found:
        if topic not in kafka.topics:
            raise BadInput(
                f"{option} names topic {topic!r}, but there is none that --topics {settings.topics!r} matches."
                f"{nearest(topic, kafka.topics)}"
            )
    for topic, partitions in sorted(kafka.topics.items()):
        for partition in partitions:
            if partition not in found.get(topic, {}):
                span = kafka.range_of(topic, partition, None)
                way_out = json.dumps({topic: {str(partition): span.earliest if option == "--from" else span.latest}})
                raise BadInput(
                    f"{option} does not say it of partition {partition} of topic {topic}. Say it of every partition, "
                    f"for all of it with {way_out}."
                )
