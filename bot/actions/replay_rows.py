"""Make rows once more from their source within bounds that people name: positions or event times.

Idempotent by key: only a row whose key does not live is written. What is there already stays, equal or not.
"""

from bot.actions._support.draft import job_and_head
from bot.actions._support.staging import declared_replay, keys_must_come_once, replay_rehearsal, too_many, within
from bot.incident.action import Action, Plan
from bot.incident.asked import bounds_of
from bot.incident.proposal import Proposal
from bot.observation.contract import TableContract
from bot.observation.errors import Refused
from bot.observation.replay import ReplayRange, ReplayRecipe, SourceSurvey
from bot.observation.sentences import counted

ACTION = Action(
    name="replay_rows",
    title="Replay rows within bounds",
    promise="The table has each key that the source has within the bounds, once. Every other row stays as it is.",
    needs=(),
    proofs=(("duplicate_rows", "No duplicate rows"),),
    no_more_than_before=("duplicate_rows",),
    on_request=True,
    takes_bounds=True,
    moves_waterline="no",
)


def propose(plan: Plan) -> Proposal:
    """A rehearsal with the rows that the table lacks within `plan.bounds`. Raises Refused with the reason,
    CouldNotLook."""
    recipe = declared_replay(plan)
    contract = plan.case.contract
    _must_have_a_key(contract)
    bounds = bounds_of(plan.bounds, contract)
    _must_not_be_too_wide(bounds, recipe)
    job_and_head(plan, ACTION)
    found = plan.source(recipe, bounds)
    _must_be_whole(found, bounds, recipe)
    keys_must_come_once(found)
    _must_be_settled(found, contract)
    if not found.absent:
        raise Refused(
            f"There is nothing to write: the table has every row that the source has in {within(bounds, contract)}.",
            f"Expected a key that the table lacks; found {_compared(found)}.{_differing(found, contract)}",
            "Choose other bounds, or look at the other evidence.",
        )
    key = " and ".join(contract.key)
    return replay_rehearsal(
        plan,
        ACTION,
        recipe,
        bounds,
        found,
        sentences=(
            f"Within these bounds the source has {_compared(found)}.",
            *((_differing(found, contract).strip(),) if found.differing else ()),
            *_not_given(found),
            f"A row whose {key} the table already has, within the bounds or elsewhere, stays as it is. No other row "
            "changes.",
            "Rows missing outside the bounds stay missing, so publishing this does not move the waterline. Propose "
            "verify_current_state when nothing is missing any more.",
        ),
        proof="no duplicate rows",
    )


def _must_have_a_key(contract: TableContract) -> None:
    if not contract.key:
        raise Refused(
            "The rows cannot be replayed: the table's contract names no key.",
            "Expected `key`, the columns that identify a row; found none.",
            "Name it in the table's contract, restart Waterline, and propose again.",
        )


def _must_not_be_too_wide(bounds: ReplayRange, recipe: ReplayRecipe) -> None:
    wide = sum(each.last - each.first + 1 for each in bounds.positions)
    if wide > recipe.most_rows:
        raise too_many(counted(wide, "position"), recipe)


def _must_be_whole(found: SourceSurvey, bounds: ReplayRange, recipe: ReplayRecipe) -> None:
    """A part would leave a hole that looks mended."""
    if found.given > recipe.most_rows:
        raise too_many(f"the source has more than {recipe.most_rows:,} within these bounds", recipe)
    wide = sum(each.last - each.first + 1 for each in bounds.positions)
    if found.given and found.places >= wide:
        return
    gives = f"{counted(found.places, 'position')} of {wide:,}" if wide else "no row"
    span = f", the lowest {found.first}, the highest {found.last}" if found.places else ""
    raise Refused(
        "The source does not have all rows within these bounds.",
        f"Expected all of them from {recipe.source}; it returns {gives}{span if wide else ''}.",
        "Choose bounds that it still has. Or ask its owners for an archive, and declare that as the replay.",
    )


def _must_be_settled(found: SourceSurvey, contract: TableContract) -> None:
    if not found.unsettled:
        return
    if contract.position is not None:
        expected = "positions below the newest that the table has of their source partition"
    elif contract.event_time is not None:
        expected = "events that are older than the table's newest by `settled_after` of the declared replay"
    else:
        expected = "a `position` or an `event_time` in the contract, to rule that out"
    raise Refused(
        f"The job may still write {counted(found.unsettled, 'row')} of these by itself, which would duplicate them.",
        f"Expected {expected}.",
        "End the bounds earlier, or wait until the job has passed them. Then propose again.",
    )


def _compared(found: SourceSurvey) -> str:
    same = found.given - found.absent - found.differing
    return (
        f"{counted(found.given, 'row')}: {same:,} already there and equal, {found.differing:,} already there and "
        f"different, {found.absent:,} to write"
    )


def _differing(found: SourceSurvey, contract: TableContract) -> str:
    """Which rows are left although the source has other values, a sentence that begins with a blank."""
    if not found.differing:
        return ""
    told = "; ".join(
        ", ".join(f"{name} {value}" for name, value in zip(contract.key, key, strict=True))
        for key in found.differing_keys
    )
    more = found.differing - len(found.differing_keys)
    return (
        " Not overwritten, although the table has other values than the source: "
        f"{told}{f' and {more:,} more' if more > 0 else ''}. People decide which are right."
    )


def _not_given(found: SourceSurvey) -> tuple[str, ...]:
    if not found.not_given:
        return ()
    stays = "it stays" if found.not_given == 1 else "they stay"
    return (
        f"Within the bounds the table has {counted(found.not_given, 'row')} that the source does not return; "
        f"{stays}. Check that the source still reaches back to the start of the bounds.",
    )
