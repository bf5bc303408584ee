"""Connectors on Kafka Connect: made, looked at, deleted."""

import time
from typing import Any

from metl import rest
from metl.errors import BadInput, PartFailed
from metl.nearest import nearest

RUNNING_PATIENCE = 60.0


def config(connect: str, name: str) -> dict[str, str]:
    """The settings of a connector that is there."""
    try:
        found: dict[str, str] = rest.request("GET", f"{connect}/connectors/{name}/config")
    except rest.RestError as error:
        if error.status != 404:
            raise
        known = rest.request("GET", f"{connect}/connectors")
        raise BadInput(f"There is no connector {name!r}.{nearest(name, known)}") from None
    return found


def create(connect: str, name: str, settings: dict[str, str]) -> None:
    """Creates or changes a connector and waits until its task runs."""
    rest.request("PUT", f"{connect}/connectors/{name}/config", settings, timeout=60)
    end = time.monotonic() + RUNNING_PATIENCE
    while True:
        status = _status(connect, name)
        states = {status["connector"]["state"], *(task["state"] for task in status["tasks"])}
        if states == {"RUNNING"} and status["tasks"]:
            return
        if "FAILED" in states:
            traces = [part["trace"] for part in [status["connector"], *status["tasks"]] if "trace" in part]
            raise PartFailed(f"Connector {name} failed: {traces[0].splitlines()[0] if traces else status}")
        if time.monotonic() > end:
            raise PartFailed(f"Connector {name} does not run after {RUNNING_PATIENCE:.0f} s: {status}")
        time.sleep(0.2)


def delete(connect: str, name: str) -> None:
    rest.request("DELETE", f"{connect}/connectors/{name}", timeout=60)


def _status(connect: str, name: str) -> Any:
    try:
        return rest.request("GET", f"{connect}/connectors/{name}/status")
    except rest.RestError as error:
        # Not known yet, or the worker is distributing connectors anew.
        if error.status in (404, 409):
            return {"connector": {"state": "UNASSIGNED"}, "tasks": []}
        raise
