"""metl marts lineage: where the columns of the marts come from."""

from dataclasses import asdict

import click
from rich.markup import escape
from rich.tree import Tree

from metl import config
from metl.cli.options import json_option
from metl.config import database_dsn
from metl.db.connection import connect
from metl.errors import BadInput
from metl.marts import openlineage as events
from metl.marts.lineage import Lineage, Step, compiled, tables
from metl.util import signals
from metl.util.terminal import console, print_json, table


@click.command(short_help="Where the columns of a model come from.")
@click.argument("target", metavar="MODEL[.COLUMN]")
@json_option
@click.option("--openlineage", is_flag=True, help="As a run event of OpenLineage, of a whole MODEL.")
def lineage(target: str, as_json: bool, openlineage: bool) -> None:
    """Show where the columns of a model of dbt come from, down to the tables of METL.

    \b
    metl marts lineage dpm             every column, with the columns of tables that its values come from
    metl marts lineage dpm.attribute   one column, step by step
    """
    model, _, column = target.removeprefix("metl_marts.").partition(".")
    if as_json and openlineage:
        raise BadInput("--json and --openlineage are two answers. Give one of them.")
    if column and openlineage:
        raise BadInput(f"OpenLineage describes whole models. Run: metl marts lineage {model} --openlineage")
    home = config.home()
    dsn = database_dsn()
    with signals.all_interrupt(), connect(dsn) as connection:
        click.echo("Compiling the models, which takes some seconds.", err=True)
        graph = Lineage(compiled(home, dsn), tables(connection))
        if openlineage:
            print_json(events.run_event(graph, model, connection.info))
            return
    steps = graph.of_model(model, column or None)
    if as_json:
        print_json({"model": model, "columns": [asdict(step) for step in steps]})
    elif column:
        console.print(*(_tree(step) for step in steps))
    else:
        shown = table("column", "comes from")
        for step in steps:
            shown.add_row(step.column, escape(", ".join(sorted({_name(end) for end in step.leaves()}))))
        console.print(shown)


def _tree(step: Step) -> Tree:
    tree = Tree(escape(_name(step)))
    tree.children.extend(_tree(source) for source in step.sources)
    return tree


def _name(step: Step) -> str:
    if step.kind == "constant":
        return f"constant {step.constant} of {step.relation}"
    return f"{step.relation}.{step.column}"
