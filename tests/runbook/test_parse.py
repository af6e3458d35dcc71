"""Markdown to steps; whatever is wrong is said with file and line."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.incident.runbook import DecisionStep, EvidenceStep, NoticeStep
from bot.observation.errors import BadConfiguration
from bot.observation.ids import StepId
from bot.runbook.lint import lint
from bot.runbook.parse import Parts, parse, read_all
from bot.runbook.source import SECTIONS
from tests.runbook.books import KNOWN, RIGHT, SHARED, SHORT, line_of, with_change


def test_own_steps_are_read_as_they_are_written() -> None:
    """Front matter, and the steps in the file's order with what the responder reads."""
    book = parse(RIGHT, "rows-twice.md", KNOWN)

    assert (book.id, book.title, book.applies_to) == ("rows-twice", "Consumers see rows twice", ("*",))
    assert [s.id for s in book.steps] == [
        "count", "name-it", "planned", "rewind", "call", "count-again", "tell", "review",
    ]  # fmt: skip
    first, asks = book.steps[0], book.steps[2]
    assert isinstance(first, EvidenceStep)
    assert (first.title, first.prose, first.task) == (
        "Count the duplicate rows",
        "Look at the pairs.",
        "duplicate_rows",
    )
    assert (first.branches, first.next) == ({"ruled-out": "review"}, "name-it")
    assert isinstance(asks, DecisionStep)
    assert [(c.key, c.label) for c in asks.choices] == [("yes", "It was planned"), ("no", "Nobody planned it")]


def test_evidence_is_asked_in_the_order_of_the_front_matter() -> None:
    """With the task's own readings, of which the runbook replaces some; the first step says what to know before."""
    first, second, then = parse(SHORT, "odd.md", KNOWN).steps[:3]

    assert [(s.id, s.task, s.next) for s in (first, second) if isinstance(s, EvidenceStep)] == [
        ("ledger", "ledger", "duplicate-rows"),
        ("duplicate-rows", "duplicate_rows", "name-it"),
    ]
    assert first.prose.splitlines() == [
        "Touch nothing.",
        "*Problem*: There are ledger.",
        "*OK*: There are no ledger.",
        "*Could not check*: Something could not be read. That does not mean that nothing was found.",
        "Look for a second run.",
    ]
    assert ("There are ledger.", "Ask the consumer.") == (first.meaning("Problem"), second.meaning("OK"))
    assert "*OK*: Ask the consumer.\n*Could not check*: Something could not be read." in second.prose
    assert then.id == "name-it"


def test_shared_steps_have_the_runbooks_words_in_their_slots() -> None:
    """A slot is gone where the runbook has nothing to say there."""
    book, bare = (parse(text, "odd.md", KNOWN) for text in (SHORT, SHORT[: SHORT.index("## Repair")]))

    assert book.step(StepId("repair")).prose == "Move table and job together.\nRead the preview."
    assert book.step(StepId("call")).prose == "Leave it as it is.\nAsk who deployed."
    assert (bare.step(StepId("repair")).prose, bare.step(StepId("call")).prose) == (
        "Read the preview.",
        "Leave it as it is.",
    )


def test_what_proves_a_repair_is_the_runbooks_own_choice() -> None:
    """Its `proof` goes before the shared one."""
    book = parse(with_change("then: recover", "then: recover\nproof: [ledger]", SHORT), "odd.md", KNOWN)

    assert [step.task for step in book.steps if isinstance(step, EvidenceStep)] == [
        "ledger", "duplicate_rows", "ledger",
    ]  # fmt: skip


def test_a_step_that_does_not_say_where_it_leads_goes_on_below() -> None:
    """Evidence, manual steps and notices; what decides or acts must say."""
    book = parse(SHORT, "odd.md", KNOWN)

    tell = book.step(StepId("tell"))
    assert isinstance(tell, NoticeStep)
    assert tell.next == "review"


@pytest.mark.parametrize("text", [RIGHT, SHORT, RIGHT.replace("\n", "\r\n")])
def test_the_text_that_an_incident_keeps_needs_nothing_else(text: str) -> None:
    """It reads as the same runbook without tasks and without the shared file."""
    book = parse(text, "odd.md", KNOWN)

    assert parse(book.text, "odd.md", Parts()) == book


def test_the_digest_changes_with_what_is_drawn_in() -> None:
    """A word in the shared file or in a task's declaration is another runbook."""
    loud = KNOWN.tasks["ledger"].model_copy(update={"ruled_out_means": "all is well"})
    others = (
        KNOWN.model_copy(update={"shared": {"_recover.md": SHARED.replace("Read the preview.", "Read it.")}}),
        KNOWN.model_copy(update={"tasks": {**KNOWN.tasks, "ledger": loud}}),
    )

    assert len({parse(SHORT, "odd.md", parts).digest for parts in (KNOWN, *others)}) == 3


@pytest.mark.parametrize(
    "text", ["", "---", "---\n---\n", "hello", "---\nid: x\n", "---\n- a\n---\n", "---\n&a [*a]\n---"]
)
def test_what_is_no_runbook_is_refused(text: str) -> None:
    """Not a traceback, but what to write."""
    with pytest.raises(BadConfiguration, match="is not well formed"):
        parse(text, "x.md", KNOWN)


@settings(max_examples=100, deadline=None)
@given(st.text())
def test_random_text_is_refused_clearly(text: str) -> None:
    """Whatever a file holds, the start stops with a message and not with a traceback."""
    with pytest.raises(BadConfiguration):
        parse(text, "x.md", KNOWN)


YAML_PIECES = st.sampled_from(
    ["id", "kind", ":", ": ", "\n", "- ", "[", "]", "{", "}", "&a", "*a", "!!int", "!x", "|", ">", "'", '"', "#", "?",
     "2001-99-99", "0x", "\t", " ", "  ", "%YAML 1.1", "---", "...", "\x00", "\x85", "\ufeff", "`", "```", "<<", "{x}"]
)  # fmt: skip
PLACES = {
    "block": ("id: call\n", RIGHT),
    "front": ("owners: [data-platform]\n", SHORT),
    "prose": ("Leave it as it is.\n", RIGHT),
    "reading": ("- ledger: Look for a second run.\n", SHORT),
}


@settings(max_examples=200, deadline=None)
@given(st.lists(YAML_PIECES, max_size=12).map("".join), st.sampled_from(sorted(PLACES)))
@example(piece="&a: : &a:", where="block")
def test_random_yaml_never_breaks_the_reader(piece: str, where: str) -> None:
    """Broken YAML or Markdown in any place is a problem with a line, or is a runbook; never another error."""
    old, text = PLACES[where]

    _read_or_refused(with_change(old, old + piece + "\n", text))


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([RIGHT, SHORT]), st.integers(0, len(RIGHT)), st.integers(0, 60))
def test_a_runbook_with_a_piece_cut_out_never_breaks_the_reader(text: str, start: int, length: int) -> None:
    """An editor's accident is refused or still a whole runbook."""
    _read_or_refused(text[:start] + text[start + length :])


def _read_or_refused(text: str) -> None:
    try:
        book = parse(text, "x.md", KNOWN)
    except BadConfiguration as refused:
        assert "x.md:" in str(refused)  # noqa: PT017 - either end is right, and each is checked
    else:
        assert parse(book.text, "x.md", Parts()) == book
        assert len({step.id for step in book.steps}) == len(book.steps)


def test_a_folder_is_read_by_file_name_in_the_order_of_titles(tmp_path: Path) -> None:
    """A responder picks from a list of symptoms; a shared file is none."""
    (tmp_path / "rows-twice.md").write_text(RIGHT, encoding="utf-8")
    (tmp_path / "other.md").write_text(SHORT.replace("title: The", "title: A"), encoding="utf-8")
    (tmp_path / "_recover.md").write_text(SHARED, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("not a runbook")

    assert list(read_all(tmp_path, KNOWN.tasks)) == ["other", "rows-twice"]


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    """The message names the byte."""
    (tmp_path / "a.md").write_bytes(b"---\n\xff\n")

    with pytest.raises(BadConfiguration, match="the byte 0xff at offset 4"):
        read_all(tmp_path, {})


def messages(text: str, shared: str = SHARED) -> list[str]:
    """Each problem as it is printed."""
    known = KNOWN.model_copy(update={"shared": {"_recover.md": shared}})
    return [str(problem) for problem in lint(text, "runbooks/odd.md", known)]


def test_what_is_right_has_no_problem() -> None:
    """The lint is not a matter of taste."""
    assert messages(RIGHT) == messages(SHORT) == []


OF_OWN_STEPS = [
    ("kind: manual", "kind: manuel", "manuel", "kind: one of 'evidence', 'decision', 'action', 'manual'"),
    ("task: duplicate_rows\nbranches:", "tasks: duplicate_rows\nbranches:", "tasks:", "found `tasks`"),
    ("id: count-again", "id: Count Again", "Count Again", "an id of a-z, 0-9 and `-`"),
    ("id: count-again", "id: end", "id: end", "that is not `end`"),
    ("id: count-again", "id: count", "### Count again", "an id of its own; found `count`, taken in line"),
    ("next: tell", "next: tells", "### Count again", "a step that exists, or `end`; found `tells`"),
    ("next: tell", "next: rewind", "### Count again", "a step further down"),
    ("next: tell", "next: count-again", "### Count again", "a step further down"),
    ("on: choice", "on: chance", "on: chance", "on: one of 'diagnosis', 'remedy' or 'choice'"),
    ("  yes: It was planned\n", "  yes:\n", "  yes:", "a value for `yes`"),
    ("  applied: count-again", "\tapplied: count-again", "\tapplied", "spaces; found a tab"),
    ("  applied: count-again", "  applied: [count-again]", "applied: [", "`applied: …`; found a list"),
    ("  applied: count-again", "  applied: &a [*a]", "applied: &a", "inside another"),
    ("  applied: count-again", " - applied", "- applied", "`branches: …`; found a list"),
    ("notice: recovered", "notice: recovered\nnotice: update", "notice: update", "each key once"),
    ("notice: recovered", "notice: 'recovered", "next: review\n", "lines of `key: value`"),
    ("Leave it as it is.\n", "", "### Call the owners", "a sentence for the responder"),
    ("Leave it as it is.", "Leave it <b>as it is</b>.", "<b>", "found HTML"),
    ("Leave it as it is.", "{repairs}", "{repairs}", "one of {repair}, {help}"),
    ("## Impact", "## Impakt", "## Impakt", "one of Meaning, Impact"),
    ("## Impact", "# Impact", "# Impact", "`##` for sections"),
    ("## Steps", "## Meaning", "## Meaning", "each section once"),
    ("## Steps", "## Repair", "### Count the", "steps under `## Steps`"),
    ("owners: [data-platform]", "owners: data-platform", "owners:", "a list of texts; found `data-platform`"),
    ("owners: [data-platform]", "owners: []", "owners:", "a list of texts"),
    ("title: Consumers see rows twice\n", "", "---", "`title: …`; found none"),
    ("title: Consumers", "author: me\ntitle: Consumers", "author:", "found `author`"),
    ("title: Consumers", "planned: maybe\ntitle: Consumers", "planned:", "`planned: yes`, or no such line"),
    ("next: call\n```\n", "next: call\n```\n\nMore.\n", "More.", "nothing after the step block"),
    ("next: call\n```\n", "next: call\n```\n\n```step\nid: x\n```\n", "id: x", "one ```step block a step"),
    ("kind: review\nnext: end\n```\n", "kind: review\nnext: end\n", "id: review", "a line ``` that ends the block"),
    ("### Count again\n", "## Repair\n", "```step", "a `###` heading above a step"),
    ("task: duplicate_rows\nbranches", "task: rows\nbranches", "### Count the", "a task that exists (checkpoint_"),
    ("action: roll_back_table_and_restore_job", "action: back", "### Propose", "an action that exists (diagnosis.rem"),
    ("notice: recovered", "notice: party", "### Tell", "a notice that exists (no_action, recovered"),
    ("  ruled-out: review", "  ruled_out: review", "### Count the", "a branch for one of confirmed, ruled-out"),
    ("  F2: rewind", "  F99: rewind", "### Diagnose", "found `F99`"),
    ("  no: rewind", "  maybe: rewind", "### Ask", "a branch for no, or `next`"),
    ("  no-match: planned\n", "", "### Diagnose", "a branch `no-match`"),
    ("next: call\n", "", "### Propose", "a branch for refused, unknown, rejected, expired, superseded"),
    ("  F2: rewind\n  no-match: planned\nnext: planned", "  no-match: review\nnext: review", "### Ask", "leads here"),
    ("  applied: count-again", "  applied: tell", "### Propose", "found a way to the notice `tell` without one"),
    ("  applied: count-again", "  applied: end", "### Propose", "found a way to the end without one"),
    ("  applied: count-again\nnext: call", "  applied: call\nnext: call", "### Propose", "without one"),
    ("kind: review\nnext: end", "kind: manual\nnext: end", "### Review", "a step of kind review"),
    ("  yes: It was planned\n", "", "### Ask", "two choices or more"),
]  # fmt: skip
OF_DRAWN_IN = [
    ("evidence: [ledger, duplicate_rows]", "evidence: [ledger, rows]", "evidence:", "tasks that exist (checkpoint_"),
    ("evidence: [ledger, duplicate_rows]\n", "", "Touch nothing.", "`evidence: […]` in the front matter"),
    ("then: recover", "then: rescue", "---", "`then:` with one of recover; found `rescue`"),
    ("then: recover\n", "", "evidence:", "a step of kind review"),
    ("- ledger: Look", "- ledger says: Look", "- ledger says", "`- TASK: …`"),
    ("- ledger: Look", "- missing_positions: Look", "- missing", "with a task of `evidence`"),
]


@pytest.mark.parametrize(
    ("text", "old", "new", "at", "message"),
    [*((RIGHT, *row) for row in OF_OWN_STEPS), *((SHORT, *row) for row in OF_DRAWN_IN)],
)
def test_each_problem_names_its_line(text: str, old: str, new: str, at: str, message: str) -> None:
    """The message says what was expected and found, and `file:line` is where an editor should go."""
    changed = with_change(old, new, text)

    found = messages(changed)

    lines = {int(one.split(":")[1]) for one in found if message in one}
    close = {number for number, line in enumerate(changed.splitlines(), 1) if at.splitlines()[0] in line}
    assert lines & (close | {number + 1 for number in close} | {number - 1 for number in close}), found


@pytest.mark.parametrize(
    ("old", "new", "heading", "message"),
    [
        ("notice: recovered", "notice: party", "### Tell", "a notice that exists"),
        ("passed: tell", "passed: telling", "### Look again", "a step that exists"),
        ("applied: look-again", "applied: tell", "### Propose", "an evidence step after `applied`"),
        ("proof: [duplicate_rows, missing_positions]", "proof: [rows]", "proof:", "tasks that exist"),
        ("proof: [duplicate_rows, missing_positions]", "title: x", "### Look again", "`proof: […]` in the"),
        ("### Look again", "## Look again", "## Look again", "`##` for sections of a runbook"),
        ("id: call", "id: ledger", "### Call", "taken in line 5 of runbooks/odd.md"),
    ],
)  # fmt: skip
def test_a_problem_in_the_shared_file_names_that_file(old: str, new: str, heading: str, message: str) -> None:
    """Not the runbook that draws it in."""
    shared = with_change(old, new, SHARED)

    found = [one for one in messages(SHORT, shared) if message in one]

    assert [f"runbooks/_recover.md:{line_of(shared, heading)}"] == [":".join(one.split(":")[:2]) for one in found]


@pytest.mark.parametrize("section", SECTIONS[:2])
def test_meaning_and_impact_must_be_there(section: str) -> None:
    """Responders look for them in every runbook."""
    text = RIGHT.replace(f"## {section}\n", "## Repair\n", 1)

    assert [one for one in messages(text) if f"Expected a section `## {section}`" in one]


def test_all_problems_are_told_at_once_in_order() -> None:
    """Nobody wants to correct them one start at a time; an editor goes down the file."""
    text = RIGHT.replace("task: duplicate_rows", "task: rows").replace("notice: recovered", "notice: party")

    lines = [problem.line for problem in lint(text.replace("## Impact\n", ""), "x.md", KNOWN)]

    assert sorted(lines) == lines
    assert len(lines) == 4


def test_a_new_failure_mode_needs_no_new_branch_where_next_covers_it() -> None:
    """Adding a file to `bot/diagnosis/` breaks no runbook that has a way for the rest."""
    wider = KNOWN.model_copy(update={"codes": KNOWN.codes | {"F15"}})

    assert lint(RIGHT, "rows-twice.md", wider) == ()


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([RIGHT, SHORT]), st.integers(0, len(RIGHT)), st.text(max_size=20))
def test_the_lint_never_raises(whole: str, at: int, text: str) -> None:
    """A broken file is listed, and the next file is looked at."""
    problems = lint(whole[:at] + text + whole[at:], "x.md", KNOWN)

    assert all(problem.line >= 1 and problem.message.endswith(".") for problem in problems)
