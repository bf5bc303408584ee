"""Java's .properties files: whatever java.util.Properties reads, METL reads alike."""

import subprocess
from pathlib import Path
from random import Random

import pytest

from metl.errors import BadInput
from metl.jvm import java
from metl.streams.client_options import read_kafka_options
from metl.util.properties import parse_properties, read_properties, write_properties

PIECES = [
    *("=", ":", " ", "\t", "\f", "\\", "\\\\", "\n", "\r", "\r\n", "\\\n", "\\\r\n", "#", "!"),
    *("\\=", "\\:", "\\ ", "\\#", "\\!", "\\t", "\\n", "\\r", "\\f", "\\q", "\\u0041", "\\u00e9", "\\u12"),
    *("\\ud83d\\ude00", "\\ud83d", "a", "b.c", "u", '"', ";", "é", "漢", "😀", "\x85", "\u2028", "\x0b", "\x1c"),
]


def units(text: str) -> str:
    return text.encode("utf-16-be", "surrogatepass").hex()


def read_by_metl(text: str) -> str:
    try:
        found = {units(each.name): units(each.value or "") for each in parse_properties(text, "file")}
    except BadInput:
        return "malformed"
    return " ".join(sorted(f"{name}={value}" for name, value in found.items()))


def read_by_java(texts: list[str], folder: Path) -> list[str]:
    files = [folder / f"{number}.properties" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_bytes(text.encode())
    command = [java.machine_java(), Path(__file__).with_name("ReadProperties.java")]
    done = subprocess.run(command, input="\n".join(map(str, files)), capture_output=True, text=True, check=True)
    # A backslash that ends the file is an empty name to Java, and nothing to METL.
    return [" ".join(each for each in line.split() if each != "=") for line in done.stdout.splitlines()]


def test_generated_files_are_read_as_java_reads_them(tmp_path: Path) -> None:
    random = Random(1)
    texts = ["".join(random.choices(PIECES, k=random.randint(0, 25))) for _ in range(3000)]
    for text, expected in zip(texts, read_by_java(texts, tmp_path), strict=True):
        assert " ".join(each for each in read_by_metl(text).split() if each != "=") == expected, repr(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("security.protocol=SSL", {"security.protocol": "SSL"}),
        ("security.protocol : SSL", {"security.protocol": "SSL"}),
        ("security.protocol\tSSL", {"security.protocol": "SSL"}),
        ("! comment = 1\n  # comment\\\nclient.id = a b ", {"client.id": "a b"}),
        ("ssl.endpoint.identification.algorithm=", {"ssl.endpoint.identification.algorithm": ""}),
        (
            'x = Module required \\\n    username="a" \\\r\n  # no comment;\n',
            {"x": 'Module required username="a" # no comment;'},
        ),
        ("password = p\\u00e4\\\\\\t\\#", {"password": "pä\\\t#"}),
    ],
)
def test_spellings(tmp_path: Path, text: str, expected: dict[str, str]) -> None:
    file = tmp_path / "client.properties"
    file.write_bytes(text.encode())
    assert read_kafka_options(str(file), ()) == expected


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "client.properties"
    file.write_bytes("client.id = wörd".encode(encoding))
    assert read_kafka_options(str(file), ()) == {"client.id": "wörd"}


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"a=b\nhunter2\n", "Line 2 of .* is not name=value"),
        (b"a=b\\\n c\nd=\\u12 hunter2\n", "Line 3 of .* has .u without four hexadecimal digits"),
        (b"\xff\xfea\0", "is not a text file"),
    ],
)
def test_what_is_wrong_is_a_sentence_that_shows_no_value(tmp_path: Path, data: bytes, sentence: str) -> None:
    file = tmp_path / "client.properties"
    file.write_bytes(data)
    with pytest.raises(BadInput, match=sentence) as error:
        read_kafka_options(str(file), ())
    assert "hunter2" not in str(error.value)


def test_what_is_written_for_java_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "worker.properties"
    write_properties(file, "path=/home/jürgen/漢😀\n")
    assert [(each.name, each.value) for each in read_properties(file)] == [("path", "/home/jürgen/漢😀")]
