"""An exported record proves itself without the database: its chain, and that it shows what its entries say."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli import app
from bot.domain.errors import BadConfiguration
from bot.domain.record_file import seal_of
from bot.service.record import RecordDocument, Records, schema_json
from tests.decisions import ANA, BEN
from tests.incidents import Story

FORMS = ("html", "md", "json")
NAMES: dict[str, str] = {ANA: "Ana", BEN: "Ben"}
SCHEMA = Path(__file__).parents[2] / "docs" / "incident-record.schema.json"


def exported(records: Records, story: Story, form: str) -> str:
    """As the bot uploads it: names in place of ids, and every entry as it is stored."""
    write = {"html": records.html, "md": records.markdown, "json": records.json}[form]
    return write(story.incident, names=NAMES, lines=story.journal.lines(story.id))


@pytest.mark.parametrize("form", FORMS)
def test_an_export_is_proven_by_itself(story: Story, records: Records, form: str) -> None:
    """Every entry fits, what is shown follows from them, and the file ends with the seal that Slack has."""
    text = exported(records, story.whole(), form)

    proof = records.prove(text.replace("\n", "\r\n"))

    assert (proof.fault, proof.not_compared) == (None, None)
    assert proof.seal == seal_of(story.incident.entries[-1])


@pytest.mark.parametrize("form", FORMS)
def test_a_changed_sentence_is_found(story: Story, records: Records, form: str) -> None:
    """Whoever edits what people read does not need to touch the chain, and is found nevertheless."""
    text = exported(records, story.whole(), form)
    assert "Verified and told." in text

    proof = records.prove(text.replace("Verified and told.", "Nobody told anybody."))

    assert proof.fault is not None


def test_a_changed_entry_is_named(story: Story, records: Records) -> None:
    """Its content does not give its hash; the place is said."""
    document = json.loads(exported(records, story.whole(), "json"))
    document["chain"]["entries"][3]["by"] = BEN

    proof = records.prove(json.dumps(document))

    assert proof.fault == "Entry 4 was changed: its content does not match its hash."


def test_a_cut_chain_is_named(story: Story, records: Records) -> None:
    """The last entries cannot be left out of a file that says where it ends."""
    document = json.loads(exported(records, story.whole(), "json"))
    del document["chain"]["entries"][-2:]

    assert "was written last" in (records.prove(json.dumps(document)).fault or "")


def test_a_file_of_other_templates_is_proven_as_far_as_that_goes(story: Story, records: Records) -> None:
    """Another version writes other words: its chain is proven, and it is said that the words were not compared."""
    text = exported(records, story.whole(), "json").replace(records.written_by, "9.9.9/00000000")

    proof = records.prove(text)

    assert proof.fault is None
    assert "9.9.9/00000000" in (proof.not_compared or "")


@pytest.mark.parametrize("text", ["# wl-1", "<!doctype html><p>wl-1", "{}", "# x\n<!-- waterline-record:\nAAAA\n-->"])
def test_what_is_no_record_is_refused(records: Records, text: str) -> None:
    """With what was expected, and how to get one."""
    with pytest.raises(BadConfiguration, match="xport the incident again"):
        records.prove(text)


def test_the_command_proves_files_without_a_configuration(
    story: Story, records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No database is there; a seal from Slack is held against the file; one bad file makes the exit code 1."""
    whole, other = tmp_path / "wl-1.html", tmp_path / "wl-1.md"
    whole.write_text(exported(records, story.whole(), "html"), encoding="utf-8")
    other.write_text(exported(records, story, "md").replace("220 order ids", "2 order ids"), encoding="utf-8")
    seal = str(seal_of(story.incident.entries[4]))
    monkeypatch.chdir(tmp_path)

    good = CliRunner().invoke(app, ["record", "verify", str(whole), "--anchor", seal])
    unlike = CliRunner().invoke(app, ["record", "verify", str(whole), "--anchor", seal[:-4] + "0000"])
    bad = CliRunner().invoke(app, ["record", "verify", str(whole), str(other)])

    assert (good.exit_code, unlike.exit_code, bad.exit_code) == (0, 1, 1)
    assert good.output.startswith("Fits whole: wl-1.html, wl-1: ")
    assert "The record up to entry 5 has changed" in unlike.output
    assert "Does not fit: wl-1.md, wl-1: Line" in bad.output


@pytest.mark.parametrize("how", ["another version", "withheld"])
def test_words_that_were_not_compared_are_no_proof(
    story: Story, records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Whoever changes a sentence can also make the file one that cannot be compared: it is neither whole nor wrong."""
    document = json.loads(exported(records, story.whole(), "json"))
    document["incident"]["summary"] = "Nothing happened."
    if how == "withheld":
        document["chain"]["entries"][3] |= {"body": "", "withheld": True}
    else:
        document["written_by"] = "0.9/deadbeef"
    forged, broken = tmp_path / "wl-1.json", tmp_path / "broken.json"
    forged.write_text(json.dumps(document), encoding="utf-8")
    document["chain"]["entries"][2]["by"] = "U0NOBODY01"
    broken.write_text(json.dumps(document), encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    in_part = CliRunner().invoke(app, ["record", "verify", str(forged)])
    wrong = CliRunner().invoke(app, ["record", "verify", str(forged), str(broken)])

    assert (in_part.exit_code, wrong.exit_code) == (3, 1)
    assert in_part.output.startswith("Fits in part: wl-1.json, wl-1: the chain of ")
    assert "The text was not compared and proves nothing: " in in_part.output
    assert "Does not fit: broken.json" in wrong.output


def test_the_published_schema_is_the_one_that_is_written(story: Story, records: Records) -> None:
    """`waterline record schema` prints the file in docs/, and a record keeps to it: ids that would be rounded are
    text."""
    document = exported(records, story.whole(), "json")

    assert SCHEMA.read_text(encoding="utf-8") == schema_json()
    assert RecordDocument.model_validate_json(document).model_dump_json(indent=2) + "\n" == document
    numbers: list[int] = []
    json.loads(document, parse_int=lambda digits: numbers.append(int(digits)))
    assert max(numbers) < 2**53
