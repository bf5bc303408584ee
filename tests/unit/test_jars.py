import asyncio
import json
from pathlib import Path

import pytest

from metl.errors import MetlError
from metl.jvm import jars
from metl.util import process


@pytest.fixture
def fetched(tmp_path: Path) -> Path:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "one.jar").write_bytes(b"12345")
    (tmp_path / jars.MANIFEST).write_text(json.dumps({"lib/one.jar": 5}))
    return tmp_path


def test_a_whole_folder_is_undamaged(fetched: Path) -> None:
    assert jars.find_damage(fetched) is None


def test_a_truncated_jar_is_noticed(fetched: Path) -> None:
    (fetched / "lib" / "one.jar").write_bytes(b"12")
    assert str(jars.find_damage(fetched)).endswith("one.jar has 2 bytes instead of 5")


def test_a_missing_jar_is_noticed(fetched: Path) -> None:
    (fetched / "lib" / "one.jar").unlink()
    assert str(jars.find_damage(fetched)).endswith("one.jar is gone")


def test_a_spoilt_manifest_is_noticed(fetched: Path) -> None:
    (fetched / jars.MANIFEST).write_text("{")
    assert str(jars.find_damage(fetched)).endswith("is not readable")


def test_a_repository_out_of_reach_is_a_sentence_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unreachable(*_: object, **__: object) -> str:
        raise process.ToolFailed("Ivy", 1, "UNRESOLVED DEPENDENCIES\n\tat org.apache.ivy.Main.main(Main.java)\n")

    monkeypatch.setenv("METL_CACHE", str(tmp_path))
    monkeypatch.setattr(process, "run", unreachable)
    with pytest.raises(MetlError, match="jars of spark could not be fetched") as failure:
        asyncio.run(jars.fetch("spark", lambda text: None))
    assert "UNRESOLVED" in str(failure.value) and "Main.java" not in str(failure.value)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
