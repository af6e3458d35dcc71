"""The first contract review: each term against what was observed, and 'not known' where nobody looked."""

from datetime import timedelta

import pytest

from bot.domain.entries import Finding
from bot.domain.evidence import Observation, Verdict
from bot.domain.findings import DuplicatesFinding
from bot.domain.flink import CheckpointKind, JobRun, Restored, StoredCheckpoint
from bot.domain.ids import CheckpointId
from bot.domain.looked import Seen
from bot.domain.review import review
from tests import orders_table as orders
from tests.decisions import BEN, EVE
from tests.incidents import Story


def _term(story: Story, words: str, observation: Observation | None = None, **contract: object) -> Finding:
    promised = orders.contract().model_copy(update=contract)
    [found] = [f for f in review(story.incident, observation or orders.observation(), promised) if words in f.term]
    return found


def _jobs(*runs: JobRun) -> Observation:
    return orders.observation(jobs=Seen(source="Flink REST", values=runs))


def _stored(*points: StoredCheckpoint) -> Observation:
    return orders.observation(checkpoints=Seen(source="folder", values=points))


def _restored(checkpoint: int) -> Restored:
    return Restored(checkpoint_id=CheckpointId(checkpoint), at=orders.NINE, is_savepoint=True, path=orders.SAVEPOINT_6)


def test_every_finding_says_what_was_seen_and_what_to_do(story: Story) -> None:
    """State, checkpoint and table, in this order; no finding without observation and action."""
    findings = review(story.opens().incident, orders.observation(), orders.contract())

    contracts = [finding.contract for finding in findings]
    assert contracts == ["state"] * 5 + ["checkpoint"] * 5 + ["table"] * 3
    assert all(finding.observed and finding.action for finding in findings)


def test_a_broken_glass_is_looked_at_again(story: Story) -> None:
    """Who approved alone, why, and who judges it; nothing where nobody did."""
    followed = review(story.opens().proposes().incident, orders.observation(), orders.contract())
    story.breaks_the_glass("Revenue pays out at four.")

    found = _term(story, "as the table's policy requires")

    assert "approval" not in {finding.contract for finding in followed}
    assert ("approval", False) == (found.contract, found.holds)
    assert f"<@{EVE}> gave an emergency approval at 09:" in found.observed
    assert "with 0 of 1 approvals: Revenue pays out at four." in found.observed
    assert f"Ask <@{BEN}> to review it" in found.action


@pytest.mark.parametrize(("checkpoint", "holds"), [(6, False), (10, None)])
def test_a_restore_must_start_from_what_the_table_carried(story: Story, checkpoint: int, holds: bool | None) -> None:
    """From savepoint 6 on a table at 10 is the fault; a restore from 10 cannot have been before commit 7."""
    run = orders.run_b(restored=_restored(checkpoint))

    found = _term(story.opens(), "starts from the checkpoint", _jobs(run))

    assert found.holds is holds
    assert holds is None or "started from checkpoint 6 on a table that carried checkpoint 10" in found.observed


@pytest.mark.parametrize(("first_commit", "restored", "holds"), [(11, 10, True), (12, 11, False), (10, 9, False)])
def test_a_restore_pairs_only_with_the_checkpoint_that_the_table_carried(
    story: Story, first_commit: int, restored: int, holds: bool
) -> None:
    """The table carried 10: starting behind it repeats rows, starting ahead of it leaves rows out."""
    state = orders.table_state()
    first_of_b = next(s for s in state.snapshots if s.job_id == orders.RUN_B)
    summary = {**first_of_b.summary, "flink.max-committed-checkpoint-id": str(first_commit)}
    renumbered = first_of_b.model_copy(update={"summary": summary})
    snapshots = tuple(renumbered if s is first_of_b else s for s in state.snapshots)
    world = _jobs(orders.run_b(restored=_restored(restored))).model_copy(
        update={"table": state.model_copy(update={"snapshots": snapshots})}
    )

    assert _term(story.opens(), "starts from the checkpoint", world).holds is holds


def test_a_failover_from_an_own_checkpoint_says_nothing_of_the_start(story: Story) -> None:
    """Flink remembers only the newest restore of a run."""
    found = _term(story.opens(), "starts from the checkpoint", _jobs(orders.run_b(restored=_restored(8))))

    assert found.holds is None


@pytest.mark.parametrize(
    ("points", "holds"),
    [
        ((orders.savepoint(),), True),
        ((orders.savepoint(orders.SAVEPOINT_6, 6),), False),
        ((orders.savepoint().model_copy(update={"problem": "truncated"}),), False),
        ((), False),
    ],
    ids=["kept", "only an older one", "unreadable", "none"],
)
def test_a_restore_point_for_the_trusted_state_must_be_kept(
    story: Story, points: tuple[StoredCheckpoint, ...], holds: bool
) -> None:
    """The trusted snapshot is checkpoint 10 of run A: exactly that must be readable."""
    assert _term(story.opens(), "keeps a restore point", _stored(*points)).holds is holds


@pytest.mark.parametrize(
    ("kind", "holds"),
    [(CheckpointKind.STOP_SAVEPOINT, True), (CheckpointKind.SAVEPOINT, False), (CheckpointKind.UNKNOWN, None)],
)
def test_savepoints_are_made_by_a_stop(story: Story, kind: CheckpointKind, holds: bool | None) -> None:
    """One savepoint that was made while the job ran breaks the rule; an unknown one leaves it open."""
    other = orders.savepoint(orders.SAVEPOINT_6, 6).model_copy(update={"kind": kind})

    assert _term(story.opens(), "made by stopping", _stored(orders.savepoint(), other)).holds is holds


@pytest.mark.parametrize(("interval_ms", "holds"), [(60_000, True), (30_000, True), (29_999, False), (None, None)])
def test_checkpoints_complete_about_every_interval(story: Story, interval_ms: int | None, holds: bool | None) -> None:
    """Twice the interval is the bound, inclusive."""
    world = _jobs(orders.run_b(checkpoint_interval_ms=interval_ms))

    assert _term(story.opens(), "about every interval", world).holds is holds


@pytest.mark.parametrize(("completed", "failed", "holds"), [(3, 0, True), (3, 1, False), (0, 0, None)])
def test_a_failed_checkpoint_breaks_the_term(story: Story, completed: int, failed: int, holds: bool | None) -> None:
    """None failed is a claim only if there were any."""
    world = _jobs(orders.run_b(completed_count=completed, failed_count=failed))

    assert _term(story.opens(), "do not fail", world).holds is holds


@pytest.mark.parametrize(("ahead", "holds"), [(0, True), (1, True), (2, None), (10, None), (11, False)])
def test_what_completes_reaches_the_table(story: Story, ahead: int, holds: bool | None) -> None:
    """Up to ten checkpoints without rows rightly commit nothing; more is a sink that withholds."""
    run = orders.run_b()
    newest = run.checkpoints[0].model_copy(update={"checkpoint_id": CheckpointId(9 + ahead)})

    assert _term(story.opens(), "reaches the table", _jobs(orders.run_b(checkpoints=(newest,)))).holds is holds


@pytest.mark.parametrize(
    ("path", "holds"),
    [("s3://state/chk-9", True), ("hdfs://nn/chk-9", True), ("file:///chk-9", False), ("/chk", False)],
)
def test_local_storage_is_not_durable(story: Story, path: str, holds: bool) -> None:
    """What is on one machine ends with it."""
    checkpoints = tuple(c.model_copy(update={"path": path}) for c in orders.run_b().checkpoints)

    assert _term(story.opens(), "outlives the machines", _jobs(orders.run_b(checkpoints=checkpoints))).holds is holds


def test_a_key_that_was_broken_stays_broken_after_the_repair(story: Story) -> None:
    """The review tells both: what was found, and how it ended."""
    clean = DuplicatesFinding(rows_checked=900, keys=0, extra_rows=0, pairs=())
    story.opens().answers().answers(verdict=Verdict.RULED_OUT, headline="Every order id lives once.", finding=clean)

    found = _term(story, "One row per key (order_id)")

    assert found.holds is False
    assert "220 order ids live more than once." in found.observed
    assert "Every order id lives once." in found.observed


@pytest.mark.parametrize(
    ("verdict", "holds"), [(Verdict.RULED_OUT, True), (Verdict.CONFIRMED, False), (Verdict.INCONCLUSIVE, None)]
)
def test_a_key_is_judged_by_its_evidence(story: Story, verdict: Verdict, holds: bool | None) -> None:
    """Inconclusive evidence decides nothing."""
    assert _term(story.opens().answers(verdict=verdict), "One row per key").holds is holds


def test_a_term_nobody_asked_about_is_not_known(story: Story) -> None:
    """And where the contract names no column, that is what to do."""
    story.opens()

    asked, unnamed = _term(story, "without holes"), _term(story, "without holes", position=None)

    assert (asked.holds, unnamed.holds) == (None, None)
    assert "Run missing positions" in asked.action
    assert "Name the position column" in unnamed.action


@pytest.mark.parametrize(("minutes", "holds"), [(3, True), (2.99, False), (None, None)])
def test_commits_come_at_their_cadence(story: Story, minutes: float | None, holds: bool | None) -> None:
    """The longest pause since the window began is six minutes; twice the promise is the bound, inclusive."""
    promised = None if minutes is None else timedelta(minutes=minutes)

    assert _term(story.opens(), "at their cadence", commit_every=promised).holds is holds


def test_a_source_that_is_down_leaves_its_terms_open(story: Story) -> None:
    """Nothing is said to hold, or not to, without having looked."""
    world = orders.observation(jobs=orders.not_seen("Flink REST"), checkpoints=orders.not_seen("The state folder"))

    findings = review(story.opens().incident, world, orders.contract())

    of_sources = [finding for finding in findings if finding.contract != "table"]
    assert all(finding.holds is None for finding in of_sources)
    assert all("Could not look" in finding.observed for finding in of_sources)
