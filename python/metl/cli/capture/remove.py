"""metl capture remove: tables that are captured no more."""

import click

from metl.capture import connectors, lifecycle, source
from metl.capture.lifecycle import ConnectorRef
from metl.capture.names import listed_tables
from metl.cli.options import dry_run_option, json_option, kafka_config_option, why_option, yes_option
from metl.config import connect_url, database_dsn
from metl.streams import broker
from metl.streams.operations import operation
from metl.util.prompts import confirm
from metl.util.terminal import plural, print_json


@click.command(short_help="Capture tables no more, or nothing of a database.")
@click.argument("prefix")
@click.argument("table", nargs=-1)
@dry_run_option
@why_option
@yes_option
@kafka_config_option
@json_option
def remove(
    prefix: str, table: tuple[str, ...], dry_run: bool, why: str, yes: bool, kafka_config: str | None, as_json: bool
) -> None:
    """Capture TABLEs of connector PREFIX no more; without a TABLE, delete the connector, its slot and publication.

    Changes from then on never come, also if the table is added again later. What has come stays: topics, dead letters
    and the rows of the warehouse. Who did it and why is recorded in metl.operations.

    \b
    metl capture remove shop public.payment --why 'nobody reads it'
    metl capture remove shop --why 'the service is gone' --dry-run
    """
    place = ConnectorRef(connect_url(), prefix, broker.settings(kafka_config))
    settings = connectors.require_config(place.connect, prefix)
    lifecycle.require_table_list(prefix, settings)
    lifecycle.require_captured(prefix, settings, table)
    captured = listed_tables(settings)
    gone = list(table) if table else captured
    left = sorted(set(captured) - set(gone))
    if not as_json:
        what = "they leave the publication" if left else "connector, replication slot and publication are deleted"
        click.echo(f"Changes of {', '.join(gone)} will never come from now on; {what}.")
        click.echo("Topics, dead letters and the rows of the warehouse stay as they are.")
    if not dry_run:
        confirm(f"Capture {plural(len(gone), 'table')} of {prefix} no more?", yes)
        with (
            source.connect(settings) as connection,
            operation(database_dsn(), "capture_remove", why, {"connector": prefix, "tables": gone}),
        ):
            lifecycle.remove_tables(connection, place, settings, gone if left else captured)
    if as_json:
        print_json({"connector": prefix, "removed": gone, "left": left, "dry_run": dry_run})
    elif dry_run:
        click.echo("Nothing was changed: a dry run.")
    else:
        click.echo(f"Connector {prefix} reads {plural(len(left), 'table')} now." if left
                   else f"Connector {prefix} is gone.")  # fmt: skip
