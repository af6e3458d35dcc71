"""The present state is not offered to be trusted while the newest evidence accuses it, of rows or of files."""

from pathlib import Path

import pytest

from bot.actions import trust_present_state
from bot.adapters.clock import SystemClock
from bot.domain.action import Plan
from bot.domain.errors import Refused
from bot.domain.evidence import Evidence, Verdict
from bot.domain.ids import EvidenceId
from tests.actions.scene import Scene

pytestmark = pytest.mark.smoke


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """Run a wrote three commits, and nothing is known to be wrong."""
    return Scene.made_in(tmp_path, 3).plan()


def told(plan: Plan, task: str, verdict: Verdict, branch: str | None = None) -> Plan:
    """The newest answer of that task."""
    table = plan.case.observation.table
    evidence = Evidence(
        verdict=verdict, headline="This is what was found.", id=EvidenceId("1"), task=task, task_version=1,
        question="?", metadata_location=table.metadata_location, head=table.head, window=plan.case.window,
        at=SystemClock().now(), took_ms=1, bytes_read=0, branch=branch,
    )  # fmt: skip
    return plan.model_copy(update={"case": plan.case.model_copy(update={"evidence": (evidence,)})})


@pytest.mark.parametrize(
    "task", ["duplicate_rows", "missing_positions", "duplicate_files", "missing_files", "unreadable_files"]
)
def test_a_table_that_evidence_accuses_is_refused(plan: Plan, task: str) -> None:
    """Also of files, which its own proof does not ask for."""
    with pytest.raises(Refused, match=r"cannot be trusted as it is.*This is what was found"):
        trust_present_state.propose(told(plan, task, Verdict.CONFIRMED))


@pytest.mark.parametrize(
    ("task", "verdict", "branch"),
    [
        ("missing_files", Verdict.RULED_OUT, None),
        ("missing_files", Verdict.INCONCLUSIVE, None),
        ("missing_files", Verdict.CONFIRMED, "recovery-wl-1"),
        ("late_rows", Verdict.CONFIRMED, None),
    ],
)
def test_one_that_nothing_accuses_is_offered(plan: Plan, task: str, verdict: Verdict, branch: str | None) -> None:
    """The proof asks once more; a branch is read by nobody, and late rows are no wrong ones."""
    proposal = trust_present_state.propose(told(plan, task, verdict, branch))

    assert "no evidence finds a fault" in " ".join(proposal.preview.sentences)
