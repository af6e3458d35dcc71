"""What is verified of a start that left state behind: the sink's, and nothing else."""

from collections.abc import Sequence

from bot.actions._requirements import World
from bot.domain.effects import StartJob
from bot.domain.entries import Check
from bot.domain.errors import CouldNotLook, NotThere
from bot.domain.ids import JobId, short_job
from bot.domain.table import Snapshot

_SOURCE = "Source"


def other_operator(effect: StartJob, ancestors: Sequence[Snapshot], commits: Sequence[Snapshot], run: JobId) -> Check:
    """The sink's new uid shows in its commits. `ancestors`: of the snapshot on which the run began."""
    before = {s.operator_id for s in ancestors} | {effect.leaves_operator}
    found = ", ".join(dict.fromkeys(short_job(s.operator_id) for s in commits if s.operator_id)) or "none"
    return Check(
        name="It commits under another operator id",
        passed=bool(commits) and all(s.operator_id not in before for s in commits),
        sentence=f"Run {short_job(run)} commits under operator {found}.",
    )


def source_kept(effect: StartJob, run: JobId, world: World) -> Check:
    """Flink leaves behind every state that no operator of the new graph takes, a source's too, and says so nowhere: a
    source that was given another id begins anew."""
    name = "The source continued from the restore point's state"
    ports = world.jobs[effect.job]
    try:
        graph, stored = ports.flink.run(run), ports.checkpoints.read(effect.path)
    except (CouldNotLook, NotThere) as error:
        return Check(name=name, passed=None, sentence=str(error))
    sources = [each for each in (graph.vertices if graph else ()) if each.name.startswith(_SOURCE)]
    if not sources or stored.not_understood is not None:
        why = stored.not_understood or "Flink's graph names no source."
        return Check(name=name, passed=None, sentence=f"This could not be checked: {why}")
    anew = [each.name for each in sources if each.vertex_id not in stored.operator_ids]
    return Check(
        name=name,
        passed=not anew,
        sentence=f"{effect.path} holds no state for {', '.join(anew)}, which started from the beginning. Its rows "
        "may be duplicated."
        if anew
        else f"The state of {', '.join(each.name.split(' -> ')[0] for each in sources)} was found in {effect.path}.",
    )
