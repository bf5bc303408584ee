"""A mapper says once that a connector is dead whose topics it reads."""

import json
import re
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from metl_spark.runtime import connectors
from metl_spark.runtime.control import CONNECTORS

SHOP: dict[str, Any] = {"connector": "shop", "prefix": "shop", "status": "running", "tables": ["public.customer"]}
DEAD = {"status": "failed", "problem": "Slot metl_shop is gone.", "way_out": "metl capture restart shop --anew"}


@pytest.mark.parametrize(("topics", "lines"), [(r"shop\..*", 2), (r"crm\..*", 0)])
def test_it_is_said_once(database: str, monkeypatch: pytest.MonkeyPatch, topics: str, lines: int) -> None:
    monkeypatch.setattr(connectors, "CHECK_INTERVAL", 0)
    said: list[str] = []
    with psycopg.connect(database, autocommit=True) as connection:
        control: Any = SimpleNamespace(connectors=lambda: connection.execute(CONNECTORS.encode()).fetchall())
        settings: Any = SimpleNamespace(topics=topics, job="map", reads_captured_topics=True)
        watched = connectors.Connectors(control, settings, said.append)
        # Once for a moment, and then for good.
        for seen in (SHOP, SHOP | DEAD, SHOP, SHOP | DEAD, SHOP | DEAD, SHOP | DEAD, SHOP):
            connection.execute("select metl.report_connectors('http://here', %s)", [json.dumps([seen])])
            watched.check()
    assert len(said) == lines
    if lines:
        assert re.match(r"Job map waits for connector shop: Slot metl_shop is gone\. Way out: metl capture", said[0])
        assert said[1] == "Connector shop is well again."
