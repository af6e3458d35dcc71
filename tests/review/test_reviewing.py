"""The review beside its incident, its terms, and what it proposes."""

from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

import pytest

from bot.adapters.contracts import contract_of
from bot.incident.approval import ApprovalPolicy
from bot.incident.contract_terms import contract_snippet, observed_terms
from bot.incident.diagnosis import Diagnosis, Matches, ModeResult, Remedy
from bot.incident.entries import Diagnosed, FindingAssigned, FindingSettled, ReviewOpened
from bot.incident.review import charged, first_wrong_at, metrics, open_items, review, review_items
from bot.incident.setup import TableSetup, Team, TeamMember
from bot.observation.contract import ContractColumn, TableContract
from bot.observation.evidence import Observation
from bot.observation.flink import CheckpointKind, StoredCheckpoint
from bot.observation.ids import CheckpointId, JobId, SnapshotId, UserId
from bot.observation.looked import Seen
from bot.observation.sentences import span
from tests import orders_table as orders
from tests.cases import NOON, Tale, job_id
from tests.decisions import ANA, BEN, EVE, F2
from tests.incidents import Story

MINUTE = timedelta(minutes=1)
SETUP = TableSetup(
    name=orders.TABLE, job=orders.JOB, contract=orders.contract(), consumers=(),
    policies={"default": ApprovalPolicy(users=(BEN,))}, next_update_minutes=30,
    review_due=timedelta(days=10), review_owners={"table": EVE},
)  # fmt: skip


def told(story: Story) -> Story:
    """Diagnosed and reviewed."""
    story.opens().answers().draws_the_ledger().diagnoses()
    findings = review(story.incident, orders.observation(), orders.contract())
    owned = charged(findings, story.incident, SETUP, at=story.now)
    return story.says(ReviewOpened(findings=owned), by=ANA)


def test_every_span_is_between_two_entries(stories: list[Story]) -> None:
    """Detected after the commit that shows it, diagnosed, approved, proven, told: a minute an entry here."""
    story = stories[0].opens().draws_the_ledger().diagnoses()
    first_half = {each.name: each.words for each in metrics(story.incident)}
    story.proposes().approves().rewinds().verifies().notifies()

    took = {each.name: each.took for each in metrics(story.incident)}

    wrong = next(row for row in orders.ledger().rows if row.snapshot_id == orders.HEAD)
    assert took["detect"] == story.incident.opened_at - wrong.committed_at
    assert (took["diagnose"], took["approve"]) == (5 * MINUTE, MINUTE)
    assert first_half["recover"] == "not known"
    assert MINUTE < (took["recover"] or MINUTE) < (took["notify"] or MINUTE)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (0.5, "0.5 s"), (59.6, "1 min"), (250, "4 min 10 s"), (90_000, "1 d 1 h"), (3600, "1 h")],
)
def test_a_span_is_told_in_its_two_largest_units(seconds: float, words: str) -> None:
    """Short enough to be read aloud."""
    assert span(timedelta(seconds=seconds)) == words


def test_what_did_not_hold_has_an_owner_and_a_day(stories: list[Story]) -> None:
    """By configuration, else the responder; what held or could not be told asks nobody."""
    story = told(stories[0])

    items = {item.finding.contract: item for item in review_items(story.incident) if item.finding.holds is False}
    untold = [item for item in review_items(story.incident) if item.finding.holds is None]
    assert (items["state"].owner, items["table"].owner) == (ANA, EVE)
    assert items["state"].due == story.now - MINUTE + SETUP.review_due
    assert untold
    assert all(item.owner is None and not item.is_open for item in untold)


def test_who_answers_for_the_table_mends_it_before_the_responder(stories: list[Story]) -> None:
    """By the contract's team, on the day of the review; the configuration counts more, and approval is no matter of
    the table's team."""
    dana = TeamMember(name="Dana", role="Owner", slack=UserId("U0DANA0004"), since=date(2026, 1, 1))
    left = TeamMember(name="Gil", role="Owner", slack=UserId("U0GIL00007"), until=date(2026, 11, 3))
    setup = SETUP.model_copy(update={"team": Team(members=(left, dana))})
    told(stories[0]).proposes().breaks_the_glass("Revenue pays out at four.")
    findings = review(stories[0].incident, orders.observation(), orders.contract())

    owners = {each.contract: each.owner for each in charged(findings, stories[0].incident, setup, at=stories[0].now)
              if each.holds is False}  # fmt: skip

    assert owners == {"state": "U0DANA0004", "checkpoint": "U0DANA0004", "table": EVE, "approval": ANA}


def test_a_term_is_open_until_it_is_settled_and_again_when_handed_on(stories: list[Story]) -> None:
    """The newest word counts, and another opening of the review keeps it."""
    story = told(stories[0])
    term = open_items(story.incident)[0].finding
    about = {"contract": term.contract, "term": term.term}

    story.says(FindingSettled.model_validate({**about, "how": "fixed", "reason": "Done."}), by=BEN)
    settled = len(open_items(story.incident))
    story.says(FindingAssigned.model_validate({**about, "owner": EVE, "due": story.now + MINUTE}), by=ANA)
    story.says(ReviewOpened(findings=story.incident.review or ()), by=ANA)

    [again] = [item for item in open_items(story.incident) if item.finding.term == term.term]
    assert settled == len(open_items(story.incident)) - 1
    assert (again.owner, again.is_overdue(story.now + 2 * MINUTE)) == (EVE, True)


ARRIVAL = "What a checkpoint completes reaches the table."


@pytest.mark.parametrize(("allowed", "holds"), [(None, False), ("50", None), ("5", False)])
def test_how_long_a_commit_may_be_missing_is_the_tables_own_to_say(allowed: str | None, holds: bool | None) -> None:
    """Seventeen checkpoints without a commit: too many for ten, and nothing is known where fifty may be empty."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).completes("a", *range(3, 20))
    if allowed is not None:
        tale.properties["flink.max-continuous-empty-commits"] = allowed

    told = {each.term: each for each in observed_terms(tale.case().observation, TableContract(), None)}

    assert told[ARRIVAL].holds is holds


HEAD = "apiVersion: v3.1.0\nkind: DataContract\nid: orders\nversion: 1.0.0\nstatus: active\n"


def test_the_snippet_says_what_only_table_and_configuration_say(tmp_path: Path) -> None:
    """Read as a contract of the standard it promises the key, the positions, the columns and the service levels."""
    effective = orders.contract().model_copy(update={"commit_every": 2 * MINUTE, "keep_snapshots": timedelta(days=5)})
    filed = TableContract(columns=(ContractColumn(name="order_id", type="uuid"),))

    snippet = contract_snippet(orders.observation(), filed, effective)

    file = tmp_path / "orders.odcs.yaml"
    file.write_text(f"{HEAD}{snippet}\n", encoding="utf-8")
    said = contract_of(file, orders.TABLE)
    named = {column.name: column.type for column in orders.table_state().columns}
    assert {column.name: column.type for column in said.columns} == named
    assert (said.key, said.position, said.event_time) == (effective.key, effective.position, effective.event_time)
    assert (said.commit_every, said.keep_snapshots) == (2 * MINUTE, timedelta(days=5))


def test_no_promise_is_loosened_because_it_broke() -> None:
    """What the contract promises stays, and a column that the table lost is a fault, not a promise to drop."""
    there = orders.table_state().columns[0]
    lost = ContractColumn(name="lost", type="long")
    filed = orders.contract().model_copy(
        update={"commit_every": MINUTE / 60, "columns": (ContractColumn(name=there.name, type=there.type), lost)}
    )

    snippet = contract_snippet(orders.observation(), filed, filed) or ""

    assert "frequency" not in snippet
    assert "lost" not in snippet
    assert there.name not in snippet


def test_a_contract_that_says_it_all_needs_nothing() -> None:
    """No snippet, rather than an empty one."""
    state = orders.table_state()
    filed = orders.contract().model_copy(
        update={
            "columns": tuple(ContractColumn(name=c.name, type=c.type) for c in state.columns),
            "commit_every": MINUTE,
            "checkpoint_every": MINUTE,
        }
    )

    assert contract_snippet(orders.observation(), filed, filed) is None


ROWS = orders.ledger().rows
A, B = (tuple(row.snapshot_id for row in ROWS if row.job_id == run) for run in (orders.RUN_A, orders.RUN_B))


def first_wrong(story: Story, shown: Sequence[SnapshotId], last_good: SnapshotId, run: JobId | None) -> int | None:
    """Which commit it is, in the order in which they came; None: not known."""
    match = Matches(
        headline="x", reasons=(), rows=tuple(shown), last_good=last_good, wrong_run=run, remedy=Remedy.RESOLVE_FORK
    )
    diagnosis = Diagnosis(results=(ModeResult(mode=F2, examined=match),))
    story.opens().draws_the_ledger().says(Diagnosed(diagnosis=diagnosis))
    at = first_wrong_at(story.incident)
    return next((index for index, row in enumerate(ROWS) if row.committed_at == at), None)


def test_an_older_run_that_is_not_kept_was_right_at_first(stories: list[Story]) -> None:
    """Of two runs that wrote it, people chose the newer one: wrong is what the other wrote beside it."""
    assert first_wrong(stories[0], A[3:], A[2], orders.RUN_A) == 3


def test_a_commit_that_a_fork_brought_for_another_run_is_wrong_too(stories: list[Story]) -> None:
    """It comes before the fork's own, under the id of the run that wrote it."""
    assert first_wrong(stories[0], (A[-1], *B), A[-2], orders.RUN_B) == len(A) - 1


def test_what_is_shown_only_for_comparison_is_not_wrong(stories: list[Story]) -> None:
    """A run that repeats another's checkpoints: both are shown."""
    assert first_wrong(stories[0], (*A[2:], *B), A[-1], orders.RUN_B) == len(A)


@pytest.mark.parametrize(("shown", "last_good"), [((), orders.HEAD), ((A[-1],), A[-1])])
def test_where_nothing_wrong_is_shown_the_run_tells_it(
    stories: list[Story], shown: tuple[SnapshotId, ...], last_good: SnapshotId
) -> None:
    """A match that shows none of its commits."""
    assert first_wrong(stories[0], shown, last_good, orders.RUN_B) == len(A)


def test_without_a_wrong_run_what_is_shown_counts(stories: list[Story]) -> None:
    """As with files that are gone."""
    assert first_wrong(stories[0], A[1:3], A[0], None) == 1


def looked(*, by_pyiceberg: bool) -> Observation:
    """Two commits are listed, two more have expired; storage keeps the restore point of the first."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).counts(total_records=30).commits("a", 4).expires("a", 1, 2)
    if by_pyiceberg:
        tale.snapshots[0] = tale.snapshots[0].model_copy(update={"parent_id": None})
    kept = StoredCheckpoint(
        path=f"s3://state/{job_id('a')}/chk-1",
        kind=CheckpointKind.CHECKPOINT,
        checkpoint_id=CheckpointId(1),
        job_id=job_id("a"),
        written_at=NOON,
    )
    points = Seen[StoredCheckpoint](source="s3://state", values=(kept,))
    return tale.case().observation.model_copy(update={"checkpoints": points})


@pytest.mark.parametrize("by_pyiceberg", [False, True])
def test_what_has_expired_is_missed_by_restore_points_and_readers(by_pyiceberg: bool) -> None:
    """The young commit that is left shows how short the time was, whoever took the others out."""
    contract = TableContract(keep_snapshots=timedelta(days=5))

    found = observed_terms(looked(by_pyiceberg=by_pyiceberg), contract, None)
    [beside, promised] = [each for each in found if each.term.startswith("Snapshots")]

    assert (False, False) == (beside.holds, promised.holds)
    assert "1 of 1 restore points is older than the oldest listed commit" in beside.observed
    assert "and those before it were expired" in promised.observed
