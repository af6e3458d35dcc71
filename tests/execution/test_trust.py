"""A table is trusted by evidence alone, and what is found later takes the trust back."""

import pytest

from bot.adapters.journal_sql import Store
from bot.incident.diagnosis import Diagnosis, Matches, ModeResult, Remedy
from bot.incident.effects import Effect, MarkTable, MoveTable, StopFork
from bot.incident.entries import (
    Diagnosed,
    EffectEnded,
    EffectStarted,
    EvidenceRecorded,
    ExecutionEnded,
    ExecutionStarted,
    ProposalMade,
    Verified,
    WaterlineMoved,
)
from bot.incident.waterline import ASKED, due_waterline
from bot.observation.evidence import Verdict
from bot.observation.ids import JobId
from tests import orders_table as orders
from tests.decisions import ANA, BEN, F2, F13
from tests.incidents import PROVEN_BY, Story
from tests.published import MENDED, PUBLICATION, UNDO, publishes, undo_of_the_rewind

TRUSTED = WaterlineMoved(snapshot=MENDED, status="trusted")
AGAIN = Verified(proposal=PUBLICATION, passed=True, checks=(), evidence=(PROVEN_BY,), head=MENDED)
TAKEN_BACK = WaterlineMoved(snapshot=orders.GOOD, status="under-review")


@pytest.fixture
def opened(record: Store) -> Story:
    """Nothing is known yet."""
    return Story(record.journal).opens()


@pytest.fixture
def story(opened: Story) -> Story:
    """F2 was diagnosed and mended on top; the table is proven."""
    return publishes(opened.answers().diagnoses())


def named(remedy: Remedy, *, run: str = orders.RUN_C) -> Diagnosed:
    """A diagnosis of another run."""
    match = Matches(
        headline="run c5d0aa was restored from an older point.",
        reasons=("It began below what is committed.",),
        rows=(orders.HEAD,),
        last_good=MENDED,
        wrong_run=JobId(run),
        remedy=remedy,
    )
    return Diagnosed(diagnosis=Diagnosis(results=(ModeResult(mode=F2, examined=match),)))


@pytest.mark.parametrize("task", ["duplicate_rows", "missing_positions"])
def test_wrong_rows_that_are_counted_after_the_proof_take_the_trust_back(story: Story, task: str) -> None:
    """Pipelines stop at once, not when somebody begins to mend; and it stays so until the next proof."""
    before = due_waterline(story.incident)
    story.answers(task)
    found = due_waterline(story.incident)
    story.answers(task, Verdict.RULED_OUT)

    assert before == TRUSTED
    assert found == TAKEN_BACK
    assert due_waterline(story.incident) == TAKEN_BACK
    assert due_waterline(story.says(AGAIN).incident) == TRUSTED


def test_a_new_fault_takes_the_trust_back(story: Story) -> None:
    """Run C, too, was restored from an older savepoint."""
    assert due_waterline(story.says(named(Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB)).incident) == TAKEN_BACK


def test_a_table_that_was_found_healthy_is_doubted_when_a_fault_is_found(opened: Story) -> None:
    """It was trusted without a proof of its own."""
    story = opened.says(WaterlineMoved(snapshot=orders.HEAD, status="trusted"))
    before = due_waterline(story.incident)
    story.diagnoses()

    assert before is None
    assert due_waterline(story.incident) == TAKEN_BACK


def test_the_fault_that_was_mended_on_top_is_named_again_and_takes_nothing_back(story: Story) -> None:
    """Its commits stay in the history of main, where each diagnosis sees them."""
    assert due_waterline(story.diagnoses().incident) == TRUSTED


def both(other: Remedy = Remedy.RESOLVE_FORK) -> Diagnosed:
    """F2 as the stories diagnose it, and F13 beside it."""
    results = named(Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB, run=orders.RUN_B).diagnosis.results
    fork = named(other).diagnosis.results[0].model_copy(update={"mode": F13})
    return Diagnosed(diagnosis=Diagnosis(results=(*results, fork)))


def test_a_fault_that_nothing_was_done_about_takes_the_trust_back_when_it_is_named_again(opened: Story) -> None:
    """The repair that was proven was made for the other; until somebody has mended this one, too, or has looked."""
    story = publishes(opened.answers().says(both()))
    before = due_waterline(story.incident)

    assert before == TRUSTED
    assert due_waterline(story.says(both()).incident) == TAKEN_BACK
    assert due_waterline(looks(story).incident) == TRUSTED
    assert due_waterline(story.says(both()).incident) == TRUSTED


def test_a_fault_for_which_the_proven_action_was_made_as_well_takes_nothing_back(opened: Story) -> None:
    """Both had asked for it."""
    named_again = both(Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB)

    assert due_waterline(publishes(opened.says(named_again)).says(named_again).incident) == TRUSTED


@pytest.mark.parametrize("is_carried_out", [True, False])
def test_a_fault_that_an_earlier_action_has_ended_takes_nothing_back(opened: Story, *, is_carried_out: bool) -> None:
    """The fork was resolved before the table was rewound; where that came to nothing, it goes on."""
    opened.says(both())
    stop = undo_of_the_rewind(opened.now).model_copy(
        update={
            "action": "resolve_fork",
            "code": "F13",
            "effects": (StopFork(job=orders.JOB, job_id=JobId(orders.RUN_C), keeps=JobId(orders.RUN_B)),),
        }
    )
    opened.says(ProposalMade(step=None, proposal=stop), by=ANA).says(ExecutionStarted(proposal=UNDO), by=BEN)
    outcome = "applied" if is_carried_out else "refused"
    ended = ExecutionEnded.model_validate({"proposal": UNDO, "outcome": outcome, "sentence": "It has ended."})
    story = publishes(opened.says(ended)).says(both())

    assert (due_waterline(story.incident) == TRUSTED) == is_carried_out


def test_what_a_responder_asks_for_besides_makes_no_fault_known(opened: Story) -> None:
    """A savepoint is taken; nobody has called the table right."""
    story = publishes(asks(opened.says(both()), "take_savepoint")).says(both())

    assert due_waterline(story.incident) == TAKEN_BACK


def looks(story: Story) -> Story:
    """A responder has the table proven as it is, with all that was named in sight."""
    return asks(story, "verify_current_state").says(AGAIN.model_copy(update={"proposal": UNDO}))


def asks(story: Story, action: str) -> Story:
    """Without a diagnosis; it is carried out."""
    made = undo_of_the_rewind(story.now).model_copy(update={"action": action, "code": ASKED, "effects": ()})
    story.says(ProposalMade(step=None, proposal=made), by=ANA).says(ExecutionStarted(proposal=UNDO), by=BEN)
    return story.says(ExecutionEnded(proposal=UNDO, outcome="applied", sentence="It is done."))


@pytest.mark.parametrize("remedy", [Remedy.WAIT, Remedy.TELL_CONSUMERS, Remedy.RESTORE_JOB_ONLY])
def test_what_leaves_the_rows_right_takes_nothing_back(story: Story, remedy: Remedy) -> None:
    """A job that stands still writes nothing wrong."""
    assert due_waterline(story.says(named(remedy)).incident) == TRUSTED


def test_rows_that_are_right_or_on_a_branch_take_nothing_back(story: Story) -> None:
    """Nobody reads what is rehearsed; neither does another question's yes say that rows are wrong."""
    story.answers(verdict=Verdict.RULED_OUT).answers(branch="recovery-wl-1").answers("late_rows")

    assert due_waterline(story.incident) == TRUSTED


def test_an_answer_to_what_was_asked_before_the_proof_takes_nothing_back(opened: Story) -> None:
    """It tells of the table as it was before the repair."""
    story = opened.answers()
    [late] = [entry.body for entry in story.incident.entries if isinstance(entry.body, EvidenceRecorded)]
    publishes(story)

    assert due_waterline(story.says(late).incident) == TRUSTED


def test_other_modes_beside_the_first_count_as_well(story: Story) -> None:
    """A fork behind what only waits."""
    waits, forked = named(Remedy.WAIT).diagnosis.results[0], named(Remedy.RESOLVE_FORK).diagnosis.results[0]
    both = Diagnosis(results=(waits, forked.model_copy(update={"mode": F13})))

    assert due_waterline(story.says(Diagnosed(diagnosis=both)).incident) == TAKEN_BACK


TAG = MarkTable(table=orders.TABLE, why="Tag the head", new_tags={"ours": orders.HEAD})
MOVE = MoveTable(table=orders.TABLE, to=orders.GOOD, keep_head_as="left-2")


@pytest.fixture
def trust_story(record: Store) -> Story:
    """Rows are there twice, and diagnosed."""
    return Story(record.journal).opens().answers().diagnoses()


def passes(trust_story: Story, effect: Effect, moves_waterline: str, *, asked: bool = False) -> Story:
    """An action of one's own is carried out, and its verification passes."""
    made = undo_of_the_rewind(trust_story.now).model_copy(update={"action": "ours", "effects": (effect,)})
    trust_story.says(ProposalMade(step=None, proposal=made), by=ANA).says(ExecutionStarted(proposal=UNDO), by=BEN)
    trust_story.says(
        EffectStarted(proposal=UNDO, index=0), EffectEnded(proposal=UNDO, index=0, how="done", detail="Done.")
    )
    trust_story.says(ExecutionEnded(proposal=UNDO, outcome="applied", sentence="It is done."))
    proof = Verified(proposal=UNDO, passed=True, checks=(), evidence=(PROVEN_BY,) if asked else (), head=orders.HEAD)
    return trust_story.says(proof.model_copy(update={"moves_waterline": moves_waterline}))


def test_a_damaged_table_is_not_trusted_because_a_tag_was_set(trust_story: Story) -> None:
    """What was found before still counts."""
    assert due_waterline(passes(trust_story, TAG, "trusted").incident) is None


def test_it_takes_no_trust_either(trust_story: Story) -> None:
    """It changed no row: what was proven before stays proven."""
    owed = due_waterline(passes(publishes(trust_story), TAG, "trusted").incident)

    assert (owed.status, owed.snapshot) == ("trusted", MENDED)


@pytest.mark.parametrize("moves_waterline", ["trusted", "no"])
def test_main_that_was_moved_stays_under_review_while_nobody_has_looked_at_its_rows(
    trust_story: Story, moves_waterline: str
) -> None:
    """Also after a proof of what it was before."""
    owed = due_waterline(passes(publishes(trust_story), MOVE, moves_waterline).incident)

    assert owed.status == "under-review"


def test_evidence_gives_it(trust_story: Story) -> None:
    """The same, asked."""
    owed = due_waterline(passes(trust_story, MOVE, "trusted", asked=True).incident)

    assert (owed.status, owed.snapshot) == ("trusted", orders.HEAD)
