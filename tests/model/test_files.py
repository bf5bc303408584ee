"""Entities in YAML: what is read, and what is refused, all of it at once."""

import json
import textwrap
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from metl.cdm.entity import Attribute, Entity
from metl.cdm.export import as_yaml, write
from metl.cdm.files import read
from metl.cdm.form import Types, editor_schema
from metl.cli import main
from metl.errors import BadInput
from metl.util.problems import InvalidFiles

TYPES = Types(frozenset(["integer", "string", "date", "any"]), {"varchar": "string", "int32": "integer"})


def read_text(folder: Path, text: str | bytes, name: str = "cdm.yaml") -> list[Entity]:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(path, TYPES)


def problems(folder: Path, text: str | bytes) -> list[str]:
    """Without the folder before each of them."""
    with pytest.raises(InvalidFiles) as caught:
        read_text(folder, text)
    return [str(problem).removeprefix(f"{folder}/") for problem in caught.value.problems]


def test_everything_that_can_be_said(tmp_path: Path) -> None:
    text = """
        # people
        entity: person
        description: Somebody we know
        attributes:
          - {name: number, type: integer, description: What we call them, optional: yes, renamed_from: id}
          - name: 'no'
            type: string
            description:
            optional: false
        ---
        ---
        entity: nothing
        attributes: []
    """
    assert read_text(tmp_path, textwrap.dedent(text)) == [
        Entity(
            "person",
            "Somebody we know",
            (Attribute("number", "integer", "What we call them", True, "id"), Attribute("no", "string")),
        ),
        Entity("nothing", None, ()),
    ]


@pytest.mark.parametrize(
    ("text", "is_valid"),
    [
        ("{entity: person, attributes: []}", True),
        ("{entity: p, description: x, attributes: [{name: a, type: string, optional: yes, renamed_from: b}]}", True),
        ("{entity: p, description: , attributes: [{name: a, type: any, optional: , description: }]}", True),
        ("{entity: p}", False),
        ("{entity: no, attributes: []}", False),
        ("{entity: '', attributes: []}", False),
        ("{entity: p, attributes: [{name: a}]}", False),
        ("{entity: p, attributes: [{name: a, type: strng}]}", False),
        ("{entity: p, attributes: [{name: 1, type: string}]}", False),
        ("{entity: p, attributes: [{name: a, type: string, optional: maybe}]}", False),
        ("{entity: p, attributes: [{name: a, type: string, kind: x}]}", False),
        ("{entity: p, attributes: {}, more: 1}", False),
    ],
)
def test_editors_are_told_the_same_rules(tmp_path: Path, text: str, is_valid: bool) -> None:
    schema = editor_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert jsonschema.Draft202012Validator(schema).is_valid(yaml.safe_load(text)) == is_valid
    if is_valid:
        read_text(tmp_path, text)
    else:
        problems(tmp_path, text)


def test_the_schema_for_editors_is_printed_without_a_database() -> None:
    printed = CliRunner().invoke(main, ["entities", "export", "--editor-schema"], env={"METL_DSN": "nonsense"})
    assert (printed.exit_code, json.loads(printed.stdout)) == (0, editor_schema())


def test_a_type_that_is_empty_is_a_mistake(tmp_path: Path) -> None:
    [problem] = problems(tmp_path, "{entity: p, attributes: [{name: a, type: ''}]}")
    assert problem.startswith("cdm.yaml:1: There is no type ''.")


def test_an_alias_to_itself_ends(tmp_path: Path) -> None:
    text = "&a\nentity: person\nattributes: [*a]\ndescription: {b: *a}"
    assert "cdm.yaml:4: description is a mapping, not text." in problems(tmp_path, text)


def test_a_folder_with_all_that_is_below_it(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    for name in ("b.yaml", "a.yml", "below/c.yaml", "notes.txt"):
        read_text(tmp_path, f"{{entity: '{name}', attributes: []}}", name)
    assert [entity.name for entity in read(tmp_path, TYPES)] == ["a.yml", "b.yaml", "below/c.yaml"]


@pytest.mark.parametrize("word", ["no", "on", "yes", "true", "1.0", "12", "0x1f", "2024-01-01", ".inf", "12:30"])
@pytest.mark.parametrize("key", ["entity", "name", "renamed_from"])
def test_what_yaml_does_not_take_for_text_is_no_name(tmp_path: Path, key: str, word: str) -> None:
    members = {"name": "a", "type": "string", key: word}
    entity = members.pop("entity", "person")
    given_ = ", ".join(f"{name}: {value}" for name, value in members.items())
    [problem] = problems(tmp_path, f"entity: {entity}\nattributes: [{{{given_}}}]")
    line = 1 if key == "entity" else 2
    assert problem.startswith(f"cdm.yaml:{line}: {key} {word} is a ")
    assert problem.endswith(f"to YAML. Put it into quotes: {key}: '{word}'")


def test_all_mistakes_at_once_by_file_and_line(tmp_path: Path) -> None:
    text = """\
entity: person
descripton: x
attributes:
  - name: a
    type: strng
  - {name: b, type: varchar}
  - {name: a, type: date, optional: maybe}
  - {name: c, type: date, renamed_from: z, name: d}
  - {name: e, type: date, renamed_from: z, <<: {type: any}}
  - text
  - [list]
  - name:
    type: string
  - type: string
  - name: f
  - {name: ' ', type: any}
  - {name: [g], type: {h: i}}
  - {name: !!binary aaaa, type: any}
---
attributes: {a: b}
---
- entity: x
---
entity: y
description: {a: b}
---
entity: person
attributes: []
"""
    known = "Known are 'description', 'name', 'optional', 'renamed_from', 'type'."
    all_types = "any, date, integer, string."
    here = "Here should be an attribute, with name, type, description, optional, renamed_from, but this is"
    assert problems(tmp_path, text) == [
        "cdm.yaml:2: 'descripton' is no key of an entity. Did you mean 'description'?",
        "cdm.yaml:5: There is no type 'strng'. Did you mean 'string'?",
        "cdm.yaml:6: There is no type 'varchar'. Did you mean 'string'?",
        "cdm.yaml:7: optional is text ('maybe'), not true or false.",
        "cdm.yaml:8: name is there twice.",
        f"cdm.yaml:9: '<<' is no key of an attribute. {known}",
        "cdm.yaml:9: renamed_from 'z' is there already, in line 8.",
        f"cdm.yaml:10: {here} text ('text').",
        f"cdm.yaml:11: {here} a list.",
        "cdm.yaml:12: name is nothing, not a name.",
        "cdm.yaml:14: An attribute needs name.",
        f"cdm.yaml:15: An attribute needs a type: {all_types}",
        "cdm.yaml:16: name is empty.",
        "cdm.yaml:17: name is a list, not a name.",
        "cdm.yaml:17: type is a mapping, not text.",
        "cdm.yaml:18: name aaaa is tagged tag:yaml.org,2002:binary to YAML. Put it into quotes: name: 'aaaa'",
        "cdm.yaml:20: An entity needs entity.",
        "cdm.yaml:20: attributes is a mapping, not a list.",
        "cdm.yaml:22: Here should be an entity, with entity, description, attributes, but this is a list.",
        "cdm.yaml:24: An entity needs attributes: a list, each with name and type.",
        "cdm.yaml:25: description is a mapping, not text.",
        f"cdm.yaml:27: Entity 'person' is in {tmp_path / 'cdm.yaml'}:1 already.",
    ]


def test_the_same_entity_in_two_files(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        read_text(tmp_path, "# again\nentity: person\nattributes: []", name)
    with pytest.raises(InvalidFiles, match=f"b.yaml:2: Entity 'person' is in {tmp_path / 'a.yaml'}:2 already."):
        read(tmp_path, TYPES)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("entity: [", "cdm.yaml:1: This is not YAML: while parsing a flow node did not find expected node content."),
        ("a: b\n\tc: d", "cdm.yaml:2: This is not YAML:"),
        ("entity: a\nattributes: []\n---\n'", "cdm.yaml:4: This is not YAML:"),
        (b"entity: \xff\xfe\xff", "cdm.yaml: This is not YAML:"),
        ("entity: a\x00b", "cdm.yaml: This is not YAML:"),
        ("# only a comment\n---\n---\n", "cdm.yaml: There is no entity in it."),
        ("", "cdm.yaml: There is no entity in it."),
        ("*nobody", "cdm.yaml:1: This is not YAML: found undefined alias"),
        ("[" * 100_000, "cdm.yaml: This is nested more than 100 levels deep."),
        ("[" * 100_000 + "]" * 100_000, "cdm.yaml: This is nested more than 100 levels deep."),
        (f"entity: {'x' * 501}\nattributes: []", f"cdm.yaml:1: entity {'x' * 60!r}… has 501 characters."),
    ],
)  # fmt: skip
def test_what_is_no_yaml_is_a_sentence(tmp_path: Path, text: str | bytes, problem: str) -> None:
    [found] = problems(tmp_path, text)
    assert found.startswith(problem)


def test_no_file_and_no_yaml_in_a_folder(tmp_path: Path) -> None:
    with pytest.raises(
        BadInput, match=f"There is no file or folder {tmp_path / 'cdm'}. .* metl entities export --output"
    ):
        read(tmp_path / "cdm", TYPES)
    (tmp_path / "notes.txt").write_text("entity: x")
    with pytest.raises(BadInput, match=r"There is no \.yaml or \.yml file in"):
        read(tmp_path, TYPES)


def test_only_the_first_mistakes_are_in_the_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidFiles) as caught:
        read_text(tmp_path, "entity: a\nattributes:\n" + "  - {}\n" * 100)
    said = str(caught.value)
    assert said.startswith("200 things are wrong, so that there is no plan.\n")
    assert said.endswith("\nand 180 more, which --json lists")
    assert len(caught.value.problems) == 200


names = st.one_of(
    st.sampled_from(
        ["no", "1.0", "~", "null", "<<", "=", "- a", "a: b", "#", "'", '"', "!x", "&a", "*a", "\u2028", "é"]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20),
).filter(lambda name: bool(name.strip()))
texts = st.none() | names
entities = st.builds(
    Entity,
    names,
    texts,
    st.lists(
        st.builds(Attribute, names, st.sampled_from(["string", "date"]), texts, st.booleans()),
        max_size=3,
        unique_by=lambda attribute: attribute.name,
    ).map(tuple),
)


@given(st.lists(entities, max_size=3, unique_by=lambda entity: entity.name))
def test_what_is_exported_is_read_again(tmp_path_factory: pytest.TempPathFactory, made: list[Entity]) -> None:
    folder = tmp_path_factory.mktemp("exported")
    if made:
        assert read_text(folder, as_yaml(made)) == made
        write(made, folder / "cdm")
        assert sorted(read(folder / "cdm", TYPES), key=repr) == sorted(made, key=repr)
    else:
        assert as_yaml(made) == ""


def test_each_exported_entity_has_a_file_of_its_own(tmp_path: Path) -> None:
    made = [Entity(name, None, ()) for name in ("person", "Person", "per/son", "per:son", "..", "x" * 500, "é")]
    paths = write(made, tmp_path / "cdm")
    assert len({path.name.casefold() for path in paths}) == len(made)
    assert {path.parent for path in paths} == {tmp_path / "cdm"}
    with pytest.raises(BadInput, match="has YAML files already"):
        write(made, tmp_path / "cdm")
