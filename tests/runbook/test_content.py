"""The runbooks that are shipped; a new file is picked up here by itself. Each test looks at all of them."""

import re
from collections.abc import Iterator, Sequence
from itertools import product

import pytest

from bot.incident.diagnosis import Remedy
from bot.incident.runbook import (
    ASKED_FOR,
    END,
    FIXED_ELSEWHERE,
    NOT_POSSIBLE,
    ActionStep,
    DecisionStep,
    EvidenceStep,
    ManualStep,
    NoticeStep,
    Runbook,
    Step,
    StepOutcome,
)
from bot.observation.ids import StepId
from bot.runbook.lint import downstream, lint
from bot.runbook.parse import files_of
from bot.runbook.progress import position
from tests.runbook.shipped import FOLDER, KNOWN, shipped
from tests.runbook.test_progress import ended

SYMPTOMS = {
    "data-loss-after-restart", "duplicate-rows", "failed-checkpoints", "job-restarted", "job-will-not-restore",
    "late-or-corrected", "missing-rows", "no-new-data", "nothing-commits", "planned-savepoint", "schema-change",
    "table-behind", "two-writers", "wrong-savepoint",
}  # fmt: skip
BOOKS = shipped()
FAULTS = [book for book in BOOKS.values() if not book.is_planned]
PLANNED = BOOKS["planned-savepoint"]


def step(book: Runbook, step_id: str) -> Step:
    """By its id; ends the test if it is not there."""
    return book.step(StepId(step_id))


def up_to_the_diagnosis(book: Runbook) -> dict[StepId, StepOutcome]:
    """Every step before the first diagnosis has ended, and found nothing out."""
    first = next(i for i, s in enumerate(book.steps) if isinstance(s, DecisionStep))
    return {s.id: ended("inconclusive") for s in book.steps[:first]}


def after(book: Runbook, **outcomes: str) -> str | None:
    """The step that the incident comes to after the evidence and these."""
    done = {StepId(name.replace("_", "-")): ended(key) for name, key in outcomes.items()}
    return position(book, up_to_the_diagnosis(book) | done).current


def test_each_runbook_is_right_and_named_by_its_symptom() -> None:
    """By the same lint, tasks, actions, notices and modes that the application starts with."""
    problems = [
        str(problem)
        for path in files_of(FOLDER)
        for problem in lint(path.read_text(encoding="utf-8"), f"runbooks/{path.name}", KNOWN)
    ]

    assert problems == []
    assert set(BOOKS) == SYMPTOMS


@pytest.mark.parametrize("remedy", Remedy)
def test_every_diagnosis_leads_to_its_remedy(remedy: Remedy) -> None:
    """Health to the all-clear, recovery to waiting; whatever changes the world to one step that proposes it."""
    wanted = {
        Remedy.NOTHING: "tell-no-action",
        Remedy.WAIT: "let-flink-settle",
        Remedy.TELL_CONSUMERS: "tell-update",
    }.get(remedy, "propose-the-remedy")

    assert {wanted} == {after(book, name_it=remedy.value) for book in FAULTS}


def test_what_nobody_can_name_or_propose_goes_to_people() -> None:
    """A new file in `bot/actions/` is reached without an edit of the runbooks; nobody is left with a question mark."""
    for book in FAULTS:
        propose = step(book, "propose-the-remedy")
        assert isinstance(propose, ActionStep)
        assert propose.action == ASKED_FOR
        assert "escalate" == after(book, name_it="no-match")
        assert "follow-the-remedy" == after(book, name_it="stop-culprit", propose_the_remedy=NOT_POSSIBLE)


def test_commits_and_rows_are_looked_at_before_health_is_claimed() -> None:
    """The all-clear rests on rows, which the first look does not read; a job that cannot start cannot be healthy."""
    for name, book in BOOKS.items():
        asked = {s.task for s in book.steps if isinstance(s, EvidenceStep) and s.id in up_to_the_diagnosis(book)}

        assert "ledger" in asked, name
        assert {"duplicate_rows", "missing_positions"} <= asked or name == "job-will-not-restore", name


def test_a_proposal_that_was_not_applied_never_leads_to_the_all_clear() -> None:
    """Whatever else happened to it, also to the second one, consumers are not told that the table recovered."""
    proposes = ("propose-the-remedy", "propose-what-is-left")
    for book, name, key in product(FAULTS, proposes, ("refused", "unknown", "rejected", "expired", "superseded")):
        propose = step(book, name)
        target = propose.branches.get(key, propose.next)

        assert "see-why-not" == target
        assert "tell-recovered" not in set(_ahead(book, target))


def test_what_the_first_repair_left_is_proposed_and_proven_as_well() -> None:
    """A fork that was stopped has left its rows: that is named, proposed again and proven again; then people come."""
    for book in FAULTS:
        left, again = step(book, "name-what-is-left"), step(book, "propose-what-is-left")

        assert isinstance(again, ActionStep)
        assert (left.next, again.action) == (again.id, ASKED_FOR)
        assert "look-once-more" == left.branches[Remedy.NOTHING] == again.branches["applied"]
        for looked in _proofs(book, "look-once-more"):
            assert looked.next == "still-wrong"
        assert "tell-recovered" not in set(_ahead(book, "still-wrong"))


def test_a_repair_is_proven_before_anybody_is_told() -> None:
    """Also one by hand: only evidence that each rules out leads to the good news."""
    for book in FAULTS:
        by_hand = step(book, "follow-the-remedy")
        proof = step(book, by_hand.next or END)
        looks = _proofs(book, "look-again")

        assert isinstance(by_hand, ManualStep)
        assert isinstance(proof, ActionStep)
        assert (proof.action, proof.next) == ("verify_current_state", looks[0].id)
        assert step(book, "propose-the-remedy").branches["applied"] == looks[0].id
        assert len(looks) == 2
        assert {"missing_positions"} < {looked.task for looked in looks}
        assert {key for looked in looks for key in looked.branches} == {"ruled-out"}
        assert "tell-recovered" == looks[-1].branches["ruled-out"]


def test_rows_that_others_mended_are_proven_and_told_as_recovered() -> None:
    """Not as if nothing had been wrong: also where Flink settles first, and it is looked at again."""
    for book, name in product(FAULTS, ("name-it", "name-it-again")):
        assert "have-it-proven" == step(book, name).branches[FIXED_ELSEWHERE]


def test_a_rewind_over_rows_of_others_is_chosen_by_people() -> None:
    """The step where it was refused says what to type if the rows may go, and what else."""
    for book in FAULTS:
        prose = step(book, "follow-the-remedy").prose

        assert "/waterline propose roll_back_table_and_restore_job drop_others=yes" in prose
        assert "/waterline propose deduplicate_rows" in prose


def test_a_savepoint_that_does_not_pair_is_never_started_from() -> None:
    """Only `confirmed` leads to the start."""
    prove = step(PLANNED, "prove-it")

    assert ({"confirmed": "start-it"}, "not-authoritative") == (prove.branches, prove.next)


def test_a_savepoint_of_which_nobody_knows_is_not_said_to_be_off() -> None:
    """The job may be stopped: only what was never begun leads to *Not now*, where its end is told."""
    stop = step(PLANNED, "stop-it")

    assert {"refused": "not-authoritative", "unknown": "not-authoritative"}.items() <= stop.branches.items()
    assert stop.next == "not-now"


def test_the_end_of_planned_work_is_told_only_when_both_looks_found_nothing() -> None:
    """Else people are asked."""
    first, second = _proofs(PLANNED, "look-again")

    assert [first.next, second.next] == ["still-wrong", "still-wrong"]
    assert (first.branches, second.branches) == ({"ruled-out": second.id}, {"ruled-out": "tell-it-is-over"})
    end = step(PLANNED, "tell-it-is-over")
    assert isinstance(end, NoticeStep)
    assert end.notice == "planned_work"


def test_no_step_lists_failure_modes() -> None:
    """The card shows those that this incident has."""
    listing = [(name, s.id) for name, book in BOOKS.items() for s in book.steps if re.search(r"\bF\d", s.prose)]

    assert listing == []


def test_a_runbook_is_short_enough_for_three_in_the_morning() -> None:
    """Files, lines, and what one step shows: Slack shows it whole."""
    files = {path.name: path.read_text(encoding="utf-8").splitlines() for path in FOLDER.glob("*.md")}
    faults = {f"{book.id}.md" for book in FAULTS}
    long_files = [name for name, lines in files.items() if len(lines) > (45 if name in faults else 220)]
    long_lines = [(name, line) for name, lines in files.items() for line in lines if len(line) > 130]
    long_steps = [
        (name, s.id)
        for name, book in BOOKS.items()
        for s in book.steps
        if len(s.prose.splitlines()) > 8 or len(s.prose) > 1000
    ]

    assert (long_files, long_lines, long_steps) == ([], [], [])
    assert sum(map(len, files.values())) <= 920


def _ahead(book: Runbook, start: str | None) -> Iterator[StepId]:
    return downstream(StepId(start or END), {s.id: s for s in book.steps})


def _proofs(book: Runbook, first: str) -> Sequence[EvidenceStep]:
    found = [step(book, first)]
    while isinstance(follower := step(book, found[-1].branches["ruled-out"]), EvidenceStep):
        found.append(follower)
    return [s for s in found if isinstance(s, EvidenceStep)]
