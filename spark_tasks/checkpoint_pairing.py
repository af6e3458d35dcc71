"""Which savepoint or checkpoint belongs to which table state?"""

from pyspark.sql import SparkSession

from bot.history.restore import Restores
from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.findings import Pairing, PairingFinding, PairVerdict
from bot.observation.ids import short, short_job
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted
from spark_tasks._support.words import MAX_ROWS, Inconclusive, answers, cell

TASK = Task(
    name="checkpoint_pairing",
    title="Restore points",
    question="From which savepoint or checkpoint can the job be restored exactly-once, and with which snapshot?",
    confirmed_means="at least one restore point matches a snapshot. Flink deletes old checkpoints, so propose soon",
    ruled_out_means="none matches a snapshot. Do not take a new savepoint on a run that you do not trust",
    needs=("table", "checkpoints"),
    cost="nothing but the metadata that is in hand",
    reads="nothing",
    confirmed_is="relief",
)
_COLUMNS = ("restore point", "kind", "checkpoint", "run", "verdict", "snapshot", "stays", "why")


@answers(TASK)
def answer(_spark: SparkSession, ask: Ask) -> Answer:
    """One pairing per restore point on storage, newest first.

    `ruled-out` only if every restore point could be read. Without Flink the verdicts stand, but a retained
    checkpoint is not taken for lasting.
    """
    world = ask.observation
    if isinstance(world.checkpoints, NotSeen):
        raise Inconclusive(world.checkpoints)
    found = tuple(pair for _, pair in Restores(ask).shown)
    paired = [p for p in found if p.verdict is PairVerdict.PAIRED]
    unreadable = [p for p in found if p.verdict is PairVerdict.UNREADABLE]
    verdict = Verdict.CONFIRMED if paired else Verdict.INCONCLUSIVE if unreadable else Verdict.RULED_OUT
    sources = [world.checkpoints.source]
    if not isinstance(world.jobs, NotSeen):
        sources.append(world.jobs.source)
    return Answer(
        verdict=verdict,
        headline=_headline(found, paired, unreadable),
        measures=(
            Measure(name="restore points", value=len(found), unit="restore points"),
            Measure(name="paired", value=len(paired), unit="restore points"),
            Measure(name="paired and lasting", value=sum(p.is_durable for p in paired), unit="restore points"),
        ),
        columns=_COLUMNS,
        rows=tuple(_row(p) for p in sorted(found, key=_rank)[:MAX_ROWS]),
        finding=PairingFinding(pairings=found),
        sources=tuple(sources),
        could_not_look=(world.jobs,) if isinstance(world.jobs, NotSeen) else (),
    )


def _rank(pairing: Pairing) -> bool:
    """What can be restored from and stays comes first in the sample; within, the newest first as before."""
    return not (pairing.verdict is PairVerdict.PAIRED and pairing.is_durable)


def _headline(found: tuple[Pairing, ...], paired: list[Pairing], unreadable: list[Pairing]) -> str:
    if not found:
        return "Storage holds no savepoint and no retained checkpoint."
    if paired:
        newest = paired[0]
        return (
            f"{counted(len(paired), 'restore point')} of {len(found)} {'matches' if len(paired) == 1 else 'match'} a "
            f"snapshot exactly. Do not just take the newest (checkpoint {newest.checkpoint_id} of run "
            f"{short_job(newest.job_id)}, snapshot {short(newest.snapshot_id)}): a proposal names the right one."
            + (f" {len(unreadable)} could not be read." if unreadable else "")
        )
    if unreadable:
        return (
            f"None of {counted(len(found), 'restore point')} matches a listed snapshot, but "
            f"{len(unreadable)} could not be read."
        )
    return f"None of {counted(len(found), 'restore point')} matches a listed snapshot."


def _row(pairing: Pairing) -> tuple[str, ...]:
    return (
        pairing.path,
        pairing.checkpoint_kind.value,
        cell(pairing.checkpoint_id),
        short_job(pairing.job_id),
        pairing.verdict.value,
        short(pairing.snapshot_id),
        "yes" if pairing.is_durable else "no",
        pairing.reason,
    )
