"""Make missing rows once more from their source, by the replay that the table's owners declared (facts F6, F12, F15).

Bounded by what is missing, idempotent by key: a row whose key lives already is left as it is. What is written is what
the evidence looked at, value for value.
"""

from bot.actions._rehearsing import rehearsal_of
from bot.domain.action import Action, Plan
from bot.domain.contract import TableContract
from bot.domain.effects import ReplayRows
from bot.domain.errors import Refused
from bot.domain.findings import ReplayableFinding
from bot.domain.proposal import Proposal
from bot.domain.replay import PositionRange, Replay, ReplayRange, ReplayRecipe
from bot.domain.sentences import counted

ACTION = Action(
    name="replay_source_range",
    title="Replay a source range",
    promise="The missing rows are in the table, made once more from the source; every other row stays as it is.",
    needs=("replayable_rows",),
    looks=("replayable_rows",),
    proofs=(
        ("missing_positions", "No row is missing"),
        ("duplicate_rows", "No row is there twice"),
    ),
    on_request=True,
)
_RANGES_TOLD = 3


def propose(plan: Plan) -> Proposal:
    """A rehearsal with the missing rows. Raises Refused with the reason, CouldNotLook."""
    recipe = _declared(plan)
    _must_be_appended_to(plan)
    found = _replayable(plan, recipe)
    contract, table = plan.case.contract, plan.case.observation.table
    replay = Replay(
        recipe=recipe,
        bounds=found.bounds,
        key=contract.key,
        position=contract.position,
        position_partition=contract.position_partition,
        event_time=contract.event_time,
        rows=found.absent,
        digest=found.digest,
    )

    def write(branch: str) -> ReplayRows:
        return ReplayRows(
            table=table.name, branch=branch, incident=plan.incident, why="Replay from the source", replay=replay
        )

    return rehearsal_of(
        plan,
        ACTION,
        write,
        title=f"{ACTION.title}: {counted(found.absent, 'row')}",
        sentences=(
            f"Make {_bounds(found.bounds, contract)} once more from the source ({recipe.source}), and write "
            f"{counted(found.absent, 'row')} there.{_span(found, contract)}",
            f"A row whose {' and '.join(contract.key)} lives already is left as it is; no other row is touched.",
            "Nothing is written if the source gives other rows by then than it gave for this proposal.",
        ),
        proof="no row is missing, no row is there twice",
    )


def _declared(plan: Plan) -> ReplayRecipe:
    if plan.replay is None:
        name = plan.case.observation.table.name
        raise Refused(
            f"The rows of {name} cannot be made once more: no replay is declared for it.",
            f"Expected `replay` under `tables.{name}` in the configuration file; found none.",
            "Declare there `source`, and `sql` (a SELECT with the table's columns) or `function` (PySpark); restart "
            "Waterline, type `/waterline run replayable_rows`, and propose again.",
        )
    return plan.replay


def _must_be_appended_to(plan: Plan) -> None:
    table = plan.case.observation.table
    newest = table.by_id.get(table.head) if table.head is not None else None
    deletes = newest is not None and newest.counted("total-equality-deletes")
    if deletes or table.properties.get("write.upsert.enabled", "").lower() == "true":
        raise Refused(
            f"The rows of {table.name} cannot be replayed one by one: newer rows replace older ones of their key.",
            "Expected a table that is only appended to; here a key that does not live may have been deleted on "
            "purpose, and a position that no row carries may have been replaced.",
            "Rewind table and job instead: the job then brings its rows in their order.",
        )


def _replayable(plan: Plan, recipe: ReplayRecipe) -> ReplayableFinding:
    """What can be written without a decision. Raises Refused where that is not so."""
    found = plan.case.replayable
    if found is None:
        said = next(
            (item.headline for item in plan.case.evidence if item.task == "replayable_rows"), "It has no answer."
        )
        raise Refused(
            "What a replay would write is not known.",
            f"Expected an answer of the evidence “replayable_rows”; found: {said}",
            "Mend what it names, type `/waterline run replayable_rows`, and propose again.",
        )
    if not found.missing and not found.absent:
        raise Refused(
            "There is nothing to replay.",
            "Expected rows of the source that the table lacks; the evidence “replayable_rows” found none.",
            "Nothing has to be done about rows. Look at the other evidence.",
        )
    if found.not_given:
        raise Refused(
            f"The source no longer gives {found.not_given:,} of the {found.missing:,} missing positions.",
            f"Expected all of them from {recipe.source}; it gives {counted(found.given, 'row')}.",
            "Ask the source's owners for an archive, and declare that as the replay; or rewind table and job to a "
            "restore point below the hole; or state the loss to the consumers.",
        )
    if found.repeated:
        raise Refused(
            f"The source gives {counted(found.repeated, 'row')} too many: keys come twice within the range.",
            "Expected each key once; which copy is right is not the bot's to say.",
            "Let the declared replay choose one row a key, restart Waterline, and run “replayable_rows” again.",
        )
    if found.elsewhere:
        raise Refused(
            f"The keys of {counted(found.elsewhere, 'row')} live already, under other positions than are missing.",
            "Expected the missing positions' keys not to live; a replay would leave these rows out, and the positions "
            "would still be missing.",
            "Decide with the table's owners which row is right; the evidence “duplicate_rows” shows repeated keys.",
        )
    if found.absent > recipe.most_rows:
        raise Refused(
            f"There are too many rows for a replay by Waterline: {counted(found.absent, 'row')}.",
            f"Expected at most {recipe.most_rows:,}, as declared in `most_rows`.",
            "Rewind table and job, run a backfill job of your own, or raise `most_rows`.",
        )
    return found


def _bounds(bounds: ReplayRange, contract: TableContract) -> str:
    if not bounds.positions:
        if contract.hides(contract.event_time):
            return "events of a range that is not shown"
        return (
            f"events from {bounds.event_from:%Y-%m-%d %H:%M:%S} until before {bounds.event_until:%Y-%m-%d %H:%M:%S} UTC"
        )
    if contract.hides(contract.position):
        return "positions that are not shown"
    told = ", ".join(_one(each, contract) for each in bounds.positions[:_RANGES_TOLD])
    more = len(bounds.positions) - _RANGES_TOLD
    return f"positions {told}" + (f" and {more} more ranges" if more > 0 else "")


def _one(each: PositionRange, contract: TableContract) -> str:
    of = (
        f" of partition {contract.shown(contract.position_partition, each.partition)}"
        if each.partition is not None
        else ""
    )
    return (f"{each.first} to {each.last}" if each.first != each.last else f"{each.first}") + of


def _span(found: ReplayableFinding, contract: TableContract) -> str:
    if contract.hides(contract.event_time) or found.event_from is None or found.event_until is None:
        return ""
    return f" They are events of {found.event_from:%Y-%m-%d %H:%M:%S} to {found.event_until:%Y-%m-%d %H:%M:%S} UTC."
