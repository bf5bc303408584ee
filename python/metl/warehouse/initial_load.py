"""The initial load of an entity as SQL: for each schema version that feeds it, a SELECT with the entity's columns."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect, NormalizationStrategy
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers

from metl.errors import BadInput, MetlError
from metl.util.nearest import first_of, nearest
from metl.warehouse import dialects
from metl.warehouse.dialects import Source

ENTITIES = """
select entity, max(version) filter (where deleted is null) from metl.entity_versions group by entity
"""
SCHEMAS = """
select schema, coalesce(array_agg(version order by version) filter (where deleted is null), '{}')
from metl.schema_versions group by schema
"""
TYPES = """
select entity_attribute, type from metl.entity_attributes
where entity = %(entity)s and entity_version = %(version)s order by position
"""
ONES = """
select one.schema, one.version, one.entity_attribute, source.attribute, source.source_type, source.type
from metl.decompaction as one
inner join metl.schema_attributes as source
    on one.schema = source.schema and one.version = source.version and one.attribute = source.attribute
where one.entity = %(entity)s and one.entity_version = %(version)s
"""
TOPICS = "select topic from metl.topics where schema = %s order by topic"


@dataclass(frozen=True)
class Feed:
    """One schema version and its mapping to one entity version."""

    schema: str
    version: int
    entity: str
    entity_version: int
    #: The generalized type of each entity attribute.
    types: dict[str, str]
    #: The source attribute of each entity attribute that is mapped.
    sources: dict[str, Source]


@dataclass(frozen=True)
class FeedFilter:
    """Selects among the schema versions that feed an entity; by default all."""

    schema: str | None = None
    version: int | None = None
    newest: bool = False


def feeds(connection: psycopg.Connection, entity: str, feed_filter: FeedFilter) -> list[Feed]:
    """The feeds of the live version of an entity that the filter selects, by schema and version."""
    entities: dict[str, int | None] = dict(connection.execute(ENTITIES).fetchall())
    if entity not in entities:
        raise BadInput(f"There is no entity {entity!r}.{nearest(entity, entities)}")
    entity_version = entities[entity]
    if entity_version is None:
        raise BadInput(f"Entity {entity!r} has no live version. Add one with metl.add_entity_version.")
    live: dict[str, list[int]] = dict(connection.execute(SCHEMAS).fetchall())
    if feed_filter.schema is not None and feed_filter.schema not in live:
        raise BadInput(f"There is no schema {feed_filter.schema!r}.{nearest(feed_filter.schema, live)}")

    key = {"entity": entity, "version": entity_version}
    types: dict[str, str] = dict(connection.execute(TYPES, key).fetchall())
    sources: dict[tuple[str, int], dict[str, Source]] = defaultdict(dict)
    for schema, version, attribute, *source in connection.execute(ONES, key):
        sources[schema, version][attribute] = Source(*source)
    if not sources:
        raise MetlError(f"Nothing feeds entity {entity!r} yet. Map a schema version to it with metl.set_block.")
    return [
        Feed(schema, version, entity, entity_version, types, sources[schema, version])
        for schema, version in _select_versions(feed_filter, entity, live, sorted(sources))
    ]


def _select_versions(
    feed_filter: FeedFilter, entity: str, live: dict[str, list[int]], feeding: list[tuple[str, int]]
) -> list[tuple[str, int]]:
    if feed_filter.schema is None:
        selected = [each for each in feeding if not feed_filter.newest or each[1] == live[each[0]][-1]]
        if not selected:
            raise MetlError(
                f"Only older versions of schemas feed entity {entity!r}. See them without --version newest."
            )
        return selected
    versions = [version for schema, version in feeding if schema == feed_filter.schema]
    if not versions:
        others = first_of({schema for schema, _ in feeding})
        raise BadInput(f"Schema {feed_filter.schema!r} does not feed entity {entity!r}. Those that do are {others}.")
    version = live[feed_filter.schema][-1] if feed_filter.newest else feed_filter.version
    if version is None:
        return [(feed_filter.schema, each) for each in versions]
    if version not in live[feed_filter.schema]:
        numbers = ", ".join(map(str, live[feed_filter.schema]))
        raise BadInput(f"Schema {feed_filter.schema!r} has no live version {version}. Live are {numbers}.")
    if version not in versions:
        numbers = ", ".join(map(str, versions))
        raise BadInput(
            f"Version {version} of schema {feed_filter.schema!r} does not feed entity {entity!r}. "
            f"Those that do are {numbers}."
        )
    return [(feed_filter.schema, version)]


def topic_of(connection: psycopg.Connection, schema: str, topic: str | None) -> str:
    """The topic of a schema, by which the warehouse distinguishes its sources."""
    topics = [each for (each,) in connection.execute(TOPICS, [schema])]
    if topic is None and len(topics) != 1:
        listing = f"those of {', '.join(topics)}" if topics else "none"
        raise BadInput(
            f"Rows of {schema} are told apart by the topic of their messages, and it has {listing}. Say --topic."
        )
    if topic is not None and topic not in topics:
        raise BadInput(f"Topic {topic!r} is not one of schema {schema!r}. metl.topics has them.")
    return topic or topics[0]


def statement(feed: Feed, dialect: str, table: exp.Table | None = None) -> str:
    comment = _one_line(f"{feed.schema} version {feed.version} → {feed.entity} version {feed.entity_version}")
    warnings = "".join(
        f"-- may not be exact: {_one_line(name)}, {source.generalized_type} to {feed.types[name]}\n"
        for name, source in feed.sources.items()
        if (source.generalized_type, feed.types[name]) in dialects.LOSSY_CASTS
    )
    return f"-- {comment}\n{warnings}{select(feed, dialect, table).sql(dialect, pretty=True, identify=True)};"


def _one_line(text: str) -> str:
    """For a comment, which a line break in a name would end."""
    return "".join(each if each.isprintable() else " " for each in text)


def select(feed: Feed, dialect: str, table: exp.Table | None = None) -> exp.Select:
    return exp.select(*_columns(feed, dialect)).from_(table or table_of(feed.schema))


def _columns(feed: Feed, dialect: str) -> Iterator[exp.Alias]:
    for name, target in feed.types.items():
        source = feed.sources.get(name)
        value = dialects.cast(source, target, dialect) if source else dialects.null(target, dialect)
        yield exp.Alias(this=value, alias=exp.to_identifier(name, quoted=True))


def table_of(schema: str) -> exp.Table:
    """The table that the schema's name implies: Debezium names schemas <topic prefix>.<schema>.<table>."""
    parts = schema.split(".")
    if not all(parts):
        parts = [schema]
    elif len(parts) > 2:
        parts = parts[1:]
    names = [exp.to_identifier(part, quoted=True) for part in parts]
    table = exp.Table(**dict(zip(("this", "db", "catalog"), reversed(names[:3]), strict=False)))
    if len(names) > 3:
        table.set("this", exp.Dot.build(names[2:]))
    return table


def parse_table(name: str, dialect: str) -> exp.Table:
    """Parses a table name in the SQL of a dialect, quoted or not."""
    try:
        table = sqlglot.parse_one(name, dialect=dialect, into=exp.Table)
    except SqlglotError:
        table = None
    if table is None or not all(isinstance(part, exp.Identifier) for part in table.parts):
        raise BadInput(f"{name!r} is not the name of a table in the SQL of {dialect}.")
    # The generated SQL quotes every name, so fold the case of unquoted ones as the database would.
    if Dialect.get_or_raise(dialect).normalization_strategy is not NormalizationStrategy.CASE_INSENSITIVE:
        table = normalize_identifiers(table, dialect=dialect)
    return table
