"""Runs a program to its end; a cancelled caller kills it."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from metl.errors import MetlError


class ToolFailed(MetlError):
    def __init__(self, what: str, code: int, output: str) -> None:
        super().__init__(f"{what} failed with exit code {code}:\n{output}")
        self.output = output


async def run(
    what: str,
    argv: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """Returns its output; `what` names it in the error."""
    process = await asyncio.create_subprocess_exec(
        *map(str, argv),
        cwd=cwd,
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        # So that Ctrl-C at the terminal reaches METL only, which cancels.
        start_new_session=True,
    )
    try:
        output, _ = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    text = output.decode(errors="replace")
    if process.returncode:
        raise ToolFailed(what, process.returncode, text)
    return text
