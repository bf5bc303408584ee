"""How long the local stack takes to start, relative to starting its parts sequentially."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.table import Table

from metl.home import Home
from metl.stack import parts, supervisor
from metl.util.terminal import console


def silent(_part: str, _text: str) -> None:
    pass


def timed(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder, "home"))
        stack = parts(home)
        try:
            first = timed(lambda: supervisor.up(home, stack, silent))
            supervisor.down(home, stack, silent)
            concurrent = timed(lambda: supervisor.up(home, stack, silent))
            resident = sum(each.resident_bytes for each in supervisor.status(stack))
            down = timed(lambda: supervisor.down(home, stack, silent))
            sequential = timed(lambda: [supervisor.up(home, parts(home, (part.name,)), silent) for part in stack])
        finally:
            supervisor.down(home, stack, silent)

    table = Table("what", "seconds", "ratio")
    table.add_row("parts started sequentially", f"{sequential:.1f}", "1.00")
    table.add_row("metl up", f"{concurrent:.1f}", f"{concurrent / sequential:.2f}")
    table.add_row("metl up on an empty METL_HOME", f"{first:.1f}", f"{first / sequential:.2f}")
    table.add_row("metl down", f"{down:.1f}", f"{down / sequential:.2f}")
    console.print(table)
    console.print(f"resident in all: {resident / 10**9:.2f} GB")


if __name__ == "__main__":
    main()
