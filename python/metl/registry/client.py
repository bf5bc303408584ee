"""The registry's HTTP client."""

import threading

from metl.config import require_registry_url
from metl.util.http import Client

RETRIES = 4
TIMEOUT = 20.0
WAY_OUT = "Is METL_REGISTRY right, or the local one up (`metl up registry`)?"


def registry_client(url: str, stop: threading.Event | None = None) -> Client:
    require_registry_url(url)
    return Client(url, retries=RETRIES, timeout=TIMEOUT, stop=stop, way_out=WAY_OUT)
