"""metl capture list, metl capture show: how connectors are."""

import contextlib

import click

from metl.capture import connectors
from metl.capture.monitor import observe
from metl.cli.capture.display import print_connectors
from metl.cli.options import json_option
from metl.config import connect_url, database_dsn
from metl.errors import MetlError
from metl.util.terminal import print_json, print_table


@click.command("list", short_help="Every connector and its tables.")
@json_option
def list_(as_json: bool) -> None:
    """Every connector, its tables and how it is."""
    connected = observe(connect_url(), metl_database())
    if as_json:
        print_json([each.as_dict() for each in connected])
    elif connected:
        print_connectors(connected)
    else:
        # Unless nobody answers.
        connectors.list_connectors(connect_url())
        click.echo("There are no connectors. Make one with: metl capture add PREFIX TABLE …")


@click.command(short_help="One connector: tables, settings, health.")
@click.argument("prefix")
@json_option
def show(prefix: str, as_json: bool) -> None:
    """Tables, health and settings of connector PREFIX. Passwords are not shown."""
    connect = connect_url()
    settings = connectors.require_config(connect, prefix)
    [health] = [each for each in observe(connect, metl_database()) if each.connector == prefix]
    shown = {
        name: "…" if "password" in name and not value.startswith("${") else value for name, value in settings.items()
    }
    if as_json:
        print_json({**health.as_dict(), "settings": shown})
        return
    print_connectors([health])
    print_table(("setting", "value"), sorted(shown.items()))


def metl_database() -> str | None:
    """Where what is observed is recorded, if METL has a database at all."""
    with contextlib.suppress(MetlError):
        return database_dsn()
    return None
