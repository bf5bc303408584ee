"""Column lineage of dbt's models, through models and views down to the tables of schema metl.

Only of values: columns that rows are joined or filtered by are left out.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import psycopg
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.lineage import Node, lineage
from sqlglot.schema import MappingSchema

from metl.errors import BadInput, MetlError
from metl.home import Home
from metl.marts import dbt
from metl.util import resources
from metl.util.nearest import nearest

DIALECT = "postgres"
#: The statement alone: sqlglot does not read string literals over several lines, which comments are.
VIEW = re.compile(r"^create or replace view .*?;$", re.M | re.S)


@dataclass(frozen=True, order=True)
class Step:
    """A column with the columns that its values come from; a column of a table, or a constant, has none."""

    relation: str
    column: str
    kind: Literal["table", "derived", "constant"]
    #: As an SQL literal, such as 'gained'.
    constant: str = ""
    sources: tuple["Step", ...] = ()

    def leaves(self) -> Iterator["Step"]:
        if not self.sources:
            yield self
        for source in self.sources:
            yield from source.leaves()


class Lineage:
    def __init__(self, manifest: Mapping[str, Any], tables: Mapping[str, list[str]]) -> None:
        """`manifest` has the compiled models, `tables` the columns of each table of schema metl."""
        self.models = {node["name"]: node for node in manifest["nodes"].values() if node["resource_type"] == "model"}
        self.marts = sorted(name for name, node in self.models.items() if "marts" in node["fqn"])
        self._tables = tables
        self._queries = views() | {relation_of(node): _query(node) for node in self.models.values()}
        self._nodes: dict[str, dict[str, Node]] = {}
        self._schema = MappingSchema(dialect=DIALECT)

    def of_model(self, name: str, column: str | None = None) -> list[Step]:
        """The lineage of every column of a model, or of one."""
        if name not in self.models:
            raise BadInput(
                f"There is no model {name!r}.{nearest(name, self.models)} The marts are {', '.join(self.marts)}."
            )
        relation = relation_of(self.models[name])
        columns = self._columns(relation)
        if column is not None and column not in columns:
            raise BadInput(f"Model {name} has no column {column!r}.{nearest(column, columns)}")
        return [self._trace(relation, each) for each in columns if column in (None, each)]

    def tables_below(self, relation: str) -> set[str]:
        """Every table that is read, also to join or filter."""
        if relation not in self._queries:
            return {relation}
        return set().union(*(self.tables_below(exp.table_name(table)) for table in _tables_of(self._queries[relation])))

    def _trace(self, relation: str, column: str) -> Step:
        if relation in self._tables:
            return Step(relation, column, "table")
        nodes = self._column_nodes(relation)[column].walk()
        sources = {self._source(relation, column, node) for node in nodes if not node.downstream}
        return Step(relation, column, "derived", sources=tuple(sorted(sources)))

    def _source(self, relation: str, column: str, node: Node) -> Step:
        unknown = f"The origin of {relation}.{column} is unknown"
        if isinstance(node.expression, exp.Table):
            table, name = exp.table_name(node.expression), exp.to_column(node.name, dialect=DIALECT).name
            if name not in self._columns(table):
                raise MetlError(f"{unknown}: it reads {table}.{name}, which no model, view or table of METL has.")
            return self._trace(table, name)
        value = node.expression.unalias()
        if not _is_constant(value):
            raise MetlError(f"{unknown}: there is no column in {value.sql(DIALECT)}.")
        return Step(relation, column, "constant", value.sql(DIALECT))

    def _columns(self, relation: str) -> list[str]:
        return list(self._column_nodes(relation)) if relation in self._queries else self._tables.get(relation, [])

    def _column_nodes(self, relation: str) -> dict[str, Node]:
        if relation not in self._nodes:
            query = self._queries[relation]
            for table in _tables_of(query):
                # sqlglot needs the columns of each relation to resolve unqualified names.
                self._schema.add_table(table, self._columns(exp.table_name(table)))
            try:
                # Without validation, sqlglot would guess the relation of an unresolvable name.
                self._nodes[relation] = lineage(
                    None, query, self._schema, dialect=DIALECT, validate_qualify_columns=True
                )
            except SqlglotError as error:
                raise MetlError(f"The origin of the columns of {relation} is unknown: {error}") from None
        return self._nodes[relation]


def compiled(home: Home, dsn: str) -> dict[str, Any]:
    """dbt's manifest, with the SQL of every model."""
    done = dbt.run(home, dsn, ["--quiet", "--no-use-colors", "compile"], quiet=True)
    if done.returncode:
        # An error raised by the macro require_metl is shown alone.
        sentences = [line.strip() for line in done.stdout.splitlines() if "Run: metl install" in line]
        raise MetlError(
            sentences[0] if sentences else f"dbt cannot compile the models. It says:\n{done.stdout.strip()}"
        )
    manifest: dict[str, Any] = json.loads((dbt.target(home) / "manifest.json").read_text())
    return manifest


def tables(connection: psycopg.Connection) -> dict[str, list[str]]:
    """The columns of each table of schema metl."""
    rows = connection.execute(
        """
        select 'metl.' || relname, array_agg(attname::text order by attnum)
        from pg_class inner join pg_attribute on attrelid = pg_class.oid
        where relnamespace = 'metl'::regnamespace and relkind = 'r' and attnum > 0 and not attisdropped
        group by relname
        """
    )
    return dict(rows.fetchall())


def views() -> dict[str, exp.Query]:
    scripts = [file.read_text() for file in resources.path("sql").rglob("*.sql")]
    statements = [sqlglot.parse_one(each, dialect=DIALECT) for script in scripts for each in VIEW.findall(script)]
    return {exp.table_name(view.this): view.expression for view in statements if isinstance(view, exp.Create)}


def _query(model: Mapping[str, Any]) -> exp.Expr:
    try:
        query = sqlglot.parse_one(model["compiled_code"], dialect=DIALECT)
    except SqlglotError as error:
        raise MetlError(f"The SQL of model {model['name']} cannot be read: {str(error).splitlines()[0]}") from None
    for table in query.find_all(exp.Table):
        # dbt qualifies names with the database, of which there is only one.
        table.set("catalog", None)
    return query


def relation_of(model: Mapping[str, Any]) -> str:
    """The qualified name of a model's relation; just the name of an ephemeral one."""
    return f"{model['schema']}.{model['alias']}" if model["relation_name"] else str(model["name"])


def _tables_of(query: exp.Expr) -> list[exp.Table]:
    # A name without a schema is a CTE.
    return [table for table in query.find_all(exp.Table) if table.db]


def _is_constant(value: exp.Expr) -> bool:
    while isinstance(value, exp.Cast | exp.Paren | exp.Neg):
        value = value.this
    return isinstance(value, exp.Literal | exp.Boolean | exp.Null)
