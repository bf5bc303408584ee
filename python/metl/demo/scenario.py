"""The steps of the demo. Each checks what it claims; a failed check ends the demo."""

import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from metl.db.install import install
from metl.demo import reconcile, services
from metl.demo.context import JOB, Context
from metl.demo.programs import Program, Programs
from metl.demo.topics import Topics
from metl.demo.traffic import Traffic
from metl.errors import MetlError
from metl.home import Home
from metl.marts import dbt
from metl.stack import parts

FOLDER = Path(__file__).parent
PATTERN = r"(shop|crm|billing)\.public\..*"
# Seconds. With short batches the mapper sees a new state soon, at the price of more pauses between batches.
BATCH_DURATION = "3"
ROWS = {
    "shop": [
        "insert into customer values (1, 'Ada', 'ada@example.org', 'likes tea'), (2, 'Bob', null, null)",
        "insert into orders values (1, 1, 19.90), (2, 2, 5.00)",
    ],
    "crm": ["insert into contact values (1, 'Cleo', 'cleo@example.org')"],
    "billing": ["insert into invoice values (1, 1, 19.90, false)"],
}
SNAPSHOT = {"shop.public.customer": 2, "shop.public.orders": 2, "crm.public.contact": 1, "billing.public.invoice": 1}
CUSTOMER, CONTACT = "shop.public.customer", "crm.public.contact"
INVOICE, PAYMENT = "billing.public.invoice", "billing.public.payment"


def run(home: Home, say: Callable[[str], None], *, keep: bool = False) -> list[Program]:
    """Runs it on a stack that is up; raises if a check fails. Returns the programs that `keep` leaves running."""
    say("— Three services, each with a database of its own. Debezium reads their change logs.")
    by_name = services.start(home, ROWS)
    for service in by_name.values():
        say(f"{service.name}: {', '.join(service.tables)}")
    programs = Programs(home, say)
    context = Context(home, say, programs, by_name, Traffic(by_name), Topics(parts(home)[1].address))
    context.traffic.messages.update(SNAPSHOT)
    with programs.stopped_at_exit(keep), context.topics.collecting():
        _set_up(context)
        with context.traffic.running():
            for step in (_add_column, _rename_column, _change_type, _drop_column, _add_table, _elevate_entity):
                step(context)
        _reconcile(context)
        _print_figures(context)
    return programs.running if keep else []


def _set_up(context: Context) -> None:
    home, say = context.home, context.say
    postgres = parts(home)[0].address
    say("— METL: a matrix that follows the registry by itself, and a canonical data model of four entities.")
    install(postgres)
    context.programs.start("sync", "--watch")
    for schema in SNAPSHOT:
        context.wait_for_version(schema, 1)
    shutil.copytree(FOLDER / "cdm", home.path / "cdm")
    context.metl("entities", "apply", str(home.path / "cdm"), "--yes")
    context.metl("matrix", "import", str(FOLDER / "mappings.csv"))
    done = dbt.run(home, postgres, ["build"], quiet=True)
    if done.returncode:
        raise MetlError(f"dbt build failed. It says:\n{done.stdout}")
    say("dbt has derived the dense matrix and tested it.")

    say("— The live mapper starts, then traffic: some dozens of changes a second.")
    context.programs.start("map", "--job", JOB, "--topics", PATTERN, "--duration", BATCH_DURATION)
    context.programs.start("dead-letters", "collect", "--watch")
    context.wait_for_record(CUSTOMER, 1, lambda person: person["full_name"] == "Ada")


def _add_column(context: Context) -> None:
    context.say("— A column is added: the mapping is carried over, nobody is asked.")
    began = time.monotonic()
    context.alter("shop", "alter table customer add phone text")
    context.change("shop", "customer", "insert into customer (id, name, phone) values (3, 'Dan', '0123')")
    context.wait_for_record(CUSTOMER, 3, lambda person: person["full_name"] == "Dan")
    context.say(f"From the alter table to its first row mapped: {time.monotonic() - began:.1f} s.")
    context.metl("matrix", "suggest", CUSTOMER)
    context.metl("matrix", "block", "add", CUSTOMER, "newest", "person", "phone=phone")
    context.wait_for_mapper()
    context.change("shop", "customer", "update customer set phone = '0124' where id = 3")
    context.wait_for_record(CUSTOMER, 3, lambda person: person.get("phone") == "0124")


def _rename_column(context: Context) -> None:
    context.say("— A column is renamed, which no change log records: a cell is lost, and a notice says which.")
    context.alter("crm", "alter table contact rename mail to e_mail")
    context.change("crm", "contact", "insert into contact values (2, 'Eve', 'eve@example.org')")
    context.wait_for_version(CONTACT, 2)
    context.metl("plans", "notices")
    context.metl("matrix", "block", "add", CONTACT, "newest", "person", "email=e_mail")
    context.metl("plans", "acknowledge", "--all")
    context.wait_for_mapper()
    context.change("crm", "contact", "update contact set e_mail = 'eve@example.com' where id = 2")
    context.wait_for_record(CONTACT, 2, lambda person: person.get("email") == "eve@example.com")


def _change_type(context: Context) -> None:
    context.say("— A column gets another type: Auto-Update does not map an attribute whose type differs.")
    context.alter("billing", "alter table invoice alter order_id type text")
    context.change("billing", "invoice", "update invoice set order_id = 'A-1' where id = 1")
    context.wait_for_version(INVOICE, 2)
    context.metl("plans", "notices")
    context.metl("plans", "acknowledge", "--all")
    context.wait_for_record(INVOICE, 1, lambda invoice: "order_number" not in invoice)


def _drop_column(context: Context) -> None:
    context.say("— A steward wants to be asked before person loses anything. Then a column is dropped.")
    context.metl("plans", "policy", "set", "confirm", "--entity", "person")
    context.alter("shop", "alter table customer drop note")
    context.change("shop", "customer", "insert into customer (id, name) values (4, 'Fay')")
    [plan] = context.wait_for_row("No plan waits", "select plan_id from metl.plans")
    context.metl("plans", "list")
    context.metl("plans", "confirm", str(plan))
    context.wait_for_record(CUSTOMER, 4, lambda person: person["full_name"] == "Fay")


def _add_table(context: Context) -> None:
    context.say("— A table is new.")
    billing = context.services["billing"]
    billing.add_table("payment", "id int primary key, invoice_id int, amount numeric")
    context.change("billing", "payment", "insert into payment values (1, 1, 5.00)")
    context.wait_for_version(PAYMENT, 1)
    context.metl("matrix", "suggest", PAYMENT)
    cells = ("number=id", "invoice_number=invoice_id", "amount=amount")
    context.metl("matrix", "block", "set", PAYMENT, "1", "payment", *cells)
    context.wait_for_mapper()
    context.change("billing", "payment", "update payment set amount = 20.00 where id = 1")
    context.wait_for_record(PAYMENT, 1, lambda payment: payment.get("amount") == "20.00")


def _elevate_entity(context: Context) -> None:
    context.say("— The canonical data model changes: remark becomes comment, and persons get a language.")
    file = context.home.path / "cdm" / "person.yaml"
    text = file.read_text()
    text = text.replace("name: remark,", "name: comment, renamed_from: remark,")
    file.write_text(
        f"{text}  - {{name: language, type: string, description: What the person wants to be written in}}\n"
    )
    context.metl("entities", "plan", str(file.parent))
    context.metl("entities", "apply", str(file.parent), "--yes")
    context.wait_for_mapper()
    context.change("shop", "customer", "update customer set name = 'Ada L.' where id = 1")
    record = context.wait_for_record(CUSTOMER, 1, lambda person: person["full_name"] == "Ada L.")
    if record.value["version"] != 2:
        raise MetlError(f"The record should be of version 2 of person, but is {record.value}.")


def _reconcile(context: Context) -> None:
    context.say("— Is everything accounted for?")
    messages = reconcile.await_messages(context.topics, context.traffic.messages)
    filtered = "select rows_filtered from metl.jobs where job = %s"
    outcome = reconcile.await_records(
        context.topics, context.traffic.messages, lambda: context.query(filtered, JOB)[0][0]
    )
    context.say(
        f"{messages} messages of {context.traffic.rows} rows: {outcome['mapped']} mapped, "
        f"of which {outcome['replayed']} were dead letters first, "
        f"{outcome['filtered']} left out because nothing was mapped yet."
    )
    records = [record for record in context.topics.records if not record.is_dead]
    mappings = reconcile.read_mappings(parts(context.home)[0].address, {record.state for record in records})
    rows = reconcile.compare(context.services, records, mappings)
    context.say(f"All {rows} rows that the tables hold now are what came out last, value by value.")


def _print_figures(context: Context) -> None:
    [(latency,)] = context.query(
        "select latency_ms from metl.job_batches where job = %s and latency_ms is not null "
        "order by ended_at desc limit 1",
        JOB,
    )
    latencies = sorted(
        record.written_at - record.value["source"]["ts_ms"]
        for record in context.topics.records
        if not record.is_dead and record.value and record.value["op"] in "cud"
    )
    p50, p90 = statistics.median(latencies), latencies[int(len(latencies) * 0.9)]
    context.say(f"Kafka to Kafka, the mapper's last batch: p50 {latency['p50']} ms, p99 {latency['p99']} ms.")
    context.say(f"From the commit in the service to the mapped record: p50 {p50:.0f} ms, p90 {p90} ms.")
    [(elements, dense, stored, ratio)] = context.query("select elements, dpm, dusb, ratio from metl_marts.compaction")
    context.say(f"The matrix: {elements} elements, {dense} ones (DPM), {stored} stored (DUSB): {ratio:.1%} saved.")
