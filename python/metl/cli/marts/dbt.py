"""metl marts build, metl marts dbt: the models that derive the dense matrix."""

import click

from metl import config
from metl.cli.options import dry_run_option
from metl.config import database_dsn
from metl.marts import dbt as project
from metl.util import signals


@click.command(
    short_help="Build and test the marts.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@dry_run_option
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[DBT_OPTION]...")
@click.pass_context
def build(context: click.Context, dry_run: bool, words: tuple[str, ...]) -> None:
    """Build and test the models of schema metl_marts in the database of METL_DSN (or the local stack), with dbt build.

    \b
    metl marts build
    metl marts build --select +dcpm
    """
    _run(context, ("list" if dry_run else "build", *words))


@click.command(
    short_help="Anything else that dbt can do with the marts.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="DBT_COMMAND...")
@click.pass_context
def dbt(context: click.Context, words: tuple[str, ...]) -> None:
    """Run dbt on METL's models, in the database of METL_DSN (or the local stack).

    \b
    metl marts dbt docs generate   write their documentation; metl marts dbt docs serve shows it
    metl marts dbt run --select column_sets

    Everything dbt writes goes to METL_HOME/dbt.
    """
    _run(context, words)


def _run(context: click.Context, words: tuple[str, ...]) -> None:
    with signals.all_interrupt():
        context.exit(project.run(config.home(), database_dsn(), words).returncode)
