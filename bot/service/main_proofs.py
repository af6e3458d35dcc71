"""What is asked of main beside an action's own proofs: what its repair was proven by, and all that accuses the table.

A proof that calls the table trusted ends every doubt that came before it. So it asks each of them again.
"""

from collections.abc import Collection

from bot.domain.action import Action, MovesWaterline
from bot.domain.contract import TableContract
from bot.domain.doubt import ACCUSERS, accusations, accuses
from bot.domain.effects import ChangeFiles
from bot.domain.entries import Check
from bot.domain.evidence import Evidence, Verdict
from bot.domain.incident import Incident
from bot.domain.proposal import Proposal

_PROVEN = {
    "duplicate_rows": "No duplicate rows",
    "missing_positions": "No missing rows",
    "duplicate_files": "No duplicate files",
    "missing_files": "All files of the head exist",
    "unreadable_files": "All files of the window exist with the right size",
}
"""Of each task that can accuse main, what it has proven when it rules out."""
_LEFT = "The table stays under review until this is fixed and verified, too."
_LOST = (
    "The table stays under review until these rows are replayed (/waterline propose replay_source_range). If they are "
    "lost for good, notify the consumers and close the incident. Then open one whose last good snapshot is above "
    "the gap, and propose trust_present_state there."
)

_OPEN = (
    "Until this can be checked, the table stays under review. Follow the advice above, then click “Verify again”. "
    "If it "
    "can never be checked, notify the consumers and close the incident."
)
_BESIDE = "The repair removed no row, so this does not keep the table under review."
_PAST = "Only snapshots that main does not need are affected."


def proofs_on_main(
    incident: Incident, moves: MovesWaterline, repair: Action | None, contract: TableContract
) -> dict[str, str]:
    """Evidence task -> what it proves. `repair`: the action whose branch is published, which is asked of main what its
    branch was asked. Where the table is to be trusted, also whether rows are missing, if the contract says how to tell;
    and whatever accuses main."""
    found = dict(repair.proofs) if repair is not None else {}
    if moves == "trusted":
        asked = {*accusations(incident), *(("missing_positions",) if contract.position is not None else ())}
        found |= {task: name for task, name in _PROVEN.items() if task in asked and task not in found}
    return found


def may_stay_open(incident: Incident, task: str, declared: Collection[str], published: Proposal | None) -> bool:
    """Whether an answer that tells nothing keeps no table under review: whether rows are missing, where no action asks
    for that proof (`declared`), no evidence has said so, and what was published took no rows off. Some tables never
    give that answer, as where a source partition is idle."""
    is_extra = task == "missing_positions" and task not in declared and task not in accusations(incident)
    return is_extra and published is not None and not _takes_rows_off(published)


def left_open(check: Check) -> Check:
    """The check of such an answer, with what it means."""
    return check.model_copy(update={"sentence": f"{check.sentence} {_BESIDE}"})


def _takes_rows_off(published: Proposal) -> bool:
    changes = [each for each in published.effects if isinstance(each, ChangeFiles)]
    return sum((e.remove.rows if e.remove else 0) - (e.add.rows if e.add else 0) for e in changes) > 0


def checked(name: str, evidence: Evidence) -> Check:
    """What the evidence says of the table. Of main, one that finds only what main is read without is no failure."""
    is_of_main = evidence.task in ACCUSERS and evidence.branch is None
    if evidence.verdict is Verdict.CONFIRMED and is_of_main and not accuses(evidence):
        return Check(name=name, passed=True, sentence=f"{evidence.headline} {_PAST}")
    passed = {Verdict.RULED_OUT: True, Verdict.CONFIRMED: False, Verdict.INCONCLUSIVE: None}[evidence.verdict]
    return Check(name=name, passed=passed, sentence=evidence.headline)


def with_way_out(check: Check, task: str, *, is_own: bool) -> Check:
    """The check, where rows are missing, where that cannot be told, or where something fails that is not what the
    action itself has mended, with what keeps the table under review and how that ends."""
    if check.passed is True or (is_own and task != "missing_positions"):
        return check
    way = _OPEN if check.passed is None else _LOST if task == "missing_positions" else _LEFT
    return check.model_copy(update={"sentence": f"{check.sentence} {way}"})


def nothing_left(incident: Incident) -> Check | None:
    """What accuses main when the proof is written, by a look of somebody else from meanwhile; None: nothing."""
    left = next(iter(accusations(incident).values()), None)
    if left is None:
        return None
    said = f"{left.headline} This was found during the verification. {_LEFT}"
    return Check(name="No other problem found", passed=False, sentence=said)
