"""What a look could not see: since when, and when that is told."""

from datetime import datetime, timedelta

from bot.domain.errors import WaterlineError
from bot.domain.evidence import Observation
from bot.domain.looked import NotSeen
from bot.domain.setup import TableSetup
from bot.domain.watch import Sign
from bot.service.watch_unnamed import blind

CATALOG, FLINK, EVIDENCE = "the table in its catalog", "Flink", "what evidence reads"
_POINTS, _MANIFESTS, _OTHERS = "the checkpoint storage", "the Flink manifests on storage", "the table's other jobs"
ASIDE = frozenset({_POINTS, _MANIFESTS, _OTHERS})
"""Sources that only a closer look asks."""
PLAIN = frozenset({"no-advance", "no-commit", "stale", "restarts", "expiring"})
"""Codes of what table, Flink and evidence tell by themselves: whether it holds is known without those sources."""


def hidden_aside(setup: TableSetup, seen: Observation) -> dict[str, NotSeen]:
    """Those of `ASIDE` that could not be asked. A table without a job has no checkpoints, and no Flink manifests."""
    asked: dict[str, object] = {_OTHERS: seen.others}
    if setup.job is not None:
        asked |= {_POINTS: seen.checkpoints, _MANIFESTS: seen.flink_manifests}
    return {source: told for source, told in asked.items() if isinstance(told, NotSeen)}


def blind_to(
    unseen: dict[str, datetime], source: str, missing: NotSeen | None, now: datetime, patience: timedelta
) -> tuple[Sign, ...]:
    """Keep in `unseen` since when this source is missing (None: it is not); the sign of it, once that is long."""
    if missing is None:
        unseen.pop(source, None)
        return ()
    since = unseen.setdefault(source, now)
    if now - since < patience:
        return ()
    told = missing if source == FLINK else missing.model_copy(update={"source": source})
    return (blind(told, since),)


def why_not(source: str, error: WaterlineError) -> NotSeen:
    """The same as an error has it."""
    return NotSeen(source=source, reason=f"{error.happened} {error.found}".strip(), remedy=error.remedy)
