"""Addresses of HTTP servers."""

import re
from urllib.parse import urlsplit


def is_http(url: str) -> bool:
    """Whether something could answer there."""
    try:
        parts = urlsplit(url)
        return bool(parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and " " not in url)
    except ValueError:
        return False


def without_password(url: str) -> str:
    """For messages: http://user:secret@host/path as http://host/path."""
    return re.sub(r"(?<=//)[^/]*@", "", url)
