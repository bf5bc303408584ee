"""What commands were called up to METL 0.1, for whoever types an old name. CHANGELOG.md has the same table."""

from collections.abc import Sequence

RENAMED = {
    "logs": "stack logs",
    "env": "stack env",
    "fetch": "stack fetch",
    "tail": "streams tail",
    "cdm": "entities",
    "import": "matrix import",
    "export": "matrix export",
    "schemas": "matrix schemas",
    "block": "matrix block",
    "suggest": "matrix suggest",
    "notices": "plans notices",
    "notices confirm": "plans acknowledge",
    "policy": "plans policy list",
    "policy set": "plans policy set",
    "policy column": "plans policy set-column",
    "simulate": "matrix simulate",
    "search": "matrix search",
    "feeds": "matrix feeds",
    "fed-by": "matrix fed-by",
    "coverage": "entities coverage",
    "progression": "matrix progression",
    "states": "matrix states",
    "diff": "matrix diff",
    "dbt": "marts dbt",
    "dbt build": "marts build",
    "lineage": "marts lineage",
    "sql": "entities sql",
    "initial-load": "entities initial-load",
    "compare": "entities compare",
    "dbt-source": "entities dbt-source",
    "dead": "dead-letters summary",
    "dead list": "dead-letters list",
    "dead show": "dead-letters show",
    "dead replay": "dead-letters replay",
    "dead give-up": "dead-letters give-up",
    "dead collect": "dead-letters collect",
    "offsets": "jobs offsets",
    "offsets show": "jobs offsets",
    "offsets reset": "jobs reset",
    "snapshot": "capture snapshot",
    "reprocess": "streams reprocess",
    "diff-replay": "streams diff",
}


def renamed(words: Sequence[str]) -> str | None:
    """A sentence with the new name, if there is one: the more words it takes, the better."""
    for count in (2, 1):
        old = " ".join(words[:count])
        if len(words) >= count and old in RENAMED:
            return f"`metl {old}` is now `metl {RENAMED[old]}`."
    return None
