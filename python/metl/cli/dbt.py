"""metl dbt: the models that derive the dense matrix."""

import click

from metl.db.connection import address
from metl.home import Home
from metl.marts import dbt as project
from metl.util import signals


@click.command(
    short_help="Build, test and document the marts.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="DBT_COMMAND...")
@click.pass_context
def dbt(context: click.Context, words: tuple[str, ...]) -> None:
    """Run dbt on METL's models, in the database of METL_DSN (or the local stack).

    \b
    metl dbt build           build and test the marts of schema metl_marts
    metl dbt docs generate   write their documentation; metl dbt docs serve shows it

    Everything dbt writes goes to METL_HOME/dbt.
    """
    with signals.all_interrupt():
        context.exit(project.run(Home.from_environment(), address(), words).returncode)
