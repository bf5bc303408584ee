"""Concurrent coroutines."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


async def run_all(*jobs: Coroutine[Any, Any, Result]) -> list[Result]:
    """Their results in order. The first failure cancels the others and is raised, not in a group."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(job) for job in jobs]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]
