"""Trust the table as it is: what was mended by hand is proven like any recovery, and approved by somebody else.

Nothing is changed but a tag on the state that is looked at. The proof that follows asks the same evidence as after a
recovery of Waterline's own; only when it passes may consumers be told that the table recovered.
"""

from bot.actions._support.draft import alone, drafted, live_run
from bot.incident.action import Action, Plan
from bot.incident.doubt import NO_LOOK_COVERS, accuses
from bot.incident.effects import MarkTable
from bot.incident.proposal import HeadDescends, Proposal
from bot.observation.errors import Refused
from bot.observation.ids import short
from bot.observation.sentences import clock_time

ACTION = Action(
    name="verify_current_state",
    title="Trust the table as it is",
    promise="The repair by hand is proven at the head, and the head becomes the trusted snapshot.",
    needs=("duplicate_rows", "missing_positions"),
    proofs=(("duplicate_rows", "Each key occurs once"), ("missing_positions", "No source position is missing")),
    on_request=True,
    moves_waterline="trusted",
)


def propose(plan: Plan) -> Proposal:
    """Raises Refused while evidence finds wrong rows or files, or two runs write; CouldNotLook when Flink was not
    seen."""
    table, job = plan.case.observation.table, plan.case.job_name
    head = table.head
    if head is None:
        raise Refused("There is nothing to trust yet.", f"Table {table.name} has no snapshot.", "Look at the job.")
    if wrong := next((each for each in plan.case.evidence if accuses(each)), None):
        raise Refused(
            "The table cannot be trusted as it is.",
            f"The newest evidence says: {wrong.headline}",
            "Fix that first. If it is already fixed, run this evidence again, then propose again.",
        )
    if earlier := next(iter(plan.case.accused), None):
        raise Refused(
            "The table cannot be trusted as it is.",
            f"At {clock_time(earlier.at, plan.at)} evidence found: {earlier.headline}",
            NO_LOOK_COVERS,
        )
    live = live_run(plan) if job is not None else None
    tag = f"proven-{plan.incident}-{plan.at:%Y%m%d-%H%M%S}"
    return drafted(
        plan,
        ACTION,
        title=f"{ACTION.title}: {short(head)} and what follows it",
        effects=(MarkTable(table=table.name, why="Tag the state to be proven", new_tags={tag: head}),),
        requirements=(
            *((alone(job, live),) if job is not None else ()),
            HeadDescends(head=head, job_id=live.job_id if live else None),
        ),
        sentences=(
            f"Tag {short(head)} as {tag}. Neither main nor the job is changed.",
            "Verify at the head of that moment: each key occurs once, no source position is missing, and no "
            "evidence finds a fault.",
            "If that passes, the waterline moves to that head, and consumers can be notified that the table "
            "recovered. If it fails, nothing changes for them.",
            "Read in the thread what was done by hand: your approval covers that as well.",
        ),
        sure="The table becomes trusted only if the verification passes.",
        undo="`/waterline undo` removes the tag. The table loses its trust again when main is changed once more, a "
        "fault is found, or a new incident is opened.",
    )
