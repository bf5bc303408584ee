"""metl snapshot: rows once more, from the source."""

import json

import click
from rich.markup import escape

from metl import broker
from metl.capture import connectors
from metl.capture.settings import signals
from metl.cli.asking import agree, why_option, yes_option
from metl.cli.display import console, print_json, table
from metl.cli.source import source_option
from metl.database import address, one_change
from metl.errors import BadInput
from metl.home import Home
from metl.snapshot import ask, check, estimate, hears
from metl.stack.connect import Connect


@click.command(short_help="Ask Debezium to read whole tables again.")
@click.argument("connector")
@click.argument("tables", nargs=-1, required=True)
@source_option("The source database, to say how many rows")
@click.option("--enable", is_flag=True, help="Let the connector hear signals first, if it does not: it starts again.")
@why_option
@yes_option
@click.option("--kafka-config", envvar="METL_KAFKA_CONFIG", help="File of Kafka client properties.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def snapshot(
    connector: str, tables: tuple[str, ...], source: str | None, enable: bool, why: str, yes: bool,
    kafka_config: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Ask Debezium to read all rows of TABLES (schema.table) once more: an incremental snapshot.

    The rows come as messages with op r, in chunks, while changes go on; a mapper treats them like any other. Who asked
    and why is recorded in metl.operations. Needs a member of metl_steward or metl_job.
    """
    connect = Connect(Home.from_environment())
    if not connect.is_elsewhere and not connect.port:
        raise BadInput("There is no Kafka Connect yet. Start a local one with `metl up connect`, or set METL_CONNECT.")
    settings = connectors.config(connect.address, connector)
    check(settings, connector, tables)
    if not hears(settings) and not enable:
        raise BadInput(
            f"Connector {connector} hears no signals. --enable sets what it needs: signal.enabled.channels, "
            "signal.kafka.topic, signal.kafka.bootstrap.servers and read.only."
        )
    rows = estimate(source, tables)
    if not as_json:
        shown = table("table", "rows, about")
        for name, count in rows.items():
            shown.add_row(escape(name), "unknown" if count is None else f"{count:,}")
        console.print(shown)
    agree(f"Let connector {connector} read {len(tables)} tables once more?", yes)
    with one_change(address()) as connection:
        about = json.dumps({"connector": connector, "tables": rows})
        [(operation,)] = connection.execute("select metl.begin_operation('snapshot', %s, %s)", (why, about)).fetchall()
    if not hears(settings):
        settings |= signals(settings["topic.prefix"], broker.address())
        broker.make_topic(broker.settings(kafka_config), settings["signal.kafka.topic"])
        connectors.create(connect.address, connector, settings)
    signal = ask(broker.settings(kafka_config), settings, tables)
    with one_change(address()) as connection:
        connection.execute("select metl.end_operation(%s, %s)", (operation, json.dumps({"signal": signal})))
    if as_json:
        print_json({"operation": operation, "signal": signal, "tables": rows})
    else:
        click.echo(f"Connector {connector} was asked, as operation {operation}. The rows come with op r.")
