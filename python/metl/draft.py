"""Drafts of the next version of a schema, as their producers keep them."""

import json
from dataclasses import dataclass
from typing import Any

from metl.errors import BadInput


@dataclass(frozen=True)
class Draft:
    #: As metl.simulate takes them, which also says what is wrong with one.
    attributes: Any
    #: What the draft may call its schema, the most telling first.
    names: list[str]


def read(text: bytes, path: str) -> Draft:
    """METL's own array of attributes."""
    found = _parse(text, path)
    if isinstance(found, list):
        return Draft(found, [])
    raise BadInput(f'{path} is not an array of attributes. Give [{{"name": "id", "type": "int32"}}, …].')


def _parse(text: bytes, path: str) -> Any:
    try:
        return json.loads(text)
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not text in UTF-8.") from None
    except json.JSONDecodeError as error:
        raise BadInput(f"{path} is not JSON: {error.msg} in line {error.lineno}, column {error.colno}.") from None
    except RecursionError:
        raise BadInput(f"{path} is nested too deeply.") from None
