"""What `missing_positions` says, in words."""

from bot.domain.evidence import Answer, Ask
from bot.domain.findings import GapsFinding
from bot.domain.looked import NotSeen
from bot.domain.sentences import counted
from spark_tasks._source_edges import Edges
from spark_tasks._tails import Tails, waiting_in_words
from spark_tasks._window import Reach
from spark_tasks._words import could_not, ids, shown


def _beginning(ask: Ask, edges: Edges) -> str:
    """From where on nothing is missing, where the table begins with a later position than the first that there is."""
    first = edges.each[0]
    if not edges.begins_with_table or first.lowest <= 0 or len(edges.each) > 1:
        return ""
    return f" from {shown(ask.contract.position or '', first.lowest, ask.contract)}, with which the table begins,"


def _parts(ask: Ask, edges: Edges) -> str:
    """Which source partitions were compared: one that wrote nothing in the window may be idle or lost."""
    if ask.contract.position_partition is None:
        return ""
    return f", in {counted(len(edges.each), 'source partition')} that the window wrote"


def headline(
    ask: Ask, reach: Reach, finding: GapsFinding, gaps: int, inside: int, above: int, edges: Edges, tails: Tails
) -> str:
    """What is missing, and where it stood once; or up to where nothing is, and what is still to come."""
    position = ask.contract.position or ""
    lost = [s.snapshot_id for s in reach.rolled_back]
    of_rolled_back = f"{counted(len(lost), 'commit')} that {'was' if len(lost) == 1 else 'were'} rolled back"
    if not finding.missing:
        waiting = (
            f" {counted(above, 'position')} of {of_rolled_back} {'lies' if above == 1 else 'lie'} above it and "
            f"{'is' if above == 1 else 'are'} not written again yet."
            if above
            else ""
        )
        highest = shown(position, finding.highest, ask.contract)
        one = "live one" if finding.replaced is None else "one that was brought"
        up_to = f"{_beginning(ask, edges)} up to the highest {one}, {highest}{_parts(ask, edges)}"
        return f"No position is missing{up_to}.{_replaced(finding)}{waiting}{waiting_in_words(tails)}"
    first = finding.gaps[0]
    low, high = (shown(position, bound, ask.contract) for bound in (first.first, first.last))
    where = f"{low} to {high}" if first.size > 1 else low
    partition = f" of partition {first.partition}" if first.partition is not None else ""
    several = f" in {gaps} gaps, the first {where}{partition}" if gaps > 1 else f": {where}{partition}"
    told = f"{_replaced(finding)}{waiting_in_words(tails)}"
    is_or_are = "is" if finding.missing == 1 else "are"
    cause = f"; {inside:,} of them stood in {of_rolled_back} ({ids(lost)})" if inside else ""
    if tails.size:
        cause += (
            f"; {tails.size:,} of them the job had read by checkpoint {tails.state_of}, which the newest commit carries"
        )
    return f"{counted(finding.missing, 'position')} {is_or_are} missing{several}{cause}.{told}"


def _replaced(finding: GapsFinding) -> str:
    """Of a table that is written by key, the positions of rows that are gone rightly."""
    if not finding.replaced:
        return ""
    return (
        f" The rows of {counted(finding.replaced, 'position')} were replaced or deleted by their key: these are no "
        "missing rows."
    )


def untold_still(gaps: NotSeen) -> str:
    """No gap shows for sure that a row is missing, and some may."""
    return f"No position is missing for sure, but not all is known: {gaps.reason}"


def open_still(edges: Edges, unjudged: tuple[NotSeen, ...], *, is_deleted: bool) -> Answer:
    """Nothing is missing between what was seen, and that is not all. `is_deleted`: the first that is not judged is what
    the window brought and deleted."""
    reason = unjudged[0].reason
    said = f"not every source partition was: {reason[0].lower()}{reason[1:]}"
    if is_deleted:
        said = f"not all that the window brought lives: {reason[0].lower()}{reason[1:]}"
    elif edges.unplaced:
        said = f"below them there may be: {reason[0].lower()}{reason[1:]}"
    elif edges.without and len(unjudged) == 1:
        said = f"not all rows have one: {reason}"
    return could_not(f"No position is missing between those that were seen, but {said}", *unjudged)


def bare(ask: Ask, edges: Edges) -> NotSeen:
    """What is said of rows of the window that carry no position."""
    column = ask.contract.position
    has = "has" if edges.without == 1 else "have"
    return NotSeen(
        source=f"column {column} of {ask.observation.table.name}",
        reason=f"{edges.without:,} of the window's {counted(edges.rows, 'row')} {has} null there: whether rows like "
        "these are missing is not known.",
        remedy="Look who wrote them, and whether the job still fills it; choose a window without them if they are "
        "another writer's.",
    )
