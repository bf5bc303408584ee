import sys
from pathlib import Path

import pytest

from metl.errors import BadInput
from metl.jvm import java


@pytest.fixture
def fake_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """JAVA_HOME with a java that the test writes."""
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    return program


def write(program: Path, says: str) -> None:
    program.write_text(f"#!{sys.executable}\nimport sys\nsys.stderr.write({says!r})\n")
    program.chmod(0o755)


@pytest.mark.parametrize(
    ("says", "version"),
    [('openjdk version "17.0.15" 2025-04-15', 17), ('java version "25" 2025-09-16', 25), ('version "21-ea"', 21)],
)
def test_a_new_enough_java_is_taken(fake_java: Path, says: str, version: int) -> None:
    write(fake_java, says)
    assert java.machine_java() == fake_java
    assert java.major_version(fake_java) == version


@pytest.mark.parametrize(
    ("says", "complaint"),
    [
        ('openjdk version "1.8.0_402"', "is Java 8, which is too old"),
        ('openjdk version "11.0.2"', "is Java 11, which is too old"),
        ("Segmentation fault", "does not say its version"),
    ],
)
def test_an_old_or_broken_java_is_refused_with_the_way_out(fake_java: Path, says: str, complaint: str) -> None:
    write(fake_java, says)
    with pytest.raises(BadInput, match=complaint) as refusal:
        java.machine_java()
    assert "Install Java 17 or newer" in str(refusal.value)


def test_no_java_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match="No Java was found"):
        java.machine_java()


def test_a_java_home_without_java_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(BadInput, match="nowhere has no bin/java"):
        java.machine_java()
