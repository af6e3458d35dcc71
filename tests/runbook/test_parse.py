"""Markdown to steps, and a clear refusal for everything else."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.domain.errors import BadConfiguration
from bot.domain.runbook import DecisionStep, EvidenceStep
from bot.runbook.parse import SECTIONS, parse, read_all
from tests.runbook.books import RIGHT, line_of, with_change


def test_a_runbook_is_read_as_it_is_written() -> None:
    """Front matter, sections, and the steps in the file's order with their lines."""
    book = parse(RIGHT, "rows-twice.md")

    assert (book.id, book.title, book.version) == ("rows-twice", "Consumers see rows twice", 3)
    assert (book.applies_to, book.owners) == (("*",), ("data-platform",))
    assert list(SECTIONS) == list(book.sections)
    assert book.sections["Meaning"] == "A job was restored from too far back."
    assert [s.id for s in book.steps] == [
        "count",
        "name-it",
        "planned",
        "rewind",
        "call",
        "count-again",
        "tell",
        "review",
    ]
    assert book.text == RIGHT


def test_a_step_keeps_its_heading_prose_line_and_branches() -> None:
    """What the responder reads, and where the lint points."""
    book = parse(RIGHT, "rows-twice.md")

    step = book.steps[0]

    assert isinstance(step, EvidenceStep)
    assert (step.title, step.prose, step.section) == ("Count the duplicate rows", "Look at the pairs.", "Diagnosis")
    assert (line_of(RIGHT, "### Count the duplicate rows"), "duplicate_rows") == (step.line, step.task)
    assert (step.branches, step.next) == ({"ruled-out": "review"}, "name-it")


def test_choices_are_buttons_in_the_order_of_the_file() -> None:
    """`yes` and `no` are words here, not booleans."""
    book = parse(RIGHT, "rows-twice.md")

    step = book.steps[2]

    assert isinstance(step, DecisionStep)
    assert [(c.key, c.label) for c in step.choices] == [("yes", "It was planned"), ("no", "Nobody planned it")]


def test_line_ends_do_not_matter_but_the_digest_is_of_the_very_text() -> None:
    """A file from Windows has the same steps and another digest."""
    unix, windows = parse(RIGHT, "a.md"), parse(RIGHT.replace("\n", "\r\n"), "a.md")

    assert unix.steps == windows.steps
    assert unix.digest != windows.digest


@pytest.mark.parametrize(
    ("old", "new", "at", "message"),
    [
        ("kind: manual", "kind: manuel", "manuel", "kind: one of evidence, decision, action, manual"),
        ("task: duplicate_rows\nbranches:", "tasks: duplicate_rows\nbranches:", "tasks:", "found `tasks`"),
        ("id: count-again", "id: Count Again", "Count Again", "an id of a-z, 0-9 and `-`"),
        ("id: count-again", "id: end", "id: end", "that is not `end`"),
        ("id: count-again", "id: count", "### Count again", "an id of its own; found `count`, taken in line"),
        ("next: tell", "next: tells", "### Count again", "a step that exists, or `end`; found `tells`"),
        ("next: tell", "next: rewind", "### Count again", "a step further down"),
        ("next: tell", "next: count-again", "### Count again", "a step further down"),
        ("on: choice", "on: chance", "on: chance", "on: diagnosis, on: remedy or on: choice"),
        ("  yes: It was planned\n", "  yes:\n", "  yes:", "a label for the choice `yes`"),
        ("  applied: count-again", "\tapplied: count-again", "\tapplied", "spaces; found a tab"),
        ("  applied: count-again", "  applied: [count-again]", "applied: [", "a step id or `end` for `applied`"),
        ("  applied: count-again", " - applied", "- applied", "`branches:` with lines"),
        ("notice: recovered", "notice: recovered\nnotice: update", "notice: update", "each key once"),
        ("notice: recovered", "notice: 'recovered", "next: review\n", "lines of `key: value`"),
        ("Leave it as it is.\n", "", "### Call the owners", "a sentence for the responder"),
        ("Leave it as it is.", "Leave it <b>as it is</b>.", "<b>", "found HTML"),
        ("Leave it as it is.", "<div>\n\nLeave it.", "<div>", "found HTML"),
        ("## Impact", "## Impakt", "## Impakt", "one of Meaning, Impact"),
        ("## Impact", "# Impact", "# Impact", "the title is in the front matter"),
        ("## Verification", "## Mitigation", "## Mitigation", "each section once"),
        ("version: 3", "version: three", "version:", "a version of 1 or more"),
        ("version: 3", "version: 0", "version:", "a version of 1 or more"),
        ("id: rows-twice", "id: Rows twice", "id: Rows", "an id of a-z"),
        ("owners: [data-platform]", "owners: data-platform", "owners:", "a list of texts; found `data-platform`"),
        ("owners: [data-platform]", "owners: []", "owners:", "a list of texts"),
        ("title: Consumers see rows twice\n", "", "---", "`title: …`; found none"),
        ("version: 3", "version: 3\nauthor: me", "author:", "found `author`"),
        ("next: call\n```\n", "next: call\n```\n\nMore.\n", "```", "nothing after the step block"),
        ("kind: review\nnext: end\n```\n", "kind: review\nnext: end\n", "```step", "a line ``` that ends the block"),
        ("### Count again\n", "", "```step", "a `###` heading above a step"),
    ],
)
def test_each_trouble_is_refused_with_its_line(old: str, new: str, at: str, message: str) -> None:
    """The message says what was expected and found, and `file:line` is where an editor should go."""
    text = with_change(old, new)

    with pytest.raises(BadConfiguration) as refused:
        parse(text, "rows-twice.md")

    assert message.lower() in str(refused.value).lower()
    named = {int(line.split(":")[1]) for line in str(refused.value).splitlines() if line.startswith("rows-twice.md:")}
    close = {number for number, line in enumerate(text.splitlines(), 1) if at.splitlines()[0] in line}
    assert named & (close | {number + 1 for number in close})


@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_must_be_there(section: str) -> None:
    """Responders look for the same headings in every runbook."""
    text = RIGHT.replace(f"## {section}\n", "", 1)

    with pytest.raises(BadConfiguration, match=f"Expected a section `## {section}`"):
        parse(text, "rows-twice.md")


@pytest.mark.parametrize(
    "text", ["", "---", "---\n---\n", "hello", "---\nid: x\n", "---\n- a\n---\n", "---\n&a [*a]\n---"]
)
def test_what_is_no_runbook_is_refused(text: str) -> None:
    """Not a traceback, but what to write."""
    with pytest.raises(BadConfiguration, match="is not well formed"):
        parse(text, "x.md")


def test_an_alias_that_holds_itself_is_refused() -> None:
    """YAML can describe endless values; a step block cannot."""
    text = with_change("  applied: count-again", "  applied: &a [*a]")

    with pytest.raises(BadConfiguration, match="inside another"):
        parse(text, "x.md")


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_random_text_is_refused_clearly(text: str) -> None:
    """Whatever a file holds, the start stops with a message and not with a traceback."""
    with pytest.raises(BadConfiguration):
        parse(text, "x.md")


YAML_PIECES = st.sampled_from(
    ["id", "kind", ":", ": ", "\n", "- ", "[", "]", "{", "}", "&a", "*a", "!!int", "!x", "|", ">", "'", '"', "#", "?",
     "2001-99-99", "0x", "\t", " ", "  ", "%YAML 1.1", "---", "...", "\x00", "\x85", "\ufeff", "`", "```", "<<"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(YAML_PIECES, max_size=12).map("".join), st.sampled_from(["block", "front", "prose"]))
@example(piece="&a: : &a:", where="block")
def test_random_yaml_never_breaks_the_reader(piece: str, where: str) -> None:
    """Broken YAML or Markdown in any place is a problem with a line, or is fine; never another error."""
    old = {"block": "id: call\n", "front": "version: 3\n", "prose": "Leave it as it is.\n"}[where]
    text = with_change(old, old + piece + "\n")

    try:
        book = parse(text, "x.md")
    except BadConfiguration as refused:
        assert "x.md:" in str(refused)  # noqa: PT017 - either end is right, and each is checked
    else:
        assert len(book.steps) == 8


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(RIGHT)), st.integers(0, 60))
def test_a_runbook_with_a_piece_cut_out_never_breaks_the_reader(start: int, length: int) -> None:
    """An editor's accident is refused or still a whole runbook that can be walked."""
    text = RIGHT[:start] + RIGHT[start + length :]

    try:
        book = parse(text, "x.md")
    except BadConfiguration as refused:
        assert "x.md:" in str(refused)  # noqa: PT017 - either end is right, and each is checked
    else:
        ids = [step.id for step in book.steps]
        assert len(ids) == len(set(ids))


def test_a_folder_is_read_by_id_in_the_order_of_titles(tmp_path: Path) -> None:
    """A responder picks from a list of symptoms."""
    (tmp_path / "a.md").write_text(RIGHT, encoding="utf-8")
    other = RIGHT.replace("id: rows-twice", "id: alone").replace("title: Consumers", "title: A consumer")
    (tmp_path / "b.md").write_text(other, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("not a runbook")

    books = read_all(tmp_path)

    assert list(books) == ["alone", "rows-twice"]


def test_two_files_with_one_id_are_refused(tmp_path: Path) -> None:
    """The message names both files."""
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text(RIGHT, encoding="utf-8")

    with pytest.raises(BadConfiguration, match=r"found it in a\.md and in b\.md"):
        read_all(tmp_path)


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    """The message names the byte."""
    (tmp_path / "a.md").write_bytes(b"---\n\xff\n")

    with pytest.raises(BadConfiguration, match="the byte 0xff at offset 4"):
        read_all(tmp_path)
