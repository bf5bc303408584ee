"""metl matrix import and metl matrix export, as a steward calls them."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.live.running import await_true
from tests.model.conftest import Model, Row, attributes, model_in

HEADER = "schema,version,attribute,entity,entity_version,entity_attribute"


def feed(model: Model) -> Model:
    """Two versions of shop and one of bank, mapped to two entities."""
    for version in (1, 2):
        model.call("add_schema_version", "shop", version, attributes("id", "mail", "fax"))
    model.call("add_schema_version", "bank", 7, attributes("iban", "id"))
    model.call("add_schema_version", "gone", 1, attributes("id"))
    model.call("delete_schema_version", "gone", 1)
    model.call("add_entity_version", "person", 1, attributes("number"))
    model.call("add_entity_version", "person", 2, attributes("number", "email", "phone"))
    model.call("add_entity_version", "account", 1, attributes("iban"))
    model.call("add_entity_version", "lost", 1, attributes("x"))
    model.call("delete_entity_version", "lost", 1)
    model.call("set_run", "shop", 1, "person", 2, {"number": "id", "email": "mail"})
    model.call("set_block", "bank", 7, "account", 1, {"iban": "iban"})
    return model


@pytest.fixture
def fed(model: Model) -> Model:
    return feed(model)


@pytest.fixture(scope="module")
def unchanged(postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    """For all tests that must not change anything."""
    with model_in(postgres, template, tmp_path_factory.mktemp("unchanged")) as model:
        before = feed(model).state()
        yield model
        assert model.state() == before


def cells(*lines: str) -> set[Row]:
    """What lines say, as the matrix says it."""
    found = set()
    for line in lines:
        schema, version, attribute, entity, entity_version, target = line.split(",")
        found.add((schema, int(version), entity, int(entity_version), attribute, target))
    return found


def file(model: Model, *lines: str, header: str = HEADER) -> str:
    return model.file("\n".join([header, *lines]), "mappings.csv")


SHOP_1 = ["shop,1,id,person,2,number", "shop,1,mail,person,2,email"]
SHOP_2 = ["shop,2,id,person,2,number", "shop,2,mail,person,2,email"]
BANK = ["bank,7,iban,account,1,iban"]


def test_an_export_is_sorted_and_complete(unchanged: Model) -> None:
    quoted = [
        ",".join(cell if cell.isdigit() else f'"{cell}"' for cell in line.split(",")) for line in BANK + SHOP_1 + SHOP_2
    ]
    assert unchanged.said("matrix", "export").splitlines() == [HEADER, *quoted]
    assert unchanged.said("matrix", "export", "--entity", "account").splitlines() == [HEADER, quoted[0]]
    assert unchanged.said("matrix", "export", "--schema", "shop").splitlines() == [HEADER, *quoted[1:]]
    assert unchanged.said("matrix", "export", "--schema", "shop", "--entity", "account").splitlines() == [HEADER]
    path = unchanged.folder / "out.csv"
    assert unchanged.said("matrix", "export", "--output", str(path)) == ""
    assert path.read_text() == unchanged.said("matrix", "export")
    assert sorted(each.name for each in unchanged.folder.iterdir() if "out" in each.name) == ["out.csv"]


def test_types_that_may_not_fit_are_told_and_mapped(fed: Model) -> None:
    fed.call("add_entity_version", "customer", 1, [{"name": "is_active", "type": "boolean"}])
    lines = file(fed, "shop,1,mail,customer,1,is_active")
    assert "+ mail → is_active (string to boolean: may not fit)" in fed.said("matrix", "import", lines, "--dry-run")
    told = fed.said("matrix", "import", lines)
    assert "Values of other types: shop.mail → customer.is_active (string to boolean: may not fit)." in told


def test_an_import_of_the_export_changes_nothing(unchanged: Model) -> None:
    exported = unchanged.said("matrix", "export")
    for words in ([], ["--replace"], ["--dry-run"]):
        said = unchanged.said("matrix", "import", "-", *words, stdin=exported)
        assert said.startswith("Nothing ")
    assert json.loads(unchanged.said("matrix", "import", "--json", "-", stdin=exported))["state"] is None


def test_blocks_that_are_mentioned_are_set_whole_and_others_stay(fed: Model) -> None:
    before = fed.state()
    lines = ["shop,1,id,person,2,phone", "shop,1,fax,account,1,iban"]
    said = fed.said("matrix", "import", file(fed, *lines))
    assert said == f"State {before + 1} changed 2 blocks: 2 cells gained, 2 lost.\n"
    assert set(fed.ones()) == cells(*lines, *SHOP_2, *BANK)
    assert fed.state() == before + 1
    [(cause, who)] = fed.rows("select cause, who from metl.states where state = %s", before + 1)
    assert cause == "set_mappings" and f"user={who} " in f"{fed.steward} "
    assert fed.rows("select * from metl.check()") == []


def test_replace_clears_what_is_not_mentioned(fed: Model) -> None:
    lines = [SHOP_2[0], "bank,7,id,person,2,number"]
    fed.said("matrix", "import", "--replace", file(fed, *lines))
    assert set(fed.ones()) == cells(*lines)
    assert fed.rows("select * from metl.check()") == []


def test_a_line_without_attributes_clears_its_block(fed: Model) -> None:
    fed.said("matrix", "import", file(fed, "shop,2,,person,2,"))
    assert set(fed.ones()) == cells(*SHOP_1, *BANK)


def test_a_dry_run_shows_what_would_change_and_changes_nothing(unchanged: Model) -> None:
    path = file(unchanged, "shop,2,id,person,2,number", "shop,2,fax,person,2,phone", *BANK)
    shown = unchanged.said("matrix", "import", "--dry-run", path)
    assert shown.splitlines() == [
        "shop version 2 → person version 2",
        "  - mail → email",
        "  + fax → phone",
        "This would change 1 block: 1 cell gained, 1 lost.",
    ]
    assert json.loads(unchanged.said("matrix", "import", "--dry-run", "--json", path)) == {
        "gained": 1,
        "lost": 1,
        "blocks": [
            {
                "schema": "shop",
                "version": 2,
                "entity": "person",
                "entity_version": 2,
                "gained": [{"attribute": "fax", "entity_attribute": "phone"}],
                "lost": [{"attribute": "mail", "entity_attribute": "email"}],
            }
        ],
    }
    assert unchanged.metl("matrix", "import", "--dry-run", path, dsn=unchanged.reader).exit_code == 0


WRONG = {
    "shp,1,id,person,2,number": "There is no schema 'shp'. Did you mean 'shop'?",
    "gone,1,id,person,2,number": "Schema 'gone' has no live version 1. Live are: none.",
    "shop,3,id,person,2,number": "Schema 'shop' has no live version 3. Live are: 1, 2.",
    "shop,one,id,person,2,number": "'one' is not a version: versions are whole numbers from 1.",
    "shop,99999999999,id,person,2,number": "'99999999999' is not a version: versions are whole numbers from 1.",
    "shop,1,mial,person,2,number": "Schema 'shop' version 1 has no attribute 'mial'. Did you mean 'mail'?",
    "shop,1,id,persn,2,number": "There is no entity 'persn'. Did you mean 'person'?",
    "shop,1,id,person,1,number": "Entity 'person' has no live version 1. Live is: 2.",
    "shop,1,id,lost,1,x": "Entity 'lost' has no live version 1. Live is: none.",
    "shop,1,id,person,-2,number": "'-2' is not a version: versions are whole numbers from 1.",
    "shop,1,id,person,2,nmber": "Entity 'person' version 2 has no attribute 'nmber'. Did you mean 'number'?",
    "shop,1,,person,2,number": "Schema 'shop' version 1 has no attribute ''.",
    "shop,1,id,person,2": "There are 5 columns instead of 6.",
    '"shop"x,1,id,person,2,number': "The quotes are not right:",
    "sh\0op,1,id,person,2,number": "There is a null character, which no name has.",
    "sh\udcffop,1,id,person,2,number": "This is not UTF-8. Save the file as CSV in UTF-8.",
}


def test_all_mistakes_at_once_each_with_its_line(unchanged: Model) -> None:
    text = "\n".join([HEADER, SHOP_1[0], "", *WRONG, '"shop,1,id,person,2,number', ""])
    path = unchanged.file(text.encode(errors="surrogateescape"), "mappings.csv")
    expected = [
        *((number, said) for number, said in enumerate(WRONG.values(), start=4)),
        (4 + len(WRONG), "A quote that is opened here is not closed."),
    ]
    for words in ([], ["--dry-run"]):
        result = unchanged.metl("matrix", "import", path, *words)
        assert (result.exit_code, result.stdout) == (2, "")
        first, *shown = result.stderr.splitlines()
        assert first == f"Error: {len(expected)} things are wrong, so that nothing was changed."
        assert len(shown) == len(expected)
        for line, (number, said) in zip(shown, expected, strict=True):
            assert line.startswith(f"{path}:{number}: {said}")
    found = json.loads(unchanged.metl("matrix", "import", "--json", path).stdout)["problems"]
    assert [problem["line"] for problem in found] == [number for number, _ in expected]


def test_what_lines_say_against_each_other(unchanged: Model) -> None:
    path = file(
        unchanged,
        "shop,1,id,person,2,number",
        "shop,1,mail,person,2,email",
        "shop,1,id,person,2,number",
        "shop,01,id,person,2,phone",
        "shop,1,fax,person,2,email",
        "shop,1,,person,2,",
        "shop,2,,person,2,",
        "shop,2,,person,2,",
        "shop,2,id,person,2,number",
        # Another block may say the same.
        "shop,1,id,account,1,iban",
    )
    one_to_one = "already; a block is 1:1 both ways."
    assert unchanged.metl("matrix", "import", path).stderr.splitlines()[1:] == [
        f"{path}:4: Line 2 says the same.",
        f"{path}:5: Attribute 'id' is mapped to 'number' in line 2 {one_to_one}",
        f"{path}:6: Entity attribute 'email' is mapped from 'mail' in line 3 {one_to_one}",
        f"{path}:7: Of this block, line 2 maps something and this one nothing.",
        f"{path}:9: Line 8 says the same.",
        f"{path}:10: Of this block, line 8 maps nothing and this one something.",
    ]


def test_many_mistakes_are_counted_and_all_of_them_in_json(unchanged: Model) -> None:
    path = file(unchanged, *(f"shop,1,a{number},person,2,c{number}" for number in range(2500)))
    result = unchanged.metl("matrix", "import", path)
    assert result.stderr.startswith("Error: 5,000 things are wrong, so that nothing was changed.\n")
    assert result.stderr.endswith("\nand 4,980 more, which --json lists\n")
    assert len(json.loads(unchanged.metl("matrix", "import", "--json", path).stdout)["problems"]) == 5000


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"", "mappings.csv is empty. Its first line has to be: schema,version,attribute,entity,"),
        (b"\n \n", "is empty."),
        (b"\xff\xfes\0", "is UTF-16. Save it as CSV in UTF-8."),
        (b"shop,1,id,person,2,number", "The first line of"),
        (b"schema,version,attribute,entity,entity_version\n", "It has to name the columns schema, version, attribute,"),
        (b"schema|version|attribute|entity|entity_version|entity_attribute\n", "commas, semicolons or tabs."),
        (b"\xe4\xf6\xfc\n", "The first line of"),
        (b'"schema,version\n', "The first line of"),
    ],
)  # fmt: skip
def test_what_is_no_such_file_at_all(unchanged: Model, text: bytes, sentence: str) -> None:
    result = unchanged.metl("matrix", "import", unchanged.file(text, "mappings.csv"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + HEADER + "\r\n" + "\r\n".join(SHOP_1) + "\r\n",
        HEADER.replace(",", ";") + "\n" + "\n".join(SHOP_1).replace(",", ";"),
        HEADER.replace(",", "\t") + "\n" + "\n".join(SHOP_1).replace(",", "\t"),
        HEADER + "\r" + "\r".join(SHOP_1),
        HEADER.upper() + "\n,,,,,\n\n" + "\n".join(SHOP_1) + "\n\n",
        HEADER.replace(",", " , ") + '\n"shop", 1 ,"id",person,2,"number"\n' + SHOP_1[1],
        ",".join(reversed(HEADER.split(","))) + "\nnumber,2,person,id,1,shop\nemail,2,person,mail,1,shop",
    ],
    ids=["BOM and CRLF", "semicolons", "tabs", "CR", "empty lines", "spaces and quotes", "another order"],
)  # fmt: skip
def test_files_as_spreadsheets_write_them(unchanged: Model, text: str) -> None:
    assert unchanged.said("matrix", "import", unchanged.file(text, "mappings.csv")).startswith("Nothing to change")


def test_names_that_look_like_formulas(model: Model) -> None:
    names = [
        "=1+1",
        "+1",
        "-1",
        "@SUM",
        "\tx",
        "\rx",
        "\nx",
        "'",
        "''=x",
        "'=x",
        "\uff1d1",
        "plain",
        "'plain",
        "a;=1",
        'q"',
    ]
    model.call("add_schema_version", "=shop", 1, attributes(*names))
    model.call("add_entity_version", "@person", 1, attributes(*names))
    model.call("set_block", "=shop", 1, "@person", 1, {name: name for name in names})
    before = model.ones()
    exported = model.said("matrix", "export").encode()
    for line in exported.decode().replace('"', "").split("\n")[1:]:
        assert not line.startswith(tuple("=+-@\t\r"))
    model.said("matrix", "import", "--replace", file(model))
    assert model.ones() == []
    model.said("matrix", "import", model.file(exported, "mappings.csv"))
    assert model.ones() == before
    # Typed by hand, without what the export puts before names.
    assert model.said("matrix", "import", "-", stdin=f"{HEADER}\n=shop,1,=1+1,@person,1,=1+1\n").startswith("State ")
    assert len(model.ones()) == 1


def test_a_frozen_block_is_refused_and_with_it_everything(fed: Model) -> None:
    fed.call("set_policy", "shop", "person", "freeze")
    before = fed.state()
    path = file(fed, "shop,1,id,person,2,number", "bank,7,id,person,2,number")
    for words in ([], ["--dry-run"]):
        result = fed.metl("matrix", "import", path, *words)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "The mapping of schema 'shop' to entity 'person' is frozen. Set another policy first" in result.stderr
    assert fed.state() == before
    # What is frozen may be mentioned as it is.
    assert fed.said("matrix", "import", file(fed, *SHOP_1, "bank,7,id,person,2,number")).startswith("State ")


def test_a_reader_may_export_but_not_import(unchanged: Model) -> None:
    assert unchanged.metl("matrix", "export", dsn=unchanged.reader).stdout == unchanged.said("matrix", "export")
    result = unchanged.metl(
        "matrix", "import", file(unchanged, *BANK, "shop,1,fax,person,2,phone"), dsn=unchanged.reader
    )
    assert (result.exit_code, result.stdout) == (1, "")
    assert " may not change METL in database " in result.stderr and "Grant it metl_steward." in result.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["matrix", "import"], "Missing argument 'FILE'"),
        (["matrix", "import", "nowhere.csv"], "'nowhere.csv': No such file or directory"),
        (["matrix", "export", "--schema", "shp"], "There is no schema 'shp'. Did you mean 'shop'?"),
        (["matrix", "export", "--entity", "zzz"], "There is no entity 'zzz'. Known are 'account', 'person'."),
    ],
)
def test_wrong_words_are_a_sentence(unchanged: Model, words: list[str], sentence: str) -> None:
    result = unchanged.metl(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr


def test_a_file_that_cannot_be_written_is_a_sentence_and_leaves_nothing(unchanged: Model) -> None:
    result = unchanged.metl("matrix", "export", "--output", str(unchanged.folder / "no" / "out.csv"))
    assert result.exit_code == 2 and "out.csv cannot be written: No such file or directory." in result.stderr


def test_an_import_waits_for_whoever_writes_and_sees_what_they_did(fed: Model) -> None:
    """The lines are checked when it is its turn, not before."""
    waiting = "select from pg_locks inner join pg_stat_activity using (pid) where not granted and datname = %s"
    with ThreadPoolExecutor() as beside, psycopg.connect(fed.owner) as other:
        other.execute("select metl.delete_schema_version('bank', 7)")
        importing = beside.submit(fed.metl, "matrix", "import", file(fed, *BANK))
        await_true(lambda: bool(fed.rows(waiting, other.info.dbname)), "an import that waits", 60)
        other.commit()
        result = importing.result(60)
    assert result.exit_code == 2 and "Schema 'bank' has no live version 7. Live are: none." in result.stderr
