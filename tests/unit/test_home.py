import socket
import stat
from pathlib import Path

import pytest

from metl.config import choose_port
from metl.errors import BadInput
from metl.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def test_a_port_is_chosen_once_and_remembered(home: Home) -> None:
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        taken = stranger.getsockname()[1]
        choose_port(home, "kafka", preferred=taken)
    chosen = home.port("kafka")
    assert chosen not in (0, taken)
    choose_port(home, "kafka", preferred=taken)
    assert Home(home.path).port("kafka") == chosen


def test_two_parts_never_get_the_same_port(home: Home) -> None:
    for name in ("kafka", "connect"):
        choose_port(home, name, preferred=28999)
    assert home.port("kafka") != home.port("connect")


def test_asking_for_a_port_chooses_none(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METL_KAFKA_PORT", "29999")
    assert home.port("kafka") == 0
    assert not home.path.exists()


def test_the_environment_sets_a_port(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METL_KAFKA_PORT", "29999")
    choose_port(home, "kafka", preferred=9092)
    assert home.port("kafka") == 29999


@pytest.mark.parametrize("value", ["", "many", "0", "65536", "-1", "80.5"])
def test_a_wrong_port_is_named(home: Home, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("METL_KAFKA_PORT", value)
    with pytest.raises(BadInput, match=f"METL_KAFKA_PORT={value} is not a port"):
        choose_port(home, "kafka", preferred=9092)


def test_ports_are_chosen_from_a_range(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METL_PORTS", "21000-21009")
    choose_port(home, "kafka", preferred=9092)
    assert 21000 <= home.port("kafka") <= 21009


@pytest.mark.parametrize("value", ["21000", "21009-21000", "a-b", "0-10", "-"])
def test_a_wrong_range_of_ports_is_named(home: Home, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("METL_PORTS", value)
    with pytest.raises(BadInput, match=f"METL_PORTS={value} is not a range of ports"):
        choose_port(home, "kafka", preferred=9092)


@pytest.mark.parametrize("value", [b"soon", b"99999", b"\xff\xfe"])
def test_a_spoilt_ports_file_is_named(home: Home, value: bytes) -> None:
    home.directory()
    home.ports_file.write_bytes(b"kafka=" + value + b"\n")
    with pytest.raises(BadInput, match=r"ports.properties says kafka=.*which is not a port\. Remove that line"):
        home.port("kafka")


@pytest.mark.parametrize("awkward", [",", ";", "\\"])
def test_a_home_whose_path_kafka_would_misread_is_refused(tmp_path: Path, awkward: str) -> None:
    with pytest.raises(BadInput, match="Set METL_HOME to a folder without it"):
        Home(tmp_path / f"a{awkward}b").directory()


def test_passwords_are_kept_and_readable_by_the_owner_only(home: Home) -> None:
    password = home.password("metl_owner")
    assert len(password) >= 24
    assert Home(home.path).password("metl_owner") == password
    assert home.password("somebody_else") != password
    assert stat.S_IMODE(home.passwords_file.stat().st_mode) == 0o600


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match=r"METL_HOME=.*file/home cannot be used: Not a directory\. Set METL_HOME"):
        Home(tmp_path / "file" / "home").directory()
