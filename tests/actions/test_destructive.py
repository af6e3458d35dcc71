"""Which actions are destructive, and that what is approved names all that it speaks of."""

from pathlib import Path

import pytest

from bot import actions
from bot.actions import take_savepoint
from bot.actions._completing import must_be_destructive
from bot.actions._rehearsing import every, listed
from bot.actions._replaying import within
from bot.actions._scan import ActionModule, scan
from bot.adapters.clock import SystemClock
from bot.domain.action import Action, Plan
from bot.domain.diagnosis import Case
from bot.domain.effects import DropBranch, Effect, MarkTable, StopFork
from bot.domain.errors import Refused
from bot.domain.ids import JobId
from bot.domain.proposal import Proposal
from bot.domain.replay import PositionRange, ReplayRange
from bot.service.proposing import Proposals
from tests import orders_table as orders
from tests.actions.scene import Scene
from tests.decisions import rewind
from tests.rewound import ANA
from tests.tables import CONTRACT

pytestmark = pytest.mark.smoke

ON_A_BRANCH = "made on a branch; given up, nothing of main has changed, and its publication has an undo of its own"
A_RUN = "the job alone: its state stays on storage, and the undo starts it again from there"
DESTRUCTIVE = {
    "drop_repair_branch": "the branch and its commits go, and no undo makes them again",
    "resolve_fork": "one of two writers is stopped for good: Waterline starts no second writer, also not as an undo",
}
"""Action -> what it takes away."""
NOT_DESTRUCTIVE = {
    "change_operator_uid": A_RUN,
    "deduplicate_rows": ON_A_BRANCH,
    "drop_duplicated_commit": ON_A_BRANCH,
    "forward_job": A_RUN,
    "free_checkpoint_folder": A_RUN,
    "protect_last_commit": "it adds tags",
    "publish_repair": "the head that is left stays under a tag, to which the undo moves main back",
    "recover_leaked_manifests": ON_A_BRANCH,
    "remove_orphan_files": "files are moved aside with their list, and the undo moves them back",
    "repair_unreadable_files": "what it drops was lost on storage before; the references stay under the tag",
    "replay_rows": ON_A_BRANCH,
    "replay_source_range": ON_A_BRANCH,
    "restart_from_stop_savepoint": A_RUN,
    "restart_with_new_job_id": A_RUN,
    "restore_job_only": A_RUN,
    "restore_lost_commits": ON_A_BRANCH,
    "rewind_table_and_job": "the commits that leave main stay under a tag, to which the undo moves it back",
    "take_savepoint": "the undo starts the job from this very savepoint",
    "trust_present_state": "it moves only the mark, which any later finding takes back",
    "undo_proposal": "it can be undone as well: what it leaves behind stays under a tag",
}
"""Action -> why its undo brings everything back."""


def test_of_every_action_it_is_said_whether_it_is_destructive_and_why() -> None:
    """Who adds an action decides it, and says so here; a proposal then asks for two teams, or does not."""
    found = {name: module.action.is_destructive for name, module in scan(actions, ()).items()}

    assert {**dict.fromkeys(DESTRUCTIVE, True), **dict.fromkeys(NOT_DESTRUCTIVE, False)} == found


TAG = MarkTable(table=orders.TABLE, why="Tag the head", new_tags={"ours": orders.HEAD})
TAKEN = "`/waterline undo` removes the tag."
BRANCH = DropBranch(table=orders.TABLE, branch="theirs", head=orders.HEAD)
FORK = StopFork(job=orders.JOB, job_id=JobId(orders.RUN_B), keeps=JobId(orders.RUN_A))


@pytest.mark.parametrize(
    ("effect", "undo", "says"),
    [
        (BRANCH, TAKEN, "it removes branch theirs"),
        (FORK, TAKEN, "Waterline starts no second writer"),
        (TAG, "It cannot be undone.", "its undo says “cannot be undone”"),
        (TAG, TAKEN, ""),
    ],
)
def test_what_takes_something_away_for_good_is_not_proposed_as_if_it_did_not(
    effect: Effect, undo: str, says: str
) -> None:
    """Whoever wrote the action: else one team would approve it."""
    ours = Action(name="ours", title="Ours", promise="It is ours.", needs=(), proofs=(), on_request=True)
    proposal = rewind(orders.NINE).model_copy(update={"effects": (effect,), "undo": undo})

    must_be_destructive(proposal, ours.model_copy(update={"is_destructive": True}))

    if not says:
        must_be_destructive(proposal, ours)
        return
    with pytest.raises(Refused) as refused:
        must_be_destructive(proposal, ours)
    assert says in str(refused.value)


def test_nobody_is_asked_to_approve_it(scene: Scene) -> None:
    """The refusal comes before anything is written."""
    plan = scene.plan()
    made = take_savepoint.propose(plan)
    action = take_savepoint.ACTION.model_copy(update={"needs": ()})

    class Knowing:
        def case(self, _incident: object, _observation: object) -> Case:
            return plan.case

    def propose(_plan: Plan) -> Proposal:
        return made.model_copy(update={"undo": "It cannot be undone."})

    modules = {action.name: ActionModule(action=action, propose=propose)}
    proposals = Proposals(scene.store, scene.observer, Knowing(), modules, SystemClock())  # type: ignore[arg-type]

    with pytest.raises(Refused, match="it needs the approval of two teams"):
        proposals.propose(scene.incident, action.name, step=None, by=ANA)

    assert scene.store.get(scene.incident).proposals == {}


def test_the_page_about_approval_names_them() -> None:
    """Whoever writes a policy `destructive` reads there what it is about."""
    page = (Path(__file__).parents[2] / "docs" / "approval.md").read_text()

    assert all(f"`{name}`" in page for name in DESTRUCTIVE)


def test_every_range_of_a_replay_is_named() -> None:
    """One a partition of the source, of which there are often more than three."""
    ranges = tuple(PositionRange(first=n, last=n + 9, partition=str(n)) for n in range(12))

    told = within(ReplayRange(positions=ranges), CONTRACT)

    assert told.startswith("positions 0 to 9 of partition 0, 1 to 10 of partition 1, ")
    assert told.endswith(", 11 to 20 of partition 11")


def test_every_commit_of_a_repair_is_named_but_for_its_title() -> None:
    """A title has room for three."""
    commits = range(421_001, 421_006)

    assert every(commits).split(", ")[-1].endswith("421005")
    assert listed(commits).endswith("421003 and 2 more")
