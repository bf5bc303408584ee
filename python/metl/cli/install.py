"""metl install: the matrix inside PostgreSQL."""

import click

from metl.db.connection import address
from metl.db.install import install as install_into
from metl.util.terminal import console


@click.command(short_help="Put the matrix into a database, or update it.")
def install() -> None:
    """Put the matrix into the database of METL_DSN (or the local stack), or bring it up to date."""
    done = install_into(address())
    if done.migrations:
        console.print(f"Applied to database {done.database}: {', '.join(done.migrations)}.")
    else:
        console.print(f"The tables in database {done.database} were up to date.")
    console.print(f"Schema metl now has {done.functions} functions and {done.views} views.")
