"""Connectors on Kafka Connect: made, looked at, restarted, deleted."""

import time
from typing import Any
from urllib.parse import quote

from metl.capture.causes import first_cause
from metl.capture.plugin import CONVERTER_CLASS
from metl.config import connect_url
from metl.errors import BadInput, MetlError, PartFailed
from metl.util import http
from metl.util.nearest import nearest

RUNNING_TIMEOUT = 60.0
REST_TIMEOUT = 60.0
POLL_INTERVAL = 0.2
#: From the worst to the best: a connector is as good as the worst of it and its tasks.
STATES = ("FAILED", "UNASSIGNED", "STOPPED", "PAUSED", "RESTARTING", "RUNNING")


address = connect_url


def request(method: str, address: str, body: object = None, timeout: float = REST_TIMEOUT) -> Any:
    """What Connect answers. While its workers distribute connectors anew it says 409: that passes."""
    end = time.monotonic() + timeout
    while True:
        try:
            return http.request(method, address, body, timeout)
        except http.RestError as error:
            if error.status is None:
                raise PartFailed(
                    f"Kafka Connect does not answer: {error}. Is METL_CONNECT right, or the local one up "
                    "(`metl up connect`)?"
                ) from None
            if error.status == 404 and "/connectors/" not in address.partition("?")[0]:
                raise PartFailed(f"What answers is no Kafka Connect: {error}. Is METL_CONNECT right?") from None
            if error.status != 409 or time.monotonic() > end:
                raise
        time.sleep(POLL_INTERVAL)


def url(connect: str, name: str, *path: str) -> str:
    """Of a connector: whoever made it may have given it any name."""
    return "/".join((connect, "connectors", quote(name, safe=""), *path))


def every(connect: str) -> dict[str, dict[str, Any]]:
    """Each connector's `info` and `status`."""
    found: dict[str, dict[str, Any]] = request("GET", f"{connect}/connectors?expand=info&expand=status", timeout=5)
    return found


def find_config(connect: str, name: str) -> dict[str, str] | None:
    """The settings of a connector, if it is there."""
    try:
        found: dict[str, str] = request("GET", url(connect, name, "config"))
    except http.RestError as error:
        if error.status == 404:
            return None
        raise
    return found


def config(connect: str, name: str) -> dict[str, str]:
    found = find_config(connect, name)
    if found is None:
        known = request("GET", f"{connect}/connectors")
        raise BadInput(f"There is no connector {name!r}.{nearest(name, known)}")
    return found


def create(connect: str, name: str, settings: dict[str, str]) -> None:
    """Creates or changes a connector and waits until its task runs."""
    put(connect, name, settings)
    await_running(connect, name)


def put(connect: str, name: str, settings: dict[str, str]) -> None:
    try:
        request("PUT", url(connect, name, "config"), settings)
    except http.RestError as error:
        if error.status == 500:
            # Kafka Connect fails to say what Debezium said when it tried the address.
            raise BadInput(
                f"Connector {name} cannot log in to {settings.get('database.dbname')} as "
                f"{settings.get('database.user')} with the password that it is told to use "
                "(--password), or cannot reach it. `metl logs connect` has the reason."
            ) from None
        if error.status != 400:
            raise
        # Debezium has tried the settings: it names each that is wrong.
        raise BadInput(f"Connector {name} does not take its settings: {error}") from None


def await_running(connect: str, name: str) -> None:
    end = time.monotonic() + RUNNING_TIMEOUT
    while True:
        found = status(connect, name)
        require_alive(name, found)
        if state(found) == "RUNNING" and found["tasks"]:
            return
        if time.monotonic() > end:
            raise PartFailed(f"Connector {name} does not run after {RUNNING_TIMEOUT:.0f} s: it is {state(found)}.")
        time.sleep(POLL_INTERVAL)


def status(connect: str, name: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = request("GET", url(connect, name, "status"))
    except http.RestError as error:
        # Not known yet.
        if error.status == 404:
            return {"connector": {"state": "UNASSIGNED"}, "tasks": []}
        raise
    return found


def state(status: dict[str, Any]) -> str:
    """The worst of connector and tasks."""
    found = {str(part["state"]) for part in (status["connector"], *status["tasks"])}
    return min(found, key=lambda each: STATES.index(each) if each in STATES else 0)


def traces(status: dict[str, Any]) -> set[str]:
    """Of what failed: they tell one failure from another."""
    return {part.get("trace", "") for part in (status["connector"], *status["tasks"]) if part["state"] == "FAILED"}


def failure(status: dict[str, Any]) -> str | None:
    """The first cause of what failed."""
    failed = [part for part in (status["connector"], *status["tasks"]) if part["state"] == "FAILED"]
    if not failed:
        return None
    trace = failed[-1].get("trace", "")
    if f"ClassNotFoundException: {CONVERTER_CLASS}" in trace:
        return (
            f"Kafka Connect does not have METL's converter, {CONVERTER_CLASS}: its plugin folder must have what "
            "`metl fetch debezium converter --to FOLDER` puts there"
        )
    return first_cause(trace)


def require_alive(name: str, status: dict[str, Any]) -> None:
    cause = failure(status)
    if cause is not None:
        raise MetlError(
            f"Connector {name} failed: {cause}. Mend that, then: metl capture restart {name}. "
            f"`metl status` shows whether it goes on."
        )


def restart(connect: str, name: str) -> None:
    """Also one that was paused or stopped."""
    request("PUT", url(connect, name, "resume"))
    request("POST", url(connect, name, "restart?includeTasks=true"))


def forget_offsets(connect: str, name: str) -> None:
    """Stops it and makes it forget how far it has read; its next start is like its first."""
    request("PUT", url(connect, name, "stop"))
    end = time.monotonic() + RUNNING_TIMEOUT
    while True:
        try:
            request("DELETE", url(connect, name, "offsets"))
            return
        except http.RestError as error:
            # A task that is about to stop.
            if error.status not in (400, 500) or time.monotonic() > end:
                raise
        time.sleep(POLL_INTERVAL)


def delete(connect: str, name: str) -> None:
    request("DELETE", url(connect, name))
