"""What accused main before a repair is asked of main once more when the repair is published."""

from types import SimpleNamespace
from typing import Any

import pytest

from bot import actions
from bot.actions._scan import scan
from bot.domain.effects import PublishBranch
from bot.domain.evidence import Verdict
from bot.domain.ids import ProposalId, SnapshotId, TableName
from bot.service.verifying import Verifier

REPAIR = ProposalId("p-1")
PUBLICATION = ProposalId("p-2")
PUBLISH = PublishBranch(
    table=TableName("sales.orders"),
    branch="recovery-wl-1",
    base=SnapshotId(1),
    head=SnapshotId(2),
    keep_head_as="wl-1-left",
    drop_branch=True,
)


def proposed(action: str, branch: str | None, *effects: object) -> Any:
    """As the incident keeps it."""
    return SimpleNamespace(proposal=SimpleNamespace(action=action, rehearses_on=branch, effects=effects))


def ran(task: str, verdict: Verdict, branch: str | None = None) -> Any:
    """An answer on the incident's record."""
    return SimpleNamespace(task=task, branch=branch, evidence=SimpleNamespace(verdict=verdict))


def asked_again(repair: str, *runs: Any) -> list[str]:
    """The tasks that are asked of main when that repair is published."""
    rehearsal, publication = proposed(repair, PUBLISH.branch), proposed("publish_repair", None, PUBLISH)
    incident: Any = SimpleNamespace(proposals={REPAIR: rehearsal, PUBLICATION: publication}, runs=dict(enumerate(runs)))
    none: Any = None
    verifier = Verifier(none, none, none, scan(actions), none)
    assert verifier._proofs_on_main(incident, rehearsal) == ()
    return [task for task, _ in verifier._proofs_on_main(incident, publication)]


def test_what_found_files_missing_is_asked_again() -> None:
    """Its old answer would go on accusing the table that was repaired; also after a look that gave no answer."""
    told = [ran("missing_files", Verdict.CONFIRMED), ran("missing_files", Verdict.INCONCLUSIVE)]

    assert asked_again("repair_unreadable_files", *told) == ["missing_files"]


@pytest.mark.parametrize(
    ("verdict", "branch"), [(Verdict.RULED_OUT, None), (Verdict.CONFIRMED, PUBLISH.branch)], ids=["clean", "a branch"]
)
def test_what_did_not_accuse_main_is_not(verdict: Verdict, branch: str | None) -> None:
    """A listing of a whole table is not made for nothing."""
    assert asked_again("repair_unreadable_files", ran("missing_files", verdict, branch)) == []


def test_another_repair_asks_what_it_declares() -> None:
    """What was proven on the branch holds of main, which is the same snapshot then."""
    assert asked_again("recover_leaked_manifests", ran("missing_files", Verdict.CONFIRMED)) == []
