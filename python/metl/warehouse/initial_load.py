"""The initial load of an entity as SQL: a SELECT for each schema version that feeds it, all of the entity's shape."""

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
from metl.util.nearest import nearest, some
from metl.warehouse import dialects
from metl.warehouse.dialects import Source

ENTITIES = """
select entity, max(version) filter (where deleted is null) from metl.entity_versions group by entity
"""
SCHEMAS = """
select schema, coalesce(array_agg(version order by version) filter (where deleted is null), '{}')
from metl.schema_versions group by schema
"""
SHAPE = """
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
    """One schema version and what it has for one entity version."""

    schema: str
    version: int
    entity: str
    entity_version: int
    #: The generalized type of each attribute of the entity.
    shape: dict[str, str]
    #: Where the attributes that have a source come from.
    sources: dict[str, Source]


@dataclass(frozen=True)
class Choice:
    """Which of the schema versions that feed an entity are wanted; all if nothing is said."""

    schema: str | None = None
    version: int | None = None
    newest: bool = False


def feeds(connection: psycopg.Connection, entity: str, choice: Choice) -> list[Feed]:
    """What is wanted of what feeds the live version of an entity, by schema and version."""
    entities: dict[str, int | None] = dict(connection.execute(ENTITIES).fetchall())
    if entity not in entities:
        raise BadInput(f"There is no entity {entity!r}.{nearest(entity, entities)}")
    entity_version = entities[entity]
    if entity_version is None:
        raise BadInput(f"Entity {entity!r} has no live version. Add one with metl.add_entity_version.")
    live: dict[str, list[int]] = dict(connection.execute(SCHEMAS).fetchall())
    if choice.schema is not None and choice.schema not in live:
        raise BadInput(f"There is no schema {choice.schema!r}.{nearest(choice.schema, live)}")

    key = {"entity": entity, "version": entity_version}
    shape: dict[str, str] = dict(connection.execute(SHAPE, key).fetchall())
    sources: dict[tuple[str, int], dict[str, Source]] = defaultdict(dict)
    for schema, version, attribute, *source in connection.execute(ONES, key):
        sources[schema, version][attribute] = Source(*source)
    if not sources:
        raise MetlError(f"Nothing feeds entity {entity!r} yet. Map a schema version to it with metl.set_block.")
    return [
        Feed(schema, version, entity, entity_version, shape, sources[schema, version])
        for schema, version in _wanted(choice, entity, live, sorted(sources))
    ]


def _wanted(
    choice: Choice, entity: str, live: dict[str, list[int]], feeding: list[tuple[str, int]]
) -> list[tuple[str, int]]:
    if choice.schema is None:
        wanted = [each for each in feeding if not choice.newest or each[1] == live[each[0]][-1]]
        if not wanted:
            raise MetlError(f"Only older versions of schemas feed entity {entity!r}. See them without --newest.")
        return wanted
    versions = [version for schema, version in feeding if schema == choice.schema]
    if not versions:
        others = some({schema for schema, _ in feeding})
        raise BadInput(f"Schema {choice.schema!r} does not feed entity {entity!r}. Those that do are {others}.")
    version = live[choice.schema][-1] if choice.newest else choice.version
    if version is None:
        return [(choice.schema, each) for each in versions]
    if version not in live[choice.schema]:
        known = ", ".join(map(str, live[choice.schema]))
        raise BadInput(f"Schema {choice.schema!r} has no live version {version}. Live are {known}.")
    if version not in versions:
        known = ", ".join(map(str, versions))
        raise BadInput(
            f"Version {version} of schema {choice.schema!r} does not feed entity {entity!r}. Those that do are {known}."
        )
    return [(choice.schema, version)]


def topic_of(connection: psycopg.Connection, schema: str, topic: str | None) -> str:
    """Where the messages of a schema's rows are: what the warehouse tells its sources apart by."""
    topics = [each for (each,) in connection.execute(TOPICS, [schema])]
    if topic is None and len(topics) != 1:
        known = f"those of {', '.join(topics)}" if topics else "none"
        raise BadInput(
            f"Rows of {schema} are told apart by the topic of their messages, and it has {known}. Say --topic."
        )
    if topic is not None and topic not in topics:
        raise BadInput(f"Topic {topic!r} is not one of schema {schema!r}. metl.topics has them.")
    return topic or topics[0]


def statement(feed: Feed, dialect: str, table: exp.Table | None = None) -> str:
    comment = _in_a_comment(f"{feed.schema} version {feed.version} → {feed.entity} version {feed.entity_version}")
    narrowed = "".join(
        f"-- may not be exact: {_in_a_comment(name)}, {source.generalized_type} to {feed.shape[name]}\n"
        for name, source in feed.sources.items()
        if (source.generalized_type, feed.shape[name]) in dialects.NARROWING
    )
    return f"-- {comment}\n{narrowed}{select(feed, dialect, table).sql(dialect, pretty=True, identify=True)};"


def _in_a_comment(text: str) -> str:
    """A line break in a name would end it."""
    return "".join(each if each.isprintable() else " " for each in text)


def select(feed: Feed, dialect: str, table: exp.Table | None = None) -> exp.Select:
    return exp.select(*_columns(feed, dialect)).from_(table or table_of(feed.schema))


def _columns(feed: Feed, dialect: str) -> Iterator[exp.Alias]:
    for name, target in feed.shape.items():
        source = feed.sources.get(name)
        value = dialects.converted(source, target, dialect) if source else dialects.null(target, dialect)
        yield exp.Alias(this=value, alias=exp.to_identifier(name, quoted=True))


def table_of(schema: str) -> exp.Table:
    """Debezium names what it reads <topic prefix>.<schema>.<table>."""
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


def named_table(name: str, dialect: str) -> exp.Table:
    """A table as somebody names it in the SQL of a dialect, quoted or not."""
    try:
        table = sqlglot.parse_one(name, dialect=dialect, into=exp.Table)
    except SqlglotError:
        table = None
    if table is None or not all(isinstance(part, exp.Identifier) for part in table.parts):
        raise BadInput(f"{name!r} is not the name of a table in the SQL of {dialect}.")
    # Every name is quoted in the end: what the database would have folded has to be folded before.
    if Dialect.get_or_raise(dialect).normalization_strategy is not NormalizationStrategy.CASE_INSENSITIVE:
        table = normalize_identifiers(table, dialect=dialect)
    return table
