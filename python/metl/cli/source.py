"""--source: the database that tables are in."""

from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from metl.errors import BadInput

VARIABLE = "METL_SOURCE_DSN"
SECRETS = ("password", "sslpassword")


def source_option(what: str, *, required: bool = False) -> Callable[[Any], Any]:
    return click.option(
        "--source", envvar=VARIABLE, required=required, callback=without_secrets, help=f"{what} [env: {VARIABLE}]."
    )


def without_secrets(context: click.Context, option: click.Parameter, dsn: str | None) -> str | None:
    """Everybody on this machine can read command lines: a password in one is refused before it is used."""
    if dsn is None or context.get_parameter_source(str(option.name)) is not ParameterSource.COMMANDLINE:
        return dsn
    try:
        said = conninfo_to_dict(dsn)
    except ProgrammingError:
        # Its own words would repeat the address, password and all.
        raise BadInput(f"--{option.name} is not an address that PostgreSQL can read.") from None
    if any(said.get(name) for name in SECRETS):
        instead = f"Set {option.envvar} to this address instead, or leave" if option.envvar else "Leave"
        raise BadInput(
            f"--{option.name} has a password, and everybody on this machine can read command lines. {instead} the "
            "password out and put it into ~/.pgpass or a file that passfile=… in the address names."
        )
    return dsn
