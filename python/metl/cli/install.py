"""metl install: the matrix inside PostgreSQL."""

from dataclasses import asdict

import click

from metl.cli.options import dry_run_option, json_option
from metl.config import database_dsn
from metl.db.install import install as install_into
from metl.util.terminal import console, print_json


@click.command(short_help="Put the matrix into a database, or update it.")
@dry_run_option
@json_option
def install(dry_run: bool, as_json: bool) -> None:
    """Put the matrix into the database of METL_DSN (or the local stack), or bring it up to date."""
    done = install_into(database_dsn(), dry_run=dry_run)
    if as_json:
        print_json({**asdict(done), "dry_run": dry_run})
        return
    if dry_run:
        missing = ", ".join(done.migrations)
        console.print(f"Nothing was changed: a dry run. Missing in database {done.database}: {missing or 'nothing'}.")
        return
    if done.migrations:
        console.print(f"Applied to database {done.database}: {', '.join(done.migrations)}.")
    else:
        console.print(f"The tables in database {done.database} were up to date.")
    console.print(f"Schema metl now has {done.functions} functions and {done.views} views.")
