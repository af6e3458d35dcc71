"""The first contract review, and what the contract promises held against the incident.

Evidence about what a contract promises, and the terms that a review finds.
"""

from datetime import timedelta

import pytest

from bot.incident.approval import ApprovalPolicy
from bot.incident.entries import Finding
from bot.incident.review import charged, review
from bot.incident.setup import TableSetup
from bot.observation.contract import ContractColumn
from bot.observation.evidence import Observation, Verdict
from bot.observation.findings import (
    ContractAgreementFinding,
    DuplicatesFinding,
    FreshnessFinding,
    LateRowsFinding,
    SchemaDriftFinding,
    Term,
)
from bot.observation.flink import CheckpointKind, CheckpointSettings, JobRun, Restored, StoredCheckpoint
from bot.observation.ids import CheckpointId
from bot.observation.looked import Seen
from tests import orders_table as orders
from tests.decisions import ANA, BEN, EVE
from tests.incidents import Story

MINUTE = timedelta(minutes=1)
FRESH = "The newest event is at most 15 min old."
LATE = "No row comes later than 5 min after newer ones."
SETTINGS = CheckpointSettings(mode="exactly_once", survives_cancel=True)
KEPT = "Snapshots are kept as long as the restore points that pair with them."


def terms(story: Story, world: Observation | None = None, **contract: object) -> dict[str, Finding]:
    """Term -> finding, under this contract."""
    promised = orders.contract().model_copy(update=contract)
    return {each.term: each for each in review(story.incident, world or orders.observation(), promised)}


def fresh(story: Story, age_s: float | None, headline: str = "It is known.") -> Story:
    """The evidence `freshness` answers."""
    finding = FreshnessFinding(
        newest_commit=orders.HEAD, commit_age_s=60, event_age_s=age_s, promised_s=900, promised_cadence_s=None,
        commits_checked=3, is_event_time_stuck=False,
    )  # fmt: skip
    return story.answers("freshness", Verdict.RULED_OUT, headline=headline, finding=finding)


def late(story: Story, worst_s: float | None, *, allowed_s: float = 300) -> Story:
    """The evidence `late_rows` answers."""
    finding = LateRowsFinding(
        rows_checked=900, late=0 if worst_s is None else 7, worst_s=worst_s, allowed_s=allowed_s, commits=()
    )
    verdict = Verdict.RULED_OUT if worst_s is None else Verdict.CONFIRMED
    return story.answers("late_rows", verdict, headline="7 of 900 rows came late.", finding=finding)


def agreed(story: Story, promise: str, holds: bool | None) -> Story:
    """The evidence `contract_agreement` answers about one term."""
    told = {
        "contract": "checkpoint",
        "term": promise,
        "observed": "It was looked at.",
        "holds": holds,
        "action": "Mend it.",
    }
    finding = ContractAgreementFinding(terms=(Term.model_validate(told),))
    return story.answers("contract_agreement", headline="A term.", finding=finding)


def with_table(**changes: object) -> Observation:
    """The world with another table state."""
    world = orders.observation()
    return world.model_copy(update={"table": world.table.model_copy(update=changes)})


def expired(**changes: object) -> Observation:
    """The same without its first two commits."""
    return with_table(snapshots=orders.snapshots()[2:], **changes)


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
    assert all(finding.observed and (finding.action or finding.holds) for finding in findings)


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


def _newest(**changes: object) -> dict[str, object]:
    return {"checkpoints": (orders.run_b().checkpoints[0].model_copy(update=changes),)}


@pytest.mark.parametrize(
    ("term", "told", "holds"),
    [
        # twice the interval is the bound, inclusive
        *(
            ("about every interval", {"checkpoint_interval_ms": ms}, holds)
            for ms, holds in ((60_000, True), (30_000, True), (29_999, False), (None, None))
        ),
        # none failed is a claim only if there were any
        *(
            ("do not fail", {"completed_count": completed, "failed_count": failed}, holds)
            for completed, failed, holds in ((3, 0, True), (3, 1, False), (0, 0, None))
        ),
        # up to ten checkpoints without rows rightly commit nothing; more is a sink that withholds
        *(
            ("reaches the table", _newest(checkpoint_id=CheckpointId(9 + ahead)), holds)
            for ahead, holds in ((0, True), (1, True), (2, None), (10, None), (11, False))
        ),
        # what is on one machine ends with it
        *(
            ("outlives the machines", _newest(path=path), holds)
            for path, holds in (("s3://s/chk-9", True), ("hdfs://n/chk-9", True), ("file:///c", False), ("/c", False))
        ),
    ],
)
def test_what_flink_shows_of_checkpoints_is_held_against_the_terms(
    story: Story, term: str, told: dict[str, object], holds: bool | None
) -> None:
    """By the run that is alive."""
    assert _term(story.opens(), term, _jobs(orders.run_b(**told))).holds is holds


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
    assert "`missing_positions` shows it; nobody ran it." in asked.observed
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


def test_a_table_that_was_once_too_old_is_not_fresh(story: Story) -> None:
    """The first look that was too old counts; the newest tells how it ended."""
    fresh(fresh(story.opens(), 1200, "It is 20 min old."), 60, "It is 1 min old.")

    found = terms(story, freshness=15 * MINUTE)[FRESH]

    assert found.holds is False
    assert "It is 20 min old." in found.observed
    assert "It is 1 min old." in found.observed


def test_commits_alone_never_show_that_a_table_is_fresh(story: Story) -> None:
    """Old events may come in new commits: without evidence it is not observed, and the reason is said."""
    found = terms(story.opens(), freshness=15 * MINUTE)[FRESH]
    asked = terms(fresh(story, None, "Nothing tells it."), freshness=15 * MINUTE)[FRESH]

    assert (found.holds, asked.holds) == (None, None)
    assert "Not observed. The evidence `freshness` shows it; nobody ran it." in found.observed
    assert "it answered: Nothing tells it." in asked.observed


def test_rows_that_came_too_late_break_the_promise(story: Story) -> None:
    """Held against what is promised now; nobody who looked is not kept."""
    story.opens()

    unasked = terms(story, late_after=5 * MINUTE)[LATE]
    kept = terms(late(story, 200, allowed_s=0), late_after=5 * MINUTE)[LATE]
    broken = terms(late(story, 301), late_after=5 * MINUTE)[LATE]
    wider = terms(story, late_after=6 * MINUTE)["No row comes later than 6 min after newer ones."]

    assert [each.holds for each in (unasked, kept, broken, wider)] == [None, True, False, True]
    assert "Not observed. The evidence `late_rows` shows it; nobody ran it." in unasked.observed
    assert not any("comes later" in term for term in terms(story))


def test_what_was_not_late_under_a_wider_promise_is_not_told(story: Story) -> None:
    """None later than ten minutes says nothing of five."""
    late(story.opens(), None, allowed_s=600)

    assert terms(story, late_after=5 * MINUTE)[LATE].holds is None
    assert terms(story, late_after=10 * MINUTE)["No row comes later than 10 min after newer ones."].holds is True


@pytest.mark.parametrize(
    ("promised", "holds"), [("long", True), ("uuid", False), (None, True)], ids=["as promised", "another", "any"]
)
def test_promised_columns_are_in_the_review(story: Story, promised: str | None, holds: bool) -> None:
    """By name and type."""
    column = ContractColumn(name="order_id", type=promised)

    assert terms(story.opens(), columns=(column,))["The table has every promised column."].holds is holds


def test_a_required_column_is_held_against_what_evidence_saw(story: Story) -> None:
    """The table refuses null, or lets it be, or the job was seen to leave it null."""
    columns = (ContractColumn(name="order_id", required=True), ContractColumn(name="pos"))
    strict = tuple(c.model_copy(update={"is_required": True}) for c in orders.table_state().columns)
    story.opens()

    refused = terms(story, with_table(columns=strict), columns=columns)["Never null: order_id."]
    unknown = terms(story, columns=columns)["Never null: order_id."]
    drift = SchemaDriftFinding(differences=(), all_null=("order_id",), added_at=None)
    story.answers("schema_drift", headline="One column is null.", finding=drift)
    empty = terms(story, columns=columns)["Never null: order_id."]

    assert (refused.holds, unknown.holds, empty.holds) == (True, None, False)
    assert "no evidence counts nulls" in unknown.observed


def test_the_jobs_settings_are_in_the_review(story: Story) -> None:
    """Mode, interval, and whether state outlives a run; promised figures only where they are promised."""
    run = orders.run_b(settings=SETTINGS, checkpoint_interval_ms=60_000)
    world = orders.observation(jobs=Seen(source="Flink REST", values=(run,)))
    story.opens()

    kept = terms(story, world, checkpoint_every=MINUTE)
    slower = terms(story, world, checkpoint_every=MINUTE / 2)

    assert kept["State outlives a run that is cancelled."].holds is True
    assert kept["Checkpoints are exactly-once."].holds is True
    assert kept["A checkpoint every 1 min."].holds is True
    assert slower["A checkpoint every 30 s."].holds is False
    assert not any(term.startswith("A checkpoint every") for term in terms(story, world))


def test_a_restore_point_that_outlived_its_snapshot_is_told(story: Story) -> None:
    """Savepoint 6 was written before the oldest commit that is still listed, and nothing listed pairs with it."""
    old = orders.savepoint(orders.SAVEPOINT_6, 6).model_copy(update={"written_at": orders.NINE - 14 * MINUTE})
    older = orders.savepoint(orders.SAVEPOINT_6, 4).model_copy(update={"written_at": orders.NINE - 16 * MINUTE})
    stored = {"checkpoints": Seen(source="folder", values=(old, orders.savepoint()))}
    from_the_start = {"checkpoints": Seen(source="folder", values=(older, old, orders.savepoint()))}
    story.opens()

    whole = terms(story, orders.observation().model_copy(update=from_the_start))[KEPT]
    cut = terms(story, expired().model_copy(update=stored))[KEPT]

    assert (whole.holds, cut.holds) == (True, False)
    assert "1 of 2 restore points is older than the oldest listed commit" in cut.observed


def test_a_kept_snapshot_pairs_though_it_left_main(story: Story) -> None:
    """A tag keeps what expiry took from main: its restore point is of use."""
    old = orders.savepoint(orders.SAVEPOINT_6, 6).model_copy(update={"written_at": orders.NINE - 14 * MINUTE})
    first, tagged, *rest = orders.snapshots()
    world = with_table(snapshots=(tagged, *rest[1:]))
    stored = {"checkpoints": Seen(source="folder", values=(old,))}

    assert first.checkpoint_id == 5
    assert terms(story.opens(), world.model_copy(update=stored))[KEPT].holds is True


@pytest.mark.parametrize(("promised", "holds"), [(timedelta(days=5), False), (5 * MINUTE, True)])
def test_expired_snapshots_break_the_promised_retention(story: Story, promised: timedelta, holds: bool) -> None:
    """The oldest listed commit is 13 minutes old."""
    found = terms(story.opens(), expired(), keep_snapshots=promised)

    [kept] = [each for term, each in found.items() if term.startswith("Snapshots stay readable")]
    assert kept.holds is holds


def test_what_broke_during_the_incident_stays_broken(story: Story) -> None:
    """The job was at-least-once then, and is exactly-once at the review: both are told, with what to do."""
    run = orders.run_b(settings=SETTINGS)
    world = orders.observation(jobs=Seen(source="Flink REST", values=(run,)))
    agreed(story.opens(), "Checkpoints are exactly-once.", False)

    found = terms(story, world)["Checkpoints are exactly-once."]

    assert (found.holds, found.action) == (False, "Mend it.")
    assert "It was looked at. At the review: Run b92e04" in found.observed


def test_what_was_seen_to_hold_is_told_when_the_source_is_down_later(story: Story) -> None:
    """As far as anybody looked; what was never looked at stays open."""
    world = orders.observation(jobs=orders.not_seen("Flink REST"))
    agreed(story.opens(), "Checkpoints are exactly-once.", True)

    found = terms(story, world)

    assert found["Checkpoints are exactly-once."].holds is True
    assert "At the review: Could not look" in found["Checkpoints are exactly-once."].observed
    assert found["State outlives a run that is cancelled."].holds is None


def test_each_broken_promise_has_an_owner_and_a_day(story: Story) -> None:
    """As the other terms have: by configuration, else the responder."""
    setup = TableSetup(
        name=orders.TABLE, job=orders.JOB, contract=orders.contract(), consumers=(),
        policies={"default": ApprovalPolicy(users=(ANA,))}, next_update_minutes=30,
    )  # fmt: skip
    fresh(late(story.opens(), 900), 1200)
    found = terms(story, expired(), freshness=15 * MINUTE, late_after=5 * MINUTE, keep_snapshots=timedelta(days=5))

    owned = {each.term: each for each in charged(found.values(), story.incident, setup, at=story.now)}

    for term in (FRESH, LATE, "Snapshots stay readable for 5 d."):
        assert (owned[term].owner, owned[term].due) == (ANA, story.now + setup.review_due)
