"""The last line of a load."""

from typing import Any

import pytest

from metl_spark.loading.bar import Bar

BATCH = {"began_at": "2026-01-01T00:00:00Z", "ended_at": "2026-01-01T00:00:16.1Z", "lag": 0}


@pytest.mark.parametrize(
    ("batches", "sentence"),
    [
        ([], "0 messages read, 0 records sent, 0 left out on purpose, 0 dead letters."),
        (
            [{"rows_in": 1, "rows_out": 1, "rows_filtered": 0, "dead": {"bad_json": 1}}],
            "1 message read (in 16.1 s), 1 record sent, 0 left out on purpose, 1 dead letter (bad_json 1).",
        ),
        (
            [{"rows_in": 1346, "rows_out": 2000, "rows_filtered": 2, "dead": {}}],
            "1,346 messages read (in 16.1 s), 2,000 records sent, 2 left out on purpose, 0 dead letters.",
        ),
    ],
)
def test_it_says_how_many_of_what(
    batches: list[dict[str, Any]], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with Bar("load") as bar:
        for batch in batches:
            bar.update(BATCH | batch)
    bar.summarize()
    assert capsys.readouterr().out.splitlines()[-1] == sentence
