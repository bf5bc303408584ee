import socket
import stat
from pathlib import Path

import pytest

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
        chosen = home.port("kafka", preferred=taken)
    assert chosen != taken
    assert Home(home.path).port("kafka", preferred=taken) == chosen


def test_two_parts_never_get_the_same_port(home: Home) -> None:
    assert home.port("kafka", preferred=28999) != home.port("connect", preferred=28999)


def test_the_environment_sets_a_port(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METL_KAFKA_PORT", "29999")
    assert home.port("kafka", preferred=9092) == 29999


@pytest.mark.parametrize("value", ["", "many", "0", "65536", "-1", "80.5"])
def test_a_wrong_port_is_named(home: Home, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("METL_KAFKA_PORT", value)
    with pytest.raises(BadInput, match=f"METL_KAFKA_PORT={value} is not a port"):
        home.port("kafka", preferred=9092)


def test_a_spoilt_ports_file_is_named(home: Home) -> None:
    home.directory()
    home.ports_file.write_text("kafka=soon\n")
    with pytest.raises(BadInput, match=r"ports.properties says kafka=soon.*Remove that line"):
        home.port("kafka", preferred=9092)


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
