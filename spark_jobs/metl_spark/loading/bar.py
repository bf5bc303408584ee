"""The progress of a load on the terminal, with rate and time left, and its summary."""

from collections import Counter
from datetime import datetime
from types import TracebackType
from typing import Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from metl.util.terminal import console, plural


class Bar:
    def __init__(self, job: str) -> None:
        self._job = job
        self._counts: Counter[str] = Counter()
        self._seconds = 0.0
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(job, total=None, rate="")

    def __enter__(self) -> "Bar":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def say(self, text: str) -> None:
        self._bar.console.print(text, markup=False)

    def update(self, batch: dict[str, Any]) -> None:
        """Adds a batch that has ended."""
        self._counts.update({name: batch[name] for name in ("rows_in", "rows_out", "rows_filtered")})
        self._counts.update(batch["dead"])
        began, ended = (datetime.fromisoformat(batch[name]) for name in ("began_at", "ended_at"))
        self._seconds += (ended - began).total_seconds()
        done = self._counts["rows_in"]
        rate = f"{done / self._seconds:,.0f} messages/s" if self._seconds else ""
        self._bar.update(self._task, completed=done, total=done + batch["lag"], rate=rate)

    @property
    def messages(self) -> int:
        return self._counts["rows_in"]

    def summarize(self) -> None:
        dead = {name: count for name, count in self._counts.items() if not name.startswith("rows_") and count}
        reasons = f" ({', '.join(f'{reason} {count:,}' for reason, count in sorted(dead.items()))})" if dead else ""
        took = f" (in {self._seconds:,.1f} s)" if self._seconds else ""
        click.echo(
            f"{plural(self._counts['rows_in'], 'message')} read{took}, {plural(self._counts['rows_out'], 'record')} "
            f"sent, {self._counts['rows_filtered']:,} left out on purpose, "
            f"{plural(sum(dead.values()), 'dead letter')}{reasons}."
        )
