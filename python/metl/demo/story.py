"""What happens in the services, and what METL makes of it. Each claim is checked; one that fails ends the demo."""

import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from metl.db.install import install
from metl.demo import accounts, services
from metl.demo.programs import Program, Programs
from metl.demo.stage import JOB, Stage
from metl.demo.topics import Topics
from metl.demo.traffic import Traffic
from metl.errors import MetlError
from metl.home import Home
from metl.marts import dbt
from metl.stack import parts

HERE = Path(__file__).parent
PATTERN = r"(shop|crm|billing)\.public\..*"
# Short batches: a new state is taken up soon, at the price of more gaps.
DURATION = "3"
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


def play(home: Home, say: Callable[[str], None], *, keep: bool = False) -> list[Program]:
    """Plays it on a stack that is up; raises if a claim does not hold. Returns what it leaves running, if asked to."""
    say("— Three services, each with a database of its own. Debezium reads their change logs.")
    made = services.start(home, ROWS)
    for service in made.values():
        say(f"{service.name}: {', '.join(service.tables)}")
    programs = Programs(home, say)
    stage = Stage(home, say, programs, made, Traffic(made), Topics(parts(home)[1].address))
    stage.traffic.messages.update(SNAPSHOT)
    with programs.ended(keep), stage.topics.heard():
        _begin(stage)
        with stage.traffic.going_on():
            for act in (_add_column, _rename_column, _change_type, _drop_column, _add_table, _elevate_entity):
                act(stage)
        _account(stage)
        _figures(stage)
    return programs.running if keep else []


def _begin(stage: Stage) -> None:
    home, say = stage.home, stage.say
    postgres = parts(home)[0].address
    say("— METL: a matrix that follows the registry by itself, and a canonical data model of four entities.")
    install(postgres)
    stage.programs.start("sync", "--watch")
    for schema in SNAPSHOT:
        stage.known(schema, 1)
    shutil.copytree(HERE / "cdm", home.path / "cdm")
    stage.metl("cdm", "apply", str(home.path / "cdm"), "--yes")
    stage.metl("import", str(HERE / "mappings.csv"))
    done = dbt.run(home, postgres, ["build"], quiet=True)
    if done.returncode:
        raise MetlError(f"dbt build failed. It says:\n{done.stdout}")
    say("dbt has derived the dense matrix and tested it.")

    say("— The live mapper starts, then traffic: some dozens of changes a second.")
    stage.programs.start("map", "--job", JOB, "--topics", PATTERN, "--duration", DURATION)
    stage.programs.start("dead", "collect", "--watch")
    stage.mapped(CUSTOMER, 1, lambda person: person["full_name"] == "Ada")


def _add_column(stage: Stage) -> None:
    stage.say("— A column is added: the mapping is carried over, nobody is asked.")
    began = time.monotonic()
    stage.alter("shop", "alter table customer add phone text")
    stage.change("shop", "customer", "insert into customer (id, name, phone) values (3, 'Dan', '0123')")
    stage.mapped(CUSTOMER, 3, lambda person: person["full_name"] == "Dan")
    stage.say(f"From the alter table to its first row mapped: {time.monotonic() - began:.1f} s.")
    stage.metl("suggest", CUSTOMER)
    stage.metl("block", "add", CUSTOMER, "newest", "person", "phone=phone")
    stage.taken_up()
    stage.change("shop", "customer", "update customer set phone = '0124' where id = 3")
    stage.mapped(CUSTOMER, 3, lambda person: person.get("phone") == "0124")


def _rename_column(stage: Stage) -> None:
    stage.say("— A column is renamed, which a change log does not tell: a cell is lost, and a notice says which.")
    stage.alter("crm", "alter table contact rename mail to e_mail")
    stage.change("crm", "contact", "insert into contact values (2, 'Eve', 'eve@example.org')")
    stage.known(CONTACT, 2)
    stage.metl("notices")
    stage.metl("block", "add", CONTACT, "newest", "person", "email=e_mail")
    stage.metl("notices", "confirm", "--all")
    stage.taken_up()
    stage.change("crm", "contact", "update contact set e_mail = 'eve@example.com' where id = 2")
    stage.mapped(CONTACT, 2, lambda person: person.get("email") == "eve@example.com")


def _change_type(stage: Stage) -> None:
    stage.say("— A column gets another type: what means something else is not mapped by itself.")
    stage.alter("billing", "alter table invoice alter order_id type text")
    stage.change("billing", "invoice", "update invoice set order_id = 'A-1' where id = 1")
    stage.known(INVOICE, 2)
    stage.metl("notices")
    stage.metl("notices", "confirm", "--all")
    stage.mapped(INVOICE, 1, lambda invoice: "order_number" not in invoice)


def _drop_column(stage: Stage) -> None:
    stage.say("— A steward wants to be asked before person loses anything. Then a column is dropped.")
    stage.metl("policy", "set", "confirm", "--entity", "person")
    stage.alter("shop", "alter table customer drop note")
    stage.change("shop", "customer", "insert into customer (id, name) values (4, 'Fay')")
    [plan] = stage.until("No plan waits", "select plan_id from metl.plans")
    stage.metl("plans")
    stage.metl("plans", "confirm", str(plan))
    stage.mapped(CUSTOMER, 4, lambda person: person["full_name"] == "Fay")


def _add_table(stage: Stage) -> None:
    stage.say("— A table is new.")
    billing = stage.services["billing"]
    billing.add_table("payment", "id int primary key, invoice_id int, amount numeric")
    stage.change("billing", "payment", "insert into payment values (1, 1, 5.00)")
    stage.known(PAYMENT, 1)
    stage.metl("suggest", PAYMENT)
    cells = ("number=id", "invoice_number=invoice_id", "amount=amount")
    stage.metl("block", "set", PAYMENT, "1", "payment", *cells)
    stage.taken_up()
    stage.change("billing", "payment", "update payment set amount = 20.00 where id = 1")
    stage.mapped(PAYMENT, 1, lambda payment: payment.get("amount") == "20.00")


def _elevate_entity(stage: Stage) -> None:
    stage.say("— The canonical data model changes: remark becomes comment, and persons get a language.")
    file = stage.home.path / "cdm" / "person.yaml"
    text = file.read_text()
    text = text.replace("name: remark,", "name: comment, renamed_from: remark,")
    file.write_text(
        f"{text}  - {{name: language, type: string, description: What the person wants to be written in}}\n"
    )
    stage.metl("cdm", "plan", str(file.parent))
    stage.metl("cdm", "apply", str(file.parent), "--yes")
    stage.taken_up()
    stage.change("shop", "customer", "update customer set name = 'Ada L.' where id = 1")
    record = stage.mapped(CUSTOMER, 1, lambda person: person["full_name"] == "Ada L.")
    if record.value["version"] != 2:
        raise MetlError(f"The record should be of version 2 of person, but is {record.value}.")


def _account(stage: Stage) -> None:
    stage.say("— Is everything accounted for?")
    messages = accounts.await_messages(stage.topics, stage.traffic.messages)
    filtered = "select rows_filtered from metl.jobs where job = %s"
    outcome = accounts.await_records(stage.topics, stage.traffic.messages, lambda: stage.ask(filtered, JOB)[0][0])
    stage.say(
        f"{messages} messages of {stage.traffic.rows} rows: {outcome['mapped']} mapped, of which {outcome['replayed']} "
        f"were dead letters first, {outcome['filtered']} left out because nothing was mapped yet."
    )
    records = [record for record in stage.topics.records if not record.is_dead]
    known = accounts.mappings(parts(stage.home)[0].address, {record.state for record in records})
    rows = accounts.compare(stage.services, records, known)
    stage.say(f"All {rows} rows that the tables hold now are what came out last, value by value.")


def _figures(stage: Stage) -> None:
    [(latency,)] = stage.ask(
        "select latency_ms from metl.job_batches where job = %s and latency_ms is not null "
        "order by ended_at desc limit 1",
        JOB,
    )
    waits = sorted(
        record.written_at - record.value["source"]["ts_ms"]
        for record in stage.topics.records
        if not record.is_dead and record.value and record.value["op"] in "cud"
    )
    middle, late = statistics.median(waits), waits[int(len(waits) * 0.9)]
    stage.say(f"Kafka to Kafka, the mapper's last batch: p50 {latency['p50']} ms, p99 {latency['p99']} ms.")
    stage.say(f"From the commit in the service to the mapped record: p50 {middle:.0f} ms, p90 {late} ms.")
    [(elements, dense, stored, ratio)] = stage.ask("select elements, dpm, dusb, ratio from metl_marts.compaction")
    stage.say(f"The matrix: {elements} elements, {dense} ones (DPM), {stored} stored (DUSB): {ratio:.1%} saved.")
