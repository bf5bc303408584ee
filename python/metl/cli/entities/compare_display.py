"""The answer of metl entities compare, for people and for programs."""

import json
from dataclasses import dataclass
from typing import Any

from metl.util.terminal import plural, print_table, printable, say
from metl.warehouse.compare.summary import DIFFERENT, EXTRA, IN_FLIGHT, MISSING, REJECTED, excerpts
from metl.warehouse.compare.tables import Comparison

KINDS = (MISSING, EXTRA, DIFFERENT, REJECTED, IN_FLIGHT)
#: Of a value in a table.
WIDTH = 60


@dataclass(frozen=True)
class Report:
    entity: str
    comparisons: list[Comparison]
    #: Rows of the warehouse by topics that no newest version feeds it from.
    others: dict[str, int]
    #: Jobs that are behind or have failed: name, whether it runs, how many messages wait for it.
    jobs: list[tuple[str, bool, int | None]]

    @property
    def differs(self) -> bool:
        return any(each.differs for each in self.comparisons)


def plain(report: Report) -> dict[str, Any]:
    return {
        "entity": report.entity,
        "differs": report.differs,
        "schemas": [_plain(each) for each in report.comparisons],
        "other_sources": report.others,
        "jobs": [{"job": job, "running": running, "lag": lag} for job, running, lag in report.jobs],
    }


def _plain(done: Comparison) -> dict[str, Any]:
    summary = done.summary
    return {
        "schema": done.feed.schema,
        "version": done.feed.version,
        "topic": done.topic,
        "table": done.table,
        "differs": done.differs,
        "rows": done.rows,
        "equal": done.equal,
        **{kind.replace(" ", "_"): summary.counts[kind] for kind in KINDS},
        "keys": {kind.replace(" ", "_"): keys for kind, keys in summary.keys.items()},
        "columns": {
            name: {
                "different": column.different,
                "not_brought": column.not_brought,
                "examples": [example._asdict() for example in column.examples],
            }
            for name, column in summary.columns.items()
        },
        "rejections": dict(summary.reasons),
        "not_fed": done.not_fed,
        "not_compared": done.not_compared,
        "looked_at_once": done.is_rough,
        "sample": done.is_sample,
    }


def show(report: Report) -> None:
    print_table(
        ["schema", "rows", "equal", *KINDS],
        [
            (done.feed.schema, done.rows, done.equal, *(done.summary.counts[kind] for kind in KINDS))
            for done in report.comparisons
        ],
    )
    for done in report.comparisons:
        _show_columns(done)
        _show_rows(done)
    for done in report.comparisons:
        _explain(done)
    for topic, count in report.others.items():
        say(f"The warehouse has {plural(count, 'row')} of {printable(topic)}, whose newest version feeds nothing.")
    for job, running, lag in report.jobs:
        doing = "is" if running else "does not run; it was"
        behind = f"{doing} {plural(lag, 'message')} behind" if lag else "does not run"
        say(f"Job {printable(job)} {behind}, so that differences may be in flight. See: metl jobs list")
    say(_verdict(report))


def _verdict(report: Report) -> str:
    if report.differs:
        return "Source and warehouse differ."
    if not any(done.is_sample for done in report.comparisons):
        return "Source and warehouse do not differ."
    compared = plural(sum(done.rows for done in report.comparisons), "row")
    return f"No difference in the sample of {compared}. Other rows were not compared."


def _show_columns(done: Comparison) -> None:
    if not done.summary.columns:
        return
    say(f"\n{printable(done.feed.schema)}, by attribute", "bold")
    columns = sorted(done.summary.columns.items(), key=lambda each: -each[1].different)
    print_table(
        ["attribute", "different", "not brought by a message"],
        [(name, column.different, column.not_brought) for name, column in columns],
    )
    print_table(
        ["attribute", "key", "at the source", "in the warehouse"],
        [
            (name, _key(example.key), *excerpts(example.source, example.warehouse, WIDTH))
            for name, column in columns
            for example in column.examples
        ],
    )


def _show_rows(done: Comparison) -> None:
    rows = [(kind, _key(key)) for kind in KINDS if kind != DIFFERENT for key in done.summary.keys.get(kind, [])]
    if rows:
        say(f"\n{printable(done.feed.schema)}, by row", "bold")
        print_table(["what", "key"], rows)


def _explain(done: Comparison) -> None:
    schema = printable(done.feed.schema)
    for reason, count in done.summary.reasons.most_common():
        say(f"{schema}: {plural(count, 'row')} rejected: {printable(reason)}")
    for name, count in done.not_fed.items():
        if count:
            say(
                f"{schema}: version {done.feed.version} does not feed {printable(name)}; the warehouse has "
                f"values of it in {plural(count, 'row')}."
            )
    for name, why in done.not_compared.items():
        say(f"{schema}: {printable(name)} is not compared: {why}.")
    if done.is_rough:
        say(f"{schema}: so many rows differ that they were looked at only once: some may be in flight.")


def _key(key: object) -> str:
    return json.dumps(key, ensure_ascii=False)
