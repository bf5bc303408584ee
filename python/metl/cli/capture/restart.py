"""metl capture restart: a connector that failed goes on, or begins anew."""

import click

from metl.capture import connectors, lifecycle, source
from metl.capture.lifecycle import ConnectorRef
from metl.capture.monitor import observe
from metl.capture.names import listed_tables
from metl.cli.capture.display import warn_of_silence
from metl.cli.capture.show import metl_database
from metl.cli.options import dry_run_option, json_option, kafka_config_option, yes_option
from metl.config import connect_url, database_dsn
from metl.errors import BadInput, MetlError
from metl.streams import broker
from metl.streams.operations import operation
from metl.util.prompts import confirm
from metl.util.terminal import plural, print_json


@click.command(short_help="Start a connector again that failed.")
@click.argument("prefix")
@click.option("--anew", is_flag=True, help="Forget how far it has read: new slot, new publication, all rows once more.")
@click.option("--why", help="The reason, to be recorded; required with --anew.")
@dry_run_option
@yes_option
@kafka_config_option
@json_option
def restart(
    prefix: str, anew: bool, why: str | None, dry_run: bool, yes: bool, kafka_config: str | None, as_json: bool
) -> None:
    """Start connector PREFIX and its tasks again; it goes on where it was.

    Where its slot or publication is gone, that cannot be: --anew makes them again and reads all rows once more. What
    was deleted meanwhile is not noticed.

    \b
    metl capture restart shop
    metl capture restart shop --anew --why 'its slot was dropped'
    """
    place = ConnectorRef(connect_url(), prefix, broker.settings(kafka_config))
    settings = connectors.require_config(place.connect, prefix)
    if anew and not why:
        raise BadInput("--anew is recorded: say why with --why.")
    tables = []
    if anew:
        lifecycle.require_table_list(prefix, settings)
        tables = listed_tables(settings)
    if dry_run:
        again = f", forget where it was and read all rows of {plural(len(tables), 'table')} again" if anew else ""
        sentence = f"Nothing was changed: a dry run. Connector {prefix} would start again{again}."
    else:
        if anew:
            _anew(place, settings, tables, str(why), yes, as_json)
        else:
            _go_on(place, settings)
        sentence = f"Connector {prefix} runs."
    if as_json:
        print_json({"connector": prefix, "anew": anew, "tables": tables, "dry_run": dry_run})
    else:
        click.echo(sentence)


def _go_on(place: ConnectorRef, settings: dict[str, str]) -> None:
    lifecycle.restart(place, settings)
    connectors_now = observe(place.connect, metl_database(), place.client)
    [health] = [each for each in connectors_now if each.connector == place.name]
    if health.problem is not None:
        raise MetlError(f"Connector {place.name} was started again, but: {health.problem} {health.way_out}")


def _anew(place: ConnectorRef, settings: dict[str, str], tables: list[str], why: str, yes: bool, as_json: bool) -> None:
    def report(text: str) -> None:
        click.echo(text, err=as_json)

    rows = f"all rows of {plural(len(tables), 'table')}"
    confirm(f"Let connector {place.name} forget where it was and read {rows} again?", yes)
    about = {"connector": place.name, "tables": tables}
    with source.connect(settings) as connection, operation(database_dsn(), "capture_restart", why, about):
        warn_of_silence([lifecycle.reset(connection, place, settings, report)], report)
