"""The runbooks that are shipped; a new file is picked up here by itself."""

from pathlib import Path

import pytest

import bot.actions
import bot.diagnosis
from bot.actions._scan import scan as scan_actions
from bot.diagnosis._scan import scan as scan_modes
from bot.domain.ids import StepId
from bot.domain.remedy import Remedy
from bot.domain.runbook import (
    ASKED_FOR,
    END,
    MENDED,
    NOT_POSSIBLE,
    ActionStep,
    DecisionStep,
    EvidenceStep,
    ManualStep,
    Runbook,
    Step,
)
from bot.runbook.lint import Vocabulary, lint
from bot.runbook.parse import parse, read_all
from bot.runbook.walk import walk
from tests.runbook.test_walk import ended

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "runbooks"
FILES = sorted(FOLDER.glob("*.md"))
OF_FAULTS = [path for path in FILES if path.stem != "planned-savepoint"]
SYMPTOMS = {
    "data-loss-after-restart", "duplicate-rows", "failed-checkpoints", "job-restarted", "job-will-not-restore",
    "late-or-corrected", "missing-rows", "no-new-data", "nothing-commits", "planned-savepoint", "schema-change",
    "table-behind", "two-writers", "wrong-savepoint",
}  # fmt: skip
KNOWN = Vocabulary(
    tasks=frozenset(p.stem for p in (ROOT / "spark_tasks").glob("[a-z]*.py")),
    actions=frozenset(scan_actions(bot.actions)),
    notices=frozenset(p.name.removesuffix(".md.j2") for p in (ROOT / "messages").glob("*.md.j2")),
    codes=frozenset(scan_modes(bot.diagnosis)),
)
every = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
every_fault = pytest.mark.parametrize("path", OF_FAULTS, ids=lambda path: path.stem)


def read(path: Path) -> Runbook:
    """One of them."""
    return parse(path.read_text(encoding="utf-8"), path.name)


def decision(book: Runbook) -> DecisionStep:
    """The step that names what happened."""
    return next(s for s in book.steps if isinstance(s, DecisionStep))


def before(book: Runbook, step: Step) -> list[EvidenceStep]:
    """The evidence above a step."""
    return [s for s in book.steps if isinstance(s, EvidenceStep) and s.line < step.line]


@every
def test_a_runbook_is_right(path: Path) -> None:
    """By the same lint, tasks, actions, notices and modes that the application starts with."""
    problems = lint(path.read_text(encoding="utf-8"), f"runbooks/{path.name}", KNOWN)

    assert [str(problem) for problem in problems] == []


@every
def test_a_runbook_is_named_by_its_symptom(path: Path) -> None:
    """The file's name is the id that a responder types."""
    assert path.stem == read(path).id


@every_fault
@pytest.mark.parametrize("remedy", Remedy)
def test_every_diagnosis_leads_to_its_remedy(path: Path, remedy: Remedy) -> None:
    """Health to the all-clear, recovery to waiting; whatever changes the world to one step that proposes it."""
    book = read(path)
    first = decision(book)
    done = {s.id: ended("inconclusive") for s in before(book, first)}

    found = walk(book, done | {first.id: ended(remedy.value)})

    wanted = {
        Remedy.NOTHING: "tell-no-action",
        Remedy.WAIT: "let-flink-settle",
        Remedy.TELL_CONSUMERS: "tell-update",
    }.get(remedy, "propose-the-remedy")
    assert wanted == found.current


@every_fault
def test_every_remedy_that_has_an_action_can_be_proposed_and_every_other_goes_to_people(path: Path) -> None:
    """The step names no action: a new file in `bot/actions/` is reached without an edit of the runbooks."""
    book = read(path)
    first = decision(book)
    done = {s.id: ended("inconclusive") for s in before(book, first)}
    step = book.step("propose-the-remedy")

    way = walk(book, done | {first.id: ended(Remedy.STOP_CULPRIT.value), step.id: ended(NOT_POSSIBLE)})

    assert isinstance(step, ActionStep)
    assert step.action == ASKED_FOR
    assert way.current == "follow-the-remedy"


@every_fault
def test_what_no_mode_explains_goes_to_people_who_know_the_job(path: Path) -> None:
    """Nobody is left alone with a question mark."""
    book = read(path)
    first = decision(book)
    done = {s.id: ended("inconclusive") for s in before(book, first)}

    assert "escalate" == walk(book, done | {first.id: ended("no-match")}).current


@every
def test_commits_and_rows_are_looked_at_before_health_is_claimed(path: Path) -> None:
    """The all-clear rests on rows, which the first look does not read; a job that cannot start cannot be healthy."""
    book = read(path)

    asked = {s.task for s in before(book, decision(book))}

    assert "ledger" in asked
    assert {"duplicate_rows", "missing_positions"} <= asked or path.stem == "job-will-not-restore"


@every_fault
def test_a_proposal_that_was_not_applied_never_leads_to_the_all_clear(path: Path) -> None:
    """Whatever else happened to it, consumers are not told that the table recovered."""
    book = read(path)
    action = next(s for s in book.steps if isinstance(s, ActionStep))
    first = decision(book)
    done = {s.id: ended("confirmed") for s in before(book, first)}
    assert action.id == "propose-the-remedy"

    for key in ("refused", "unknown", "rejected", "expired", "superseded"):
        way = walk(book, done | {first.id: ended("rewind-table-and-job"), action.id: ended(key)})

        assert "see-why-not" == way.current
        assert "tell-recovered" not in (way.current, *way.ahead)


@every_fault
def test_what_the_first_repair_left_is_proposed_and_proven_as_well(path: Path) -> None:
    """A fork that was stopped has left its rows: the walk names that and proposes again, and then proves again."""
    book = read(path)
    left, again = book.step("name-what-is-left"), book.step("propose-what-is-left")

    assert isinstance(again, ActionStep)
    assert (left.next, again.action) == (again.id, ASKED_FOR)
    assert isinstance(book.step(again.branches["applied"]), EvidenceStep)
    assert again.next == "still-wrong"


@every_fault
def test_a_repair_by_hand_is_proven_before_anybody_is_told(path: Path) -> None:
    """After `follow-the-remedy` comes the proof and then evidence; only what it rules out leads to the good news."""
    book = read(path)
    by_hand = book.step("follow-the-remedy")
    proof = book.step(by_hand.next or END)

    assert isinstance(by_hand, ManualStep)
    assert isinstance(proof, ActionStep)
    assert (proof.action, proof.branches["applied"]) == ("trust_present_state", proof.next)
    assert isinstance(book.step(proof.next or END), EvidenceStep)


@every_fault
def test_rows_that_others_mended_are_proven_and_told_as_recovered(path: Path) -> None:
    """Not as if nothing had been wrong: also where the walk waits for Flink first, and looks again."""
    book = read(path)
    first, again = (book.step(StepId(name)) for name in ("name-it", "name-it-again"))

    assert (MENDED, "have-it-proven") in first.branches.items() & again.branches.items()
    assert "applied" in book.step(StepId("have-it-proven")).branches


def test_a_savepoint_that_does_not_pair_is_never_started_from() -> None:
    """Only `confirmed` leads to the start."""
    book = read(FOLDER / "planned-savepoint.md")
    prove = book.step("prove-it")

    assert {"confirmed": "start-it"} == prove.branches
    assert "not-authoritative" == prove.next


def test_a_savepoint_of_which_nobody_knows_is_not_said_to_be_off() -> None:
    """The job may stand still: only what was never begun leads to *Not now*, where its end is told."""
    stop = read(FOLDER / "planned-savepoint.md").step(StepId("stop-it"))

    assert {"refused": "not-authoritative", "unknown": "not-authoritative"}.items() <= stop.branches.items()
    assert stop.next == "not-now"


@every
def test_a_runbook_is_short_enough_for_three_in_the_morning(path: Path) -> None:
    """No sentence line longer than 130 characters, no step's prose longer than eight lines (Slack shows it whole)."""
    book = read(path)

    long_lines = [line for line in book.text.splitlines() if len(line) > 130]
    long_steps = [step.id for step in book.steps if len(step.prose.splitlines()) > 8]

    assert (long_lines, long_steps) == ([], [])


def test_the_folder_is_read_as_a_whole() -> None:
    """One runbook a symptom."""
    assert set(read_all(FOLDER)) == SYMPTOMS
