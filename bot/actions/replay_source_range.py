"""Make missing rows once more from their source, by the replay that the table's owners declared (facts F6, F12, F15).

Bounded by what is missing, idempotent by key: a row whose key lives already is left as it is. What is written is what
the evidence looked at, value for value.
"""

from bot.actions._support.staging import declared_replay, keys_must_come_once, replay_rehearsal, too_many
from bot.history.source_records import on_broker_in_words
from bot.incident.action import Action, Plan
from bot.incident.proposal import Proposal
from bot.observation.errors import Refused
from bot.observation.findings import ReplayableFinding
from bot.observation.replay import ReplayRecipe
from bot.observation.sentences import counted

ACTION = Action(
    name="replay_source_range",
    title="Replay a source range",
    promise="The missing rows are in the table, replayed from the source. Every other row stays as it is.",
    needs=("replayable_rows",),
    proofs=(
        ("replayable_rows", "The source has no row that the table lacks"),
        ("duplicate_rows", "No duplicate rows"),
    ),
    no_more_than_before=("duplicate_rows",),
    on_request=True,
    repairs=("missing_positions",),
    moves_waterline="trusted",
)


def propose(plan: Plan) -> Proposal:
    """A rehearsal with the missing rows. Raises Refused with the reason, CouldNotLook."""
    recipe = declared_replay(plan)
    found = _replayable(plan, recipe)
    return replay_rehearsal(
        plan,
        ACTION,
        recipe,
        found.bounds,
        found,
        sentences=(
            *(_empty(found) if found.empty else _kept_until(plan)),
            f"A row whose {' and '.join(plan.case.contract.key)} the table already has stays as it is. No other row "
            "changes.",
        ),
        proof="the source has no row that the table lacks, no duplicate rows",
    )


def _kept_until(plan: Plan) -> tuple[str, ...]:
    """Until when Kafka can give them; nothing where it has lost some, which then come from elsewhere."""
    gaps = plan.case.gaps
    told = gaps.on_broker if gaps is not None else None
    return on_broker_in_words(gaps) if gaps is not None and told is not None and not told.lost else ()


def _empty(found: ReplayableFinding) -> tuple[str, ...]:
    return (
        f"At {counted(found.empty, 'missing position')} Kafka has no row: aborted, compacted, or left out by the "
        "declared replay. They stay missing.",
    )


def _replayable(plan: Plan, recipe: ReplayRecipe) -> ReplayableFinding:
    """What can be written without a decision. Raises Refused where that is not so."""
    found = plan.case.replayable
    if found is None:
        said = next(
            (item.headline for item in plan.case.evidence if item.task == "replayable_rows"), "It has no answer."
        )
        raise Refused(
            "It is not known what a replay would write.",
            f"Expected an answer from the evidence “replayable_rows”; found: {said}",
            "Fix the cause that it names, type `/waterline run replayable_rows`, and propose again.",
        )
    if not found.absent and found.missing and found.empty == found.missing:
        raise Refused(
            "There is nothing to replay.",
            f"Expected rows at {counted(found.missing, 'missing position')} of the topic; found none. They were "
            "aborted or compacted, or the declared replay leaves them out.",
            "If no transaction was aborted and the topic is not compacted, check what `replay` leaves out.",
        )
    if not found.missing and not found.absent:
        raise Refused(
            "There is nothing to replay.",
            "Expected rows of the source that the table lacks; the evidence “replayable_rows” found none.",
            "No row needs a repair. Look at the other evidence.",
        )
    if found.not_given:
        gaps = plan.case.gaps
        broker = " ".join(("", *on_broker_in_words(gaps, plan.case.observation.kafka))) if gaps is not None else ""
        raise Refused(
            f"The source no longer has {found.not_given:,} of the {found.missing:,} missing positions.",
            f"Expected all of them from {recipe.source}; it returns {counted(found.given, 'row')}.{broker}",
            "Ask the source's owners for an archive, and declare that as the replay. "
            + ("Or roll back table and job to a restore point below the gap. " if recipe.kafka is None else "")
            + "Or state the loss to the consumers.",
        )
    keys_must_come_once(found)
    if found.elsewhere:
        raise Refused(
            f"The table already has the keys of {counted(found.elsewhere, 'row')}, under positions other than the "
            "missing ones.",
            "Expected the table to lack the keys of the missing positions. A replay would skip these rows, and "
            "their positions would stay missing.",
            "Decide with the table's owners which row is right. The evidence “duplicate_rows” shows duplicate keys.",
        )
    if found.absent > recipe.most_rows:
        raise too_many(counted(found.absent, "row"), recipe)
    return found
