"""What source positions tell of Flink manifests of which neither Flink nor a restore point tells what became."""

from bot.diagnosis._case import living
from bot.domain.contract import TableContract
from bot.domain.diagnosis import Case
from bot.domain.findings import GapsFinding, LeakedManifest, LeakedManifestsFinding, LeakStanding


def is_live(leak: LeakedManifest, gaps: GapsFinding | None, contract: TableContract) -> bool:
    """Whether every position between those of the manifest is in a live row: then its rows were read again. Bounds of
    a file with several source partitions are of all of them together, and tell nothing of each."""
    low, high = leak.position_from, leak.position_until
    if gaps is None or gaps.missing or contract.position_partition is not None or low is None or high is None:
        return False
    return gaps.lowest is not None and gaps.highest is not None and gaps.lowest <= low and high <= gaps.highest


def all_are_live(leaked: LeakedManifestsFinding, case: Case) -> bool:
    """Whether that holds of each untold manifest, of which there is one at least."""
    untold = leaked.of(LeakStanding.UNTOLD)
    return bool(untold) and all(is_live(leak, case.gaps, case.contract) for leak in untold)


def may_be_missing(case: Case) -> tuple[LeakedManifest, ...]:
    """The manifests that may hold what is missing: of those that are untold, or wait although their run is over, all
    but those that list nothing, and those whose positions lie beside every gap. A position may be missing because a
    delete came there, which leaves none."""
    alive = {run.job_id for run in living(case)}
    found = case.leaked.of(LeakStanding.UNTOLD, LeakStanding.PENDING) if case.leaked is not None else ()
    open_still = (leak for leak in found if leak.standing is LeakStanding.UNTOLD or leak.job_id not in alive)
    return tuple(leak for leak in open_still if not leak.is_empty and not _lies_beside(leak, case))


def _lies_beside(leak: LeakedManifest, case: Case) -> bool:
    low, high = leak.position_from, leak.position_until
    if case.gaps is None or case.contract.position_partition is not None or low is None or high is None:
        return False
    is_whole = sum(gap.size for gap in case.gaps.gaps) == case.gaps.missing
    return is_whole and all(gap.last < low or high < gap.first for gap in case.gaps.gaps)
