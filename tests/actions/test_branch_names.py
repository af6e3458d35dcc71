"""Each rehearsal has a branch of its own name: what is asked of one is never answered by another."""

from bot.actions import protect_last_commit
from bot.actions._rehearsing import rehearsal_of
from bot.domain.action import Plan
from bot.domain.effects import DeleteRows
from bot.domain.ids import ProposalId
from bot.service.proposing import branches_begun
from tests.actions.scene import Scene
from tests.tables import ORDERS


def rehearsing(scene: Scene, plan: Plan) -> str:
    """The branch on which a repair would be rehearsed."""

    def nothing(branch: str) -> DeleteRows:
        return DeleteRows(table=ORDERS, branch=branch, incident=scene.incident, why="Nothing", rows=())

    proposal = rehearsal_of(plan, protect_last_commit.ACTION, nothing, title="Nothing", sentences=(), proof="nothing")
    assert proposal.rehearses_on is not None
    return proposal.rehearses_on


def test_a_name_that_an_earlier_rehearsal_had_is_not_used_again(scene: Scene) -> None:
    """Also once its branch is gone."""
    plan = scene.plan()
    first = rehearsing(scene, plan)
    later = plan.model_copy(update={"proposal": ProposalId("01JBQ5M7Z3T9K4X8V2N6R0P002")})

    assert first == "recovery-wl-1"
    assert rehearsing(scene, later.model_copy(update={"branches": frozenset({first})})) == "recovery-wl-1-p002"


def test_only_what_was_begun_has_taken_its_name(scene: Scene) -> None:
    """A proposal that waits has made no branch."""
    plan = scene.plan()
    effect = DeleteRows(table=ORDERS, branch="recovery-wl-1", incident=scene.incident, why="Nothing", rows=())
    proposal = rehearsal_of(
        plan, protect_last_commit.ACTION, lambda _b: effect, title="Nothing", sentences=(), proof="nothing"
    )
    made = scene.approved(proposal, plan)
    waiting = branches_begun(scene.store.get(scene.incident))
    scene.executions.begin(scene.incident, made.id, by=plan.by)

    assert waiting == frozenset()
    assert branches_begun(scene.store.get(scene.incident)) == {"recovery-wl-1"}
