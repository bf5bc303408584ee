"""Connectors and checks on a terminal."""

from collections import Counter
from collections.abc import Callable, Sequence

from rich.text import Text

from metl.capture.checks import Finding
from metl.capture.health import Health
from metl.capture.snapshots import SnapshotResult
from metl.util.terminal import format_time, join_names, print_table, printable, say

COLOURS = {
    "fine": "green", "note": "yellow", "refused": "red",
    "running": "green", "failed": "red", "unassigned": "red", "unreachable": "red",
}  # fmt: skip


def print_findings(findings: Sequence[Finding]) -> None:
    shown = ((each.about, _coloured(each.verdict), each.finding, each.way_out) for each in findings)
    print_table(("of", "verdict", "finding", "way out"), shown)


def print_connectors(connectors: Sequence[Health]) -> None:
    """A line for each, and beneath what is wrong with the way out."""
    columns = ("connector", "status", "tasks", "tables", "behind", "WAL kept", "last event")
    print_table(columns, [_cells(each) for each in connectors])
    for each in connectors:
        if each.problem is not None:
            say(f"{each.connector}: {printable(each.problem)}", "red")
            say(f"  Way out: {printable(each.way_out or '')}")


def _cells(health: Health) -> tuple[object, ...]:
    tasks = ", ".join(f"{count} {state}" for state, count in Counter(task["state"] for task in health.tasks).items())
    return (
        health.connector,
        Text(health.status, "red" if health.is_bad else COLOURS.get(health.status, "")),
        tasks or None,
        join_names(health.tables),
        _size(health.behind_bytes),
        _size(health.wal_bytes),
        format_time(health.last_event_at),
    )


def _coloured(verdict: str) -> Text:
    return Text(verdict, COLOURS[verdict])


def _size(count: int | None) -> str | None:
    if count is None:
        return None
    value = float(max(count, 0))
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def warn_of_silence(snapshots: Sequence[SnapshotResult | None], report: Callable[[str], None]) -> None:
    """A null stands for a connector without notifications."""
    if None in snapshots:
        report("The connector does not tell how its snapshots go; its task runs.")
