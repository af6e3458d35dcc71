"""While a table is under review, no snapshot above a fault is named as the one to read."""

from collections.abc import Sequence

import pytest

from bot.adapters.journal_sql import Store
from bot.incident.diagnosis import Diagnosis, LastGoodRows, Matches, ModeResult, Remedy
from bot.incident.doubt import beside_trusted, up_to
from bot.incident.effects import MarkTable, StartJob
from bot.incident.entries import (
    Body,
    Diagnosed,
    EffectEnded,
    EffectStarted,
    ExecutionEnded,
    ExecutionStarted,
    ProposalMade,
    Verified,
    WaterlineMoved,
)
from bot.incident.lowering import due_mark
from bot.incident.waterline import due_waterline
from bot.notices.affecting import affected_commits
from bot.observation.evidence import Verdict
from bot.observation.findings import (
    DuplicateFilesFinding,
    DuplicatePair,
    DuplicatesFinding,
    Finding,
    MissingFilesFinding,
)
from bot.observation.ids import CheckpointId, SnapshotId
from tests import orders_table as orders
from tests.decisions import ANA, BEN, F2, F13
from tests.incidents import Story, healthy
from tests.published import MENDED, UNDO, UNDO_PROOF, publishes, undo_of_the_rewind, undoes_the_rewind

OLDER = orders.COMMITS[2][1]
"""Below run A's last commit."""
NEWER = orders.COMMITS[6][1]
"""Above it."""


@pytest.fixture
def story(record: Store) -> Story:
    """Opened where metadata shows nothing: the head is believed good."""
    return Story(record.journal).opens(trusted=orders.HEAD)


def fault(
    last_good: SnapshotId | None,
    rows: LastGoodRows | None = LastGoodRows.CLEAN,
    *,
    remedy: Remedy = Remedy.DEDUPLICATE_ROWS,
) -> Matches:
    """Keys live twice above that snapshot."""
    found = Matches(headline="keys live twice.", reasons=("Counted.",), remedy=remedy, last_good=last_good)
    return found.model_copy(update={"rows": (orders.HEAD,), "last_good_rows": rows})


def named(*faults: Matches) -> Diagnosed:
    """A diagnosis of these, the first as F2, the second as F13."""
    results = (ModeResult(mode=mode, examined=each) for mode, each in zip((F2, F13), faults, strict=False))
    return Diagnosed(diagnosis=Diagnosis(results=tuple(results)))


def twice(pairs: Sequence[tuple[SnapshotId, SnapshotId]], keys: int) -> DuplicatesFinding:
    """Ten keys of each pair of commits."""
    found = tuple(DuplicatePair(first=first, second=second, keys=10) for first, second in pairs)
    return DuplicatesFinding(rows_checked=900, keys=keys, extra_rows=keys, pairs=found)


def lost(commit: SnapshotId) -> MissingFilesFinding:
    """One file of that commit is not on storage."""
    return MissingFilesFinding(files_checked=9, count=1, rows=10, commits=(commit,), files=())


def added_twice(commit: SnapshotId) -> DuplicateFilesFinding:
    """That commit added a file that was live already."""
    return DuplicateFilesFinding(files_checked=9, count=1, extra_rows=10, files=(), again=(commit,))


def mark(story: Story) -> tuple[SnapshotId | None, str]:
    """What is owed; and what is owed once it is done is the same."""
    owed = due_mark(story.incident, orders.table_state())
    story.says(owed)
    assert due_mark(story.incident, orders.table_state()) == owed
    return owed.snapshot, owed.status


def test_a_named_fault_puts_the_mark_on_what_lies_before_it(story: Story) -> None:
    """The head was believed good only because metadata shows nothing of keys that live twice."""
    assert mark(story.says(named(fault(orders.GOOD)))) == (orders.GOOD, "under-review")


def test_of_several_faults_the_lowest_counts(story: Story) -> None:
    """Also of those that other diagnoses named."""
    story.says(named(fault(NEWER), fault(OLDER)))
    lowest = mark(story)

    assert lowest == (OLDER, "under-review")
    assert mark(story.says(named(fault(NEWER)))) == lowest


def test_nothing_lifts_it_before_a_proof(story: Story) -> None:
    """A later diagnosis has lost its evidence, or finds the table healthy."""
    story.says(named(fault(orders.GOOD)))
    mark(story)

    assert mark(story.says(named(fault(orders.HEAD)))) == (orders.GOOD, "under-review")
    assert mark(story.says(healthy())) == (orders.GOOD, "under-review")


@pytest.mark.parametrize("faults", [(fault(None, None),), (fault(orders.GOOD, LastGoodRows.WRONG),)])
def test_where_nobody_knows_how_far_down_it_reaches_none_is_named(story: Story, faults: tuple[Matches, ...]) -> None:
    """Better none than one whose rows are known to be wrong, or may be."""
    assert mark(story.says(named(*faults))) == (None, "under-review")
    assert mark(story.says(healthy())) == (None, "under-review")


def test_what_lies_below_wrong_rows_is_named_where_another_fault_tells_it(story: Story) -> None:
    """F2 names a snapshot that holds the rows of F13, which names one below."""
    story.says(named(fault(orders.GOOD, LastGoodRows.WRONG), fault(OLDER)))

    assert mark(story) == (OLDER, "under-review")


@pytest.mark.parametrize(
    "remedy",
    [Remedy.WAIT, Remedy.RESTORE_JOB_ONLY, Remedy.TELL_CONSUMERS, Remedy.NOTHING, Remedy.FREE_CHECKPOINT_FOLDER],
)
def test_what_leaves_the_rows_right_moves_nothing(story: Story, remedy: Remedy) -> None:
    """The job stands still; the table is as it should be."""
    assert mark(story.says(named(fault(orders.GOOD, remedy=remedy)))) == (orders.HEAD, "under-review")


def test_wrong_rows_of_which_nobody_knows_the_commits_move_nothing_before_a_diagnosis(unopened: Story) -> None:
    """They may lie above the snapshot: the diagnosis decides. That nothing is proven meanwhile is said beside it."""
    story = unopened.opens(trusted=NEWER)
    assert mark(story.answers()) == (NEWER, "under-review")
    assert up_to(story.incident) == "Possibly good up to"
    assert beside_trusted(story.incident) == "its rows: not verified; newer rows: under review"
    assert mark(story.answers(verdict=Verdict.RULED_OUT)) == (NEWER, "under-review")
    assert mark(story.says(named(fault(orders.GOOD)))) == (orders.GOOD, "under-review")
    assert beside_trusted(story.incident) == "newer rows: under review"


@pytest.mark.parametrize(
    ("task", "finding", "snapshot"),
    [
        ("duplicate_rows", twice([(OLDER, orders.GOOD)], keys=30), None),
        ("missing_files", lost(OLDER), None),
        ("missing_files", lost(SnapshotId(1)), None),
        ("duplicate_files", added_twice(orders.GOOD), None),
        ("missing_files", lost(NEWER), orders.GOOD),
        ("duplicate_files", added_twice(NEWER), orders.GOOD),
        ("duplicate_rows", twice([(OLDER, NEWER)], keys=10), orders.GOOD),
    ],
)
def test_evidence_leaves_no_snapshot_where_it_names_wrong_rows_at_or_below_it(
    unopened: Story, task: str, finding: Finding, snapshot: SnapshotId | None
) -> None:
    """At once: a diagnosis could decide nothing any more. What came above the mark leaves it, explained or not."""
    story = unopened.opens().answers(task, finding=finding)

    assert mark(story) == (snapshot, "under-review")
    if snapshot and task != "duplicate_rows":
        assert mark(story.says(healthy())) == (snapshot, "under-review")


def test_a_fault_above_the_mark_does_not_lift_it(unopened: Story) -> None:
    """It came later than what the incident was opened for."""
    assert mark(unopened.opens().says(named(fault(NEWER)))) == (orders.GOOD, "under-review")


def test_what_was_found_in_the_very_snapshot_leaves_none(story: Story) -> None:
    """It was named only because metadata shows nothing."""
    assert mark(story.answers()) == (None, "under-review")
    assert mark(story.says(named(fault(orders.GOOD)))) == (orders.GOOD, "under-review")


def test_wrong_rows_that_a_diagnosis_does_not_explain_leave_no_snapshot(story: Story) -> None:
    """Nobody knows where they lie, until a fault is named; then it tells."""
    assert mark(story.answers().says(healthy())) == (None, "under-review")
    assert mark(story.answers(verdict=Verdict.RULED_OUT)) == (None, "under-review")
    assert mark(story.says(named(fault(orders.GOOD)))) == (orders.GOOD, "under-review")


def test_rows_that_are_counted_below_a_named_fault_leave_no_snapshot(story: Story) -> None:
    """The fault that was named is not the only one."""
    story.says(named(fault(orders.GOOD)))
    mark(story)

    assert mark(story.answers(finding=twice([(OLDER, orders.GOOD)], keys=10))) == (None, "under-review")


def test_after_a_proof_what_was_found_before_it_counts_no_more(story: Story) -> None:
    """It is trusted where it was proven; and taken back, it goes where the fault was seen to begin."""
    story.says(named(fault(orders.GOOD)))
    mark(story)
    story.says(WaterlineMoved(snapshot=orders.HEAD, status="trusted"))
    proven = due_mark(story.incident, orders.table_state())

    assert proven is None
    assert mark(story.says(named(fault(NEWER).model_copy(update={"wrong_run": orders.RUN_C})))) == (
        orders.GOOD,
        "under-review",
    )


def test_readers_above_the_lowered_mark_are_told(story: Story) -> None:
    """The same snapshot says which commits are affected, also below where the window begins."""
    before = affected_commits(story.incident, orders.table_state())
    story.says(named(fault(OLDER)))
    mark(story)

    assert before == ()
    assert [s.snapshot_id for s in affected_commits(story.incident, orders.table_state())] == [
        each[1] for each in orders.COMMITS[3:]
    ]


@pytest.mark.parametrize(
    ("found", "how_far", "says"),
    [
        (fault(orders.GOOD), "No known problem up to", "newer rows: under review"),
        (
            fault(orders.GOOD, LastGoodRows.NOT_LOOKED_AT),
            "Possibly good up to",
            "its rows: not verified; newer rows: under review",
        ),
        (fault(None, None), "Trusted up to", "the whole table: under review"),
    ],
)
def test_responders_read_what_is_known_of_the_rows(story: Story, found: Matches, how_far: str, says: str) -> None:
    """On the card and in the status."""
    mark(story.says(named(found)))

    assert up_to(story.incident) == how_far
    assert beside_trusted(story.incident) == says


@pytest.fixture
def unopened(record: Store) -> Story:
    """An incident that is not opened yet."""
    return Story(record.journal)


def test_without_a_proof_nothing_is_said(unopened: Story) -> None:
    """Opening put it where it is."""
    assert due_waterline(unopened.opens().incident) is None


def test_a_second_repair_of_an_incident_takes_the_waterline_along(unopened: Story) -> None:
    """The state that was trusted first had to be mended again: it is trusted no more."""
    unopened.opens()
    unopened.says(WaterlineMoved(snapshot=orders.HEAD, status="trusted"))

    publishes(unopened)

    assert due_waterline(unopened.incident) == WaterlineMoved(snapshot=MENDED, status="trusted")


def ended(outcome: str) -> ExecutionEnded:
    return ExecutionEnded.model_validate({"proposal": UNDO, "outcome": outcome, "sentence": "It ended."})


TAKEN_BACK = WaterlineMoved(snapshot=orders.GOOD, status="under-review")
KEPT = WaterlineMoved(snapshot=MENDED, status="trusted")
MOVE_REFUSED = EffectEnded(proposal=UNDO, index=0, how="refused", detail="main had moved")
FAILED_PROOF = UNDO_PROOF.model_copy(update={"passed": False})


@pytest.mark.parametrize(
    ("then", "owed"),
    [
        pytest.param((), TAKEN_BACK, id="begun"),
        pytest.param((ended("applied"),), TAKEN_BACK, id="done, and not proven"),
        pytest.param((ended("applied"), FAILED_PROOF), TAKEN_BACK, id="its proof failed, or could not look"),
        pytest.param((ended("unknown"),), TAKEN_BACK, id="not known"),
        pytest.param((MOVE_REFUSED, ended("refused")), KEPT, id="refused: the proven head is still there"),
        pytest.param(
            (ended("unknown"), MOVE_REFUSED, ended("refused")), KEPT, id="not known, then found not to be done"
        ),
    ],
)
def test_from_its_beginning_to_its_proof_a_move_of_main_is_nobodys_trust(
    unopened: Story, then: Sequence[Body], owed: WaterlineMoved
) -> None:
    """Whoever reads the head in between reads what nobody has proven."""
    publishes(unopened.opens())

    begins_to_move(unopened, *then)

    assert due_waterline(unopened.incident) == owed


@pytest.mark.parametrize(
    ("trusted", "owed"), [(orders.GOOD, TAKEN_BACK), (None, WaterlineMoved(snapshot=MENDED, status="under-review"))]
)
def test_an_undo_takes_it_back(unopened: Story, trusted: SnapshotId | None, owed: WaterlineMoved) -> None:
    """The fault is there again. Where nothing was good at the opening, the proven one is named, and trusted no more."""
    undoes_the_rewind(publishes(unopened.opens(trusted=trusted)))

    assert due_waterline(unopened.incident) == owed


START = StartJob(job=orders.JOB, path="s-6", checkpoint_id=CheckpointId(6))
UNTAG = MarkTable(table=orders.TABLE, why="Remove the tag", remove_tags=("kept",))


@pytest.mark.parametrize(
    ("effect", "proof", "status"),
    [(START, UNDO_PROOF, "under-review"), (UNTAG, UNDO_PROOF, "trusted"), (START, FAILED_PROOF, "under-review")],
    ids=["a job that was put back", "a tag", "a job whose proof fails"],
)
def test_an_undo_that_touches_neither_main_nor_the_job_takes_no_trust(
    unopened: Story, effect: StartJob | MarkTable, proof: Verified, status: str
) -> None:
    """A tag that is removed again changes no row; a job that was put back may commit what is wrong."""
    publishes(unopened.opens())
    made = undo_of_the_rewind(unopened.now).model_copy(update={"effects": (effect,)})
    unopened.says(ProposalMade(step=None, proposal=made), by=ANA).says(ExecutionStarted(proposal=UNDO), by=BEN)
    unopened.says(ended("applied"), proof)

    assert due_waterline(unopened.incident).status == status


def test_a_table_that_was_found_healthy_is_doubted_when_main_is_moved_all_the_same(unopened: Story) -> None:
    """There was no proof to take back, and there is trust to take back."""
    unopened.opens().says(WaterlineMoved(snapshot=orders.HEAD, status="trusted"))
    begins_to_move(unopened)

    assert due_waterline(unopened.incident) == TAKEN_BACK


def begins_to_move(unopened: Story, *then: Body) -> None:
    """An approved undo of what was proven is begun; main may move any moment."""
    unopened.says(ProposalMade(step=None, proposal=undo_of_the_rewind(unopened.now)), by=ANA)
    unopened.says(ExecutionStarted(proposal=UNDO), by=BEN)
    unopened.says(EffectStarted(proposal=UNDO, index=0, expected_head=MENDED))
    for body in then:
        unopened.says(body)
