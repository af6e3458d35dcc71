"""Whatever is wrong with a runbook is said with file and line, also across what it includes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.runbook.lint import lint
from bot.runbook.source import SECTIONS
from tests.runbook.books import KNOWN, RIGHT, SHARED, SHORT, line_of, with_change


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
    ("action: rewind_table_and_job", "action: rollback", "### Propose", "an action that exists (diagnosis.rem"),
    ("notice: recovered", "notice: party", "### Tell", "a notice that exists (first_warning, no_action"),
    ("  ruled-out: review", "  ruled_out: review", "### Count the", "a branch for one of confirmed, ruled-out"),
    ("  F2: rewind", "  F99: rewind", "### Name", "found `F99`"),
    ("  no: rewind", "  maybe: rewind", "### Ask", "a branch for no, or `next`"),
    ("  no-match: planned\n", "", "### Name", "a branch `no-match`"),
    ("next: call\n", "", "### Propose", "a branch for refused, unknown, rejected, expired, superseded"),
    ("  F2: rewind\n  no-match: planned\nnext: planned", "  no-match: review\nnext: review", "### Ask", "leads here"),
    ("  applied: count-again", "  applied: tell", "### Propose", "found a way to the notice `tell` without one"),
    ("  applied: count-again", "  applied: end", "### Propose", "found a way to the end without one"),
    ("  applied: count-again\nnext: call", "  applied: call\nnext: call", "### Propose", "without one"),
    ("kind: review\nnext: end", "kind: manual\nnext: end", "### Review", "a step of kind review"),
    ("  yes: It was planned\n", "", "### Ask", "two choices or more"),
    ("next: planned\n", "next: planned\nat_most: 2\notherwise: call\n", "### Name", "a step above to return to"),
    ("next: planned\n", "next: planned\nat_most: many\notherwise: call\n", "id: name-it", "`at_most:` with 2 to 5"),
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
        ("otherwise: call", "otherwise: nobody", "### Look again", "a step that exists"),
        ("proof: [duplicate_rows, missing_positions]", "proof: [rows]", "proof:", "tasks that exist"),
        ("proof: [duplicate_rows, missing_positions]", "title: x", "### Look again", "`proof: […]` in the"),
        ("### Look again", "## Look again", "## Look again", "`##` for sections of a runbook"),
        ("id: call", "id: ledger", "### Call", "taken in line 5 of runbooks/odd.md"),
    ],
)  # fmt: skip
def test_a_problem_in_the_shared_file_names_that_file(old: str, new: str, heading: str, message: str) -> None:
    """Once, although every round has the step."""
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
