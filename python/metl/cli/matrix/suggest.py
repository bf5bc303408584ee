"""metl matrix suggest: where attributes that map to nothing might belong."""

import shlex
from typing import Any

import click

from metl.cli.options import Version, json_option, limit_option
from metl.config import database_dsn
from metl.db.connection import snapshot
from metl.matrix import trees, unmapped
from metl.matrix.suggest import Attribute, Ranking, Suggestion, one_to_one
from metl.util.terminal import plural, print_json, print_table, printable, say

#: So many attributes are shown where no schema is named.
SHOWN = 20

Suggested = list[tuple[Attribute, list[Suggestion]]]


@click.command(short_help="Where unmapped attributes might belong.")
@click.argument("schema", required=False)
@click.argument("version", required=False, type=Version())
@click.option("--entity", help="Only attributes of this entity, for whatever it does not have from the schema yet.")
@limit_option(5, "so many for each attribute")
@click.option(
    "--least", type=click.FloatRange(0, 1), default=0.55, show_default=True, help="Only those with at least this score."
)
@click.option(
    "--all", "every", is_flag=True, help=f"Of every schema, not only the {SHOWN} attributes with the best ones."
)
@json_option
def suggest(
    schema: str | None,
    version: int | None,
    entity: str | None,
    limit: int,
    least: float,
    every: bool,
    as_json: bool,
) -> None:
    """Suggest where attributes that map to nothing might belong: of SCHEMA in VERSION (default: the newest), or all.

    The score, from 0 to 1, says how alike names and types are. Best are the places that attributes of the same name
    have elsewhere in the matrix. Nothing is changed; what would change it is printed.

    \b
    metl matrix suggest
    metl matrix suggest shop.customer --entity person
    """
    with snapshot(database_dsn()) as connection:
        if schema is not None:
            version = trees.schema_version(connection, schema, trees.NEWEST if version is None else version)
        if entity is not None:
            trees.entity_version(connection, entity)
        read = unmapped.read(connection, schema, version, entity)
    ranking = Ranking(read.targets, read.matrix, read.attributes)
    suggested = [(attribute, ranking.best(attribute, limit, least)) for attribute in read.attributes]
    if as_json:
        print_json([_plain(attribute, suggestions) for attribute, suggestions in suggested])
    elif not read.targets:
        say("There is no entity with attributes yet. Add one with: metl entities apply")
    elif not read.attributes:
        say(f"Every attribute of {'every schema' if schema is None else printable(schema)} is mapped.")
    else:
        _show(suggested, schema is None and not every)


def _plain(attribute: Attribute, suggestions: list[Suggestion]) -> dict[str, Any]:
    return attribute._asdict() | {
        "suggestions": [
            each.target._asdict() | {"score": each.score, "elsewhere": each.elsewhere} for each in suggestions
        ]
    }


def _show(suggested: Suggested, some: bool) -> None:
    alike = [(attribute, suggestions) for attribute, suggestions in suggested if suggestions]
    shown = sorted(alike, key=lambda each: -each[1][0].score)[:SHOWN] if some else alike
    if alike:
        print_table(
            ["schema", "attribute", "might be", "score", "note"],
            [
                (
                    f"{attribute.schema} {attribute.version}" if place == 0 else "",
                    attribute.attribute if place == 0 else "",
                    f"{each.target.entity}.{each.target.entity_attribute}",
                    f"{each.score:.2f}",
                    _note(attribute, each),
                )
                for attribute, suggestions in shown
                for place, each in enumerate(suggestions)
            ],
        )
        say("The best of each, if they are right:")
        for (schema, version, entity), pairs in one_to_one(shown).items():
            words = [f"{to}={of}" for to, of in pairs.items()]
            click.echo("  " + shlex.join(["metl", "matrix", "block", "add", schema, str(version), entity, *words]))
    if len(shown) < len(alike):
        say(f"{plural(len(alike) - len(shown), 'more attribute')} might belong somewhere: --all, or name a schema.")
    unlike = len(suggested) - len(alike)
    if unlike:
        say(f"Nothing is like {plural(unlike, 'attribute')}: see what is less so with --least 0.3")


def _note(attribute: Attribute, suggestion: Suggestion) -> str | None:
    notes = []
    if suggestion.elsewhere:
        notes.append(f"mapped so by {plural(suggestion.elsewhere, 'schema')}")
    if attribute.type != suggestion.target.type:
        notes.append(f"{attribute.type} to {suggestion.target.type}")
    return ", ".join(notes) or None
