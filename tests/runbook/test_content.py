"""The runbooks that are shipped; a new file is picked up here by itself."""

from pathlib import Path

import pytest

import bot.actions
import bot.diagnosis
from bot.actions._scan import scan as scan_actions
from bot.diagnosis._scan import scan as scan_modes
from bot.domain.runbook import ActionStep, DecisionStep, EvidenceStep
from bot.runbook.lint import Vocabulary, lint
from bot.runbook.parse import parse, read_all
from bot.runbook.walk import walk
from tests.runbook.test_walk import ended

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "runbooks"
FILES = sorted(FOLDER.glob("*.md"))
KNOWN = Vocabulary(
    tasks=frozenset(p.stem for p in (ROOT / "spark_tasks").glob("[a-z]*.py")),
    actions=frozenset(scan_actions(bot.actions)),
    notices=frozenset(p.name.removesuffix(".md.j2") for p in (ROOT / "messages").glob("*.md.j2")),
    codes=frozenset(scan_modes(bot.diagnosis)),
)
every = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


@every
def test_a_runbook_is_right(path: Path) -> None:
    """By the same lint, tasks, actions, notices and modes that the application starts with."""
    problems = lint(path.read_text(encoding="utf-8"), f"runbooks/{path.name}", KNOWN)

    assert [str(problem) for problem in problems] == []


@every
def test_a_runbook_is_named_by_its_symptom(path: Path) -> None:
    """The file's name is the id that a responder types."""
    book = parse(path.read_text(encoding="utf-8"), path.name)

    assert path.stem == book.id


@every
@pytest.mark.parametrize("code", sorted(KNOWN.codes))
def test_every_diagnosis_leads_to_its_remedy(path: Path, code: str) -> None:
    """A fault to the rewind, health to the all-clear, recovery to waiting."""
    book = parse(path.read_text(encoding="utf-8"), path.name)
    first = next(s for s in book.steps if isinstance(s, DecisionStep))
    done = {s.id: ended("inconclusive") for s in book.steps if isinstance(s, EvidenceStep) and s.line < first.line}

    found = walk(book, done | {first.id: ended(code)})

    wanted = {"healthy": "tell-no-action", "wait": "let-flink-settle"}.get(code, "propose-rewind")
    assert wanted == found.current


@every
def test_every_task_is_asked_before_the_diagnosis(path: Path) -> None:
    """Health is only claimed when every one of them has looked."""
    book = parse(path.read_text(encoding="utf-8"), path.name)
    first = next(s for s in book.steps if isinstance(s, DecisionStep))

    asked = {s.task for s in book.steps if isinstance(s, EvidenceStep) and s.line < first.line}

    assert {"ledger", "duplicate_rows", "missing_positions", "checkpoint_pairing"} == asked


@every
def test_a_proposal_that_was_not_applied_never_leads_to_the_all_clear(path: Path) -> None:
    """Whatever else happened to it, consumers are not told that the table recovered."""
    book = parse(path.read_text(encoding="utf-8"), path.name)
    action = next(s for s in book.steps if isinstance(s, ActionStep))
    done = {s.id: ended("confirmed") for s in book.steps if isinstance(s, EvidenceStep)}
    first = next(s for s in book.steps if isinstance(s, DecisionStep))

    ways = [
        walk(book, done | {first.id: ended("F2"), action.id: ended(key)})
        for key in ("refused", "unknown", "rejected", "expired", "superseded")
    ]

    assert ways
    assert [way.current for way in ways if "tell-recovered" in (way.current, *way.ahead)] == []


@every
def test_a_runbook_is_short_enough_for_three_in_the_morning(path: Path) -> None:
    """No sentence line longer than 130 characters, no step's prose longer than eight lines (Slack shows it whole)."""
    book = parse(path.read_text(encoding="utf-8"), path.name)

    long_lines = [line for line in book.text.splitlines() if len(line) > 130]
    long_steps = [step.id for step in book.steps if len(step.prose.splitlines()) > 8]

    assert (long_lines, long_steps) == ([], [])


def test_the_folder_is_read_as_a_whole() -> None:
    """One runbook a symptom."""
    assert {"duplicate-rows", "missing-rows", "job-restarted", "no-new-data"} <= set(read_all(FOLDER))
