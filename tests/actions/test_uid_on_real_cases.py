"""What is said of real worlds of the lab, in which the sink would need another uid: cases that were saved there."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.actions import change_operator_uid
from bot.adapters.case_file import read_case
from bot.domain.action import Plan
from bot.domain.approval import ApprovalPolicy
from bot.domain.diagnosis import Matches, Remedy
from bot.domain.effects import StartJob
from bot.domain.errors import Refused
from bot.domain.findings import PairingFinding
from bot.domain.ids import CheckpointId, IncidentId, OperatorId, ProposalId, SnapshotId
from bot.domain.pairing import pairings
from bot.domain.snapshot import Snapshot
from bot.domain.table import TableState
from tests.actions.scene import MODE
from tests.rewound import ANA, BEN

CASES = Path(__file__).parents[1] / "data" / "cases"


def planned(name: str) -> Plan:
    """As the service plans it, where the start is declared as SQL with a suffix."""
    case = read_case(CASES / f"{name}.zip").case
    seen = case.observation
    told = PairingFinding(pairings=pairings(seen.checkpoints.values, seen.table, seen.jobs))
    match = Matches(
        headline="As the test says.", reasons=(), rows=(), last_good=None, wrong_run=None,
        remedy=Remedy.CHANGE_OPERATOR_UID,
    )  # fmt: skip
    return Plan(
        incident=IncidentId("wl-1"),
        proposal=ProposalId("01JBQ5M7Z3T9K4X8V2N6R0P001"),
        case=case.model_copy(update={"pairing": told}),
        mode=MODE,
        match=match,
        evidence=(),
        policy=ApprovalPolicy(users=(BEN,), expires_after=timedelta(minutes=30)),
        by=ANA,
        at=datetime.now(UTC),
        renames_sink=True,
        is_sql=True,
    )


def commit_that_was_expired(table: TableState) -> tuple[Snapshot, ...]:
    """What the metadata file from before the expiry has: checkpoint 5, whose manifest the savepoint still lists."""
    [head] = table.snapshots
    assert head.parent_id is not None
    summary = {
        "flink.job-id": "5441e736b49db0f4406356a455fe267f",
        "flink.operator-id": "8b8a86e06c143909c270efa9f5bfe1fc",
        "flink.max-committed-checkpoint-id": "5",
    }
    parent = {"snapshot_id": head.parent_id, "parent_id": None, "summary": summary}
    return (Snapshot.model_validate(head.model_dump() | parent),)


def test_the_savepoint_of_an_expired_commit_is_started_from() -> None:
    """Its committer lists a manifest, as the state of every checkpoint with rows does; that it was committed is known
    from the older metadata file."""
    plan = planned("last-commit-expired-v2")
    plan = plan.model_copy(update={"expired": commit_that_was_expired})

    proposal = change_operator_uid.propose(plan)

    *_, start = proposal.effects
    assert isinstance(start, StartJob)
    assert start.checkpoint_id == CheckpointId(5)
    assert start.on_top_of == SnapshotId(6339290515704756562)
    assert start.leaves_operator == OperatorId("8b8a86e06c143909c270efa9f5bfe1fc")


def test_in_sql_the_v1_sink_takes_no_uid() -> None:
    """Nothing would change: it is said before anything is stopped."""
    with pytest.raises(Refused, match="In SQL only Iceberg's V2 sink takes a uid"):
        change_operator_uid.propose(planned("last-commit-expired-v1"))


def test_people_are_not_sent_to_a_state_whose_rows_would_be_lost() -> None:
    """After a drain (F5) the newest checkpoints hold all that was read since and never committed; the drained savepoint
    owes nothing, and its source reads that again."""
    with pytest.raises(Refused) as refused:
        change_operator_uid.propose(planned("restored-after-drain-v1"))

    said = str(refused.value)
    assert "savepoint-60f7fe-ab2f8afc1dad (checkpoint 9) with allowNonRestoredState=true" in said
    assert "open windows and timers have fired early" in said
    assert "chk-28" not in said


def test_people_are_told_what_a_state_forgets() -> None:
    """Where no point belongs to the newest commit, the newest is named with all that it still lists."""
    plan = planned("restored-after-drain-v1")
    stored = tuple(each for each in plan.case.observation.checkpoints.values if not each.is_drained)
    checkpoints = plan.case.observation.checkpoints.model_copy(update={"values": stored})
    observation = plan.case.observation.model_copy(update={"checkpoints": checkpoints})
    case = plan.case.model_copy(update={"observation": observation})

    with pytest.raises(Refused, match=r"\(checkpoint 28\) .* still lists 19 Flink manifests .* lost unless"):
        change_operator_uid.propose(plan.model_copy(update={"case": case}))
