"""Did any consumer read a state above the trusted snapshot?"""

from pyspark.sql import SparkSession

from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.findings import ReadsFinding
from bot.observation.ids import SnapshotId, short
from bot.observation.looked import NotSeen
from bot.observation.readers import ReadRun
from bot.observation.sentences import counted, few
from bot.observation.table import Snapshot, TableState
from spark_tasks._support.words import MAX_ROWS, Inconclusive, answers, inconclusive

TASK = Task(
    name="reads_above_waterline",
    title="Reads above the waterline",
    question="Which consumer runs read a state above the trusted snapshot, or one that was rolled back?",
    confirmed_means="some consumer read rows that are not trusted",
    ruled_out_means="as far as lineage knows, no consumer run read rows that are not trusted",
    confirmed_is="neutral",
    needs=("table", "reads"),
    cost="nothing but what is in hand: metadata and lineage events",
    reads="nothing",
)
_TAG = "waterline"


@answers(TASK)
def answer(_spark: SparkSession, ask: Ask) -> Answer:
    """Each observed run is compared with the trusted snapshot: the incident's, else the table's tag `waterline`.

    A snapshot that is listed no more counts as trusted when it was read before the trusted one was committed. A run
    whose snapshot no event tells counts when it came after that: it may have read anything.
    """
    table, looked = ask.observation.table, ask.observation.reads
    trusted = ask.trusted if ask.trusted is not None else table.ref(_TAG)
    if isinstance(looked, NotSeen):
        raise Inconclusive(looked)
    if trusted is None or trusted not in table.by_id:
        raise inconclusive(
            source=f"the trusted snapshot of {table.name}",
            reason=f"No incident names one that is listed, and the table has no tag {_TAG}.",
            remedy="Open an incident, or set the tag to the snapshot that is known to be good.",
        )
    since = table.by_id[trusted]
    below = frozenset(snapshot.snapshot_id for snapshot in table.ancestors(trusted))
    above = tuple(sorted((r for r in looked.values if _is_above(r, table, below)), key=lambda run: run.at))
    known = {run.run_id for run in above}
    unclear = tuple(r for r in looked.values if _is_unclear(r, table, since) and r.run_id not in known)
    checked = len({run.run_id for run in looked.values})
    finding = ReadsFinding(trusted=trusted, above=above, not_told=unclear, runs_checked=checked)
    if above:
        verdict, headline = Verdict.CONFIRMED, _headline(table, above, unclear, trusted)
    elif unclear:
        verdict = Verdict.INCONCLUSIVE
        headline = f"No run is known to have read above {short(trusted)}, but {_unclear(unclear)}."
    elif looked.unread:
        verdict = Verdict.INCONCLUSIVE
        headline = f"No run is known to have read above {short(trusted)}, but {looked.unread}."
    else:
        verdict = Verdict.RULED_OUT
        runs = counted(finding.runs_checked, "observed run")
        headline = f"None of {runs} read above {short(trusted)}." if looked.values else "No run is known to read it."
    return Answer(
        verdict=verdict,
        headline=headline,
        measures=(
            Measure(name="runs above the waterline", value=len(above), unit="runs"),
            Measure(name="runs whose snapshot is not known", value=len(unclear), unit="runs"),
            Measure(name="observed runs", value=finding.runs_checked, unit="runs"),
        ),
        columns=("consumer", "read at", "snapshot", "why", "run"),
        rows=tuple(_row(run, table) for run in (*above, *unclear)[:MAX_ROWS]),
        finding=finding,
        sources=(looked.source,),
    )


def _is_above(run: ReadRun, table: TableState, below: frozenset[SnapshotId]) -> bool:
    """On main above the trusted snapshot, or on main once and rolled back since. A branch that never was main (an
    audit) has its own readers."""
    snapshot = run.snapshot_id
    if snapshot is None or snapshot not in table.by_id or snapshot in below:
        return False
    return snapshot in table.chain_ids or snapshot in {s.snapshot_id for s in table.rolled_back}


def _is_unclear(run: ReadRun, table: TableState, trusted: Snapshot) -> bool:
    is_told = run.snapshot_id is not None and run.snapshot_id in table.by_id
    return not is_told and run.at >= trusted.committed_at


def _headline(table: TableState, above: tuple[ReadRun, ...], unclear: tuple[ReadRun, ...], trusted: SnapshotId) -> str:
    names = list(dict.fromkeys(run.consumer for run in above))
    lost = {s.snapshot_id for s in table.rolled_back}
    gone = sum(run.snapshot_id in lost for run in above)
    rolled_back = f", {counted(gone, 'run')} of them a state that was rolled back" if gone else ""
    also = f"; {_unclear(unclear)}" if unclear else ""
    who = f"{counted(len(names), 'consumer')} read above {short(trusted)}: {few(names)}"
    return f"{who} ({counted(len(above), 'run')} since {above[0].at:%Y-%m-%d %H:%M:%S} UTC{rolled_back}){also}."


def _unclear(runs: tuple[ReadRun, ...]) -> str:
    return f"of {counted(len(runs), 'run')} no event tells a snapshot that is listed still"


def _row(run: ReadRun, table: TableState) -> tuple[str, ...]:
    if run.snapshot_id is None:
        why = "the event names no snapshot"
    elif run.snapshot_id not in table.by_id:
        why = "the snapshot is not listed (expired)"
    else:
        why = "above the waterline" if run.snapshot_id in table.chain_ids else "rolled back since"
    return (run.consumer, f"{run.at:%Y-%m-%d %H:%M:%S}", short(run.snapshot_id), why, run.run_id)
