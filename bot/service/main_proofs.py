"""What is asked of main beside an action's own proofs: what its repair was proven by, and all that accuses the table.

A proof that calls the table trusted ends every doubt that came before it. So it asks each of them again.
"""

from bot.domain.action import Action, MovesWaterline
from bot.domain.contract import TableContract
from bot.domain.doubt import accusations
from bot.domain.entries import Check
from bot.domain.incident import Incident

_PROVEN = {
    "duplicate_rows": "No row is there twice",
    "missing_positions": "No row is missing",
    "duplicate_files": "No file is live twice",
    "missing_files": "Every file that the head names is there",
    "unreadable_files": "Every file of the window is there, in its size",
}
"""Of each task that can accuse main, what it has proven when it rules out."""
_LEFT = "Whatever was repaired, the table stays under review until this is mended, too, and proven."
_LOST = (
    "The table stays under review until these rows are replayed (/waterline propose replay_source_range). If they are "
    "lost for good, state that to the consumers and close the incident with it; then open one whose last good snapshot "
    "lies above the gap: there trust_present_state proves what follows."
)


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


def with_way_out(check: Check, task: str, *, is_own: bool) -> Check:
    """The check, where rows are missing, or something fails that is not what the action itself has mended, with what
    keeps the table under review and how that ends."""
    if check.passed is not False or (is_own and task != "missing_positions"):
        return check
    way = _LOST if task == "missing_positions" else _LEFT
    return check.model_copy(update={"sentence": f"{check.sentence} {way}"})


def nothing_left(incident: Incident) -> Check | None:
    """What accuses main when the proof is written, by a look of somebody else from meanwhile; None: nothing."""
    left = next(iter(accusations(incident).values()), None)
    if left is None:
        return None
    said = f"{left.headline} That was found while the table was being proven. {_LEFT}"
    return Check(name="Nothing else was found", passed=False, sentence=said)
