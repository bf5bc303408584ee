"""metl capture snapshot: rows once more, from the source."""

import click
import psycopg
from rich.markup import escape

from metl.capture import connectors, lifecycle
from metl.capture import source as sources
from metl.capture.lifecycle import ConnectorRef
from metl.capture.settings import signal_settings
from metl.capture.snapshots import BLOCKING, accepts_signals, require_included, sends_notifications
from metl.capture.tables import estimate_rows
from metl.cli.options import (
    dry_run_option,
    json_option,
    kafka_config_option,
    source_option,
    why_option,
    yes_option,
)  # fmt: skip
from metl.config import connect_url, database_dsn, kafka_servers
from metl.db.connection import connect
from metl.errors import BadInput, Interrupted
from metl.streams import broker
from metl.streams.operations import operation
from metl.util.prompts import confirm
from metl.util.terminal import console, plural, print_json, table

NAMES = {BLOCKING: "in one go, changes wait", "INCREMENTAL": "in pages, beside changes"}


@click.command(short_help="Ask Debezium to read whole tables again.")
@click.argument("connector")
@click.argument("tables", nargs=-1, required=True)
@source_option("The source database, if this machine does not reach it at the connector's address")
@click.option("--enable", is_flag=True, help="Let the connector hear signals first, if it does not: it starts again.")
@dry_run_option
@why_option
@yes_option
@kafka_config_option
@json_option
def snapshot(
    connector: str, tables: tuple[str, ...], source: str | None, enable: bool, dry_run: bool, why: str,
    yes: bool, kafka_config: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Ask Debezium to read all rows of TABLES (schema.table) once more, and wait until it has.

    The rows come as messages with op r; a mapper treats them like any other. Where Debezium can page by the primary
    key it does so while changes go on (an incremental snapshot); else it reads the table in one go while changes wait
    (a blocking snapshot). Who asked and why is recorded in metl.operations. Needs a member of metl_steward or metl_job.

    \b
    metl capture snapshot shop public.customer --why 'rows were lost'
    """
    place = ConnectorRef(connect_url(), connector, broker.settings(kafka_config))
    settings = connectors.require_config(place.connect, connector)
    require_included(settings, connector, tables)
    wanted = settings | signal_settings(settings["topic.prefix"], kafka_servers()) if enable else settings
    if not accepts_signals(wanted):
        raise BadInput(
            f"Connector {connector} hears no signals. --enable sets what it needs: signal.enabled.channels, "
            "signal.kafka.topic, signal.kafka.bootstrap.servers, read.only, and notifications of how it goes."
        )
    if accepts_signals(settings) and sends_notifications(settings):
        wanted = settings
    with _connected(source, settings) as rows_of:
        wanted = lifecycle.refresh_settings(rows_of, wanted, tables)
        by_kind = lifecycle.group_by_snapshot_kind(rows_of, tables)
        kinds = {name: kind for kind, names in by_kind.items() for name in names}
        rows = estimate_rows(rows_of, tables)
        rows_of.rollback()
        if not as_json:
            shown = table("table", "rows, about", "read")
            for name, number in rows.items():
                about = "unknown" if number is None else f"{number:,}"
                shown.add_row(escape(name), about, NAMES[kinds[name]])
            console.print(shown)
        if dry_run:
            if as_json:
                print_json({"dry_run": True, "tables": rows, "kinds": kinds})
            else:
                click.echo("Nothing was asked for: a dry run.")
            return
        confirm(f"Let connector {connector} read {plural(len(tables), 'table')} once more?", yes)
        with operation(database_dsn(), "snapshot", why, {"connector": connector, "tables": rows}) as begun:
            if wanted != settings:
                lifecycle.apply_settings(place, wanted)
            try:
                outcome, asked = lifecycle.snapshot_tables(rows_of, place, wanted, tables, lambda _: None)
            except KeyboardInterrupt:
                raise Interrupted(
                    f"Interrupted. Connector {connector} was asked for the rows and reads them all the same."
                ) from None
            read = {name: number for scans in outcome.values() if scans for name, number in scans.rows.items()}
            begun.outcome |= {"signal": asked[0], "signals": asked, "rows": read}
    if as_json:
        print_json({"operation": begun.number, "signal": asked[0], "tables": rows, "kinds": kinds, "rows": read})
    elif None in outcome.values():
        click.echo(
            f"Connector {connector} was asked, as operation {begun.number}. Its task runs, but it does not tell how "
            "its snapshots go: --enable sets that."
        )
    else:
        click.echo(f"Connector {connector} has read {sum(read.values()):,} rows, as operation {begun.number}.")


def _connected(dsn: str | None, settings: dict[str, str]) -> psycopg.Connection:
    return connect(dsn, "--source") if dsn else sources.connect(settings)
