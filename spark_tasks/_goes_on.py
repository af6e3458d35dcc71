"""Where the source goes on after a restore, in words, and whether that fits the paired table state; pure."""

from collections.abc import Iterable, Sequence

from bot.domain.contract import TableContract
from bot.domain.evidence import Ask
from bot.domain.findings import PairVerdict, RestoreReach
from bot.domain.flink import SourcePosition
from bot.domain.sentences import counted
from spark_tasks._words import shown

_NAMED = 4
_UNREAD = {-1: "the end of the topic", -2: "the beginning of the topic", -3: "the group's committed offset"}


def source_in_words(positions: Sequence[SourcePosition], contract: TableContract) -> str:
    """`orders/0 at 1,234, orders/1 at 1,201 and 10 more`; empty where nothing is known."""
    told = ", ".join(f"{name_of(each)} at {_offset(each.following, contract)}" for each in positions[:_NAMED])
    more = len(positions) - _NAMED
    return f"{told} and {more} more" if more > 0 else told


def name_of(position: SourcePosition) -> str:
    """`orders/0`: the topic and its partition."""
    return f"{position.topic}/{position.partition}"


def disagreements(ask: Ask, reach: RestoreReach) -> Iterable[str]:
    """Where the source's own offset and the highest position of the paired table state do not follow on each other.

    Told only of a source with one partition: the table's highest position is known of all partitions together. The
    contract's position column is taken for Kafka's offset, as it is meant to be.
    """
    if reach.verdict is not PairVerdict.PAIRED or reach.position_until is None or len(reach.source_positions) != 1:
        return
    source, column = reach.source_positions[0], ask.contract.position or ""
    highest = shown(column, reach.position_until, ask.contract)
    goes_on = f"Its source goes on at {_offset(source.following, ask.contract)} of {name_of(source)}"
    between = source.following - reach.position_until - 1
    if source.following < 0:
        return
    if between < 0:
        yield (
            f"{goes_on}, but its table state already holds position {highest}: what lies between would be written "
            "twice, unless another writer brought it."
        )
    if between > 0:
        yield (
            f"{goes_on}, and its table state ends with position {highest}: {counted(between, 'record')} between them "
            "made no row (filtered by the job, or lost)."
        )


def _offset(offset: int, contract: TableContract) -> str:
    return _UNREAD.get(offset, f"offset {shown(contract.position or '', f'{offset:,}', contract)}")
