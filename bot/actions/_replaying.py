"""What both replays of a declared source have in common: the declaration, the effect, bounds in words."""

from collections.abc import Callable

from bot.domain.action import Plan
from bot.domain.contract import TableContract
from bot.domain.effects import ReplayRows
from bot.domain.errors import Refused
from bot.domain.findings import ReplayableFinding
from bot.domain.replay import PositionRange, Replay, ReplayRange, ReplayRecipe, SourceSurvey
from bot.domain.sentences import counted

IF_OTHERS = "Nothing is written if the source by then returns other rows than it did for this proposal."


def declared_replay(plan: Plan) -> ReplayRecipe:
    """The table's. Raises Refused where none is declared, or where newer rows of the table replace older ones."""
    if plan.replay is None:
        name = plan.case.observation.table.name
        raise Refused(
            f"The rows of {name} cannot be replayed: no replay is declared for it.",
            f"Expected `replay` under `tables.{name}` in the configuration file; found none.",
            "Declare `source`, and `sql` (a SELECT with the table's columns) or `function` (PySpark) there. "
            "Restart Waterline, type `/waterline run replayable_rows`, and propose again.",
        )
    _must_be_appended_to(plan)
    return plan.replay


def replayed(
    plan: Plan, recipe: ReplayRecipe, bounds: ReplayRange, found: ReplayableFinding | SourceSurvey
) -> Callable[[str], ReplayRows]:
    """The effect of a rehearsal: branch -> these very rows, written there."""
    contract = plan.case.contract
    replay = Replay(
        recipe=recipe,
        bounds=bounds,
        key=contract.key,
        position=contract.position,
        position_partition=contract.position_partition,
        event_time=contract.event_time,
        rows=found.absent,
        digest=found.digest,
    )

    def write(branch: str) -> ReplayRows:
        return ReplayRows(
            table=plan.case.observation.table.name,
            branch=branch,
            incident=plan.incident,
            why="Replay from the source",
            replay=replay,
        )

    return write


def keys_must_come_once(found: ReplayableFinding | SourceSurvey) -> None:
    """Raises Refused where the source gives a key more than once."""
    if found.repeated:
        raise Refused(
            f"The source returns {counted(found.repeated, 'row')} too many: keys occur twice within the range.",
            "Expected each key once. Waterline does not decide which copy is right.",
            "Make the declared replay choose one row per key, restart Waterline, and run “replayable_rows” again.",
        )


def too_many(found: str, recipe: ReplayRecipe) -> Refused:
    """`found`: how many there are, in words."""
    return Refused(
        f"There are too many rows for a replay by Waterline: {found}.",
        f"Expected at most {recipe.most_rows:,}, as declared in `most_rows`.",
        "Rewind table and job, run a backfill job of your own, or raise `most_rows`.",
    )


def within(bounds: ReplayRange, contract: TableContract) -> str:
    """Bounds as an approver reads them, all of them: `positions 10 to 19 of partition 0`."""
    if bounds.partitions:
        return "partition " + "/".join(f"{each.field}={each.value}" for each in bounds.partitions)
    if not bounds.positions:
        if contract.hides(contract.event_time):
            return "events in a range that is not shown"
        return (
            f"events from {bounds.event_from:%Y-%m-%d %H:%M:%S} until before {bounds.event_until:%Y-%m-%d %H:%M:%S} UTC"
        )
    if contract.hides(contract.position):
        return "positions that are not shown"
    return "positions " + ", ".join(_one(each, contract) for each in bounds.positions)


def span(found: ReplayableFinding | SourceSurvey, contract: TableContract) -> str:
    """A sentence that begins with a blank: of which time the rows are; empty where that is not told."""
    if contract.hides(contract.event_time) or found.event_from is None or found.event_until is None:
        return ""
    return f" They are events of {found.event_from:%Y-%m-%d %H:%M:%S} to {found.event_until:%Y-%m-%d %H:%M:%S} UTC."


def _must_be_appended_to(plan: Plan) -> None:
    table = plan.case.observation.table
    newest = table.by_id.get(table.head) if table.head is not None else None
    deletes = newest is not None and newest.counted("total-equality-deletes")
    if deletes or table.properties.get("write.upsert.enabled", "").lower() == "true":
        raise Refused(
            f"The rows of {table.name} cannot be replayed one by one: newer rows replace older ones of the same key.",
            "Expected a table that is only appended to. Here a missing key may have been deleted on purpose, and a "
            "missing position may have been replaced.",
            "Rewind table and job instead: the job then writes its rows in their order.",
        )


def _one(each: PositionRange, contract: TableContract) -> str:
    of = (
        f" of partition {contract.shown(contract.position_partition, each.partition)}"
        if each.partition is not None
        else ""
    )
    return (f"{each.first} to {each.last}" if each.first != each.last else f"{each.first}") + of
