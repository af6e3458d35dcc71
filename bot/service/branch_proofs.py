"""What a repair's branch shows that main shows, too, where the branch began: another fault, which it does not mend.

Two faults of one table are mended one after the other. The first repair is proven beside the second fault where it adds
nothing to it. Main is asked without that allowance once the repair is published, and stays under review.
"""

from collections.abc import Sequence

from bot.domain.effects import MakeBranch
from bot.domain.entries import Check
from bot.domain.evidence import Evidence, Verdict
from bot.domain.execution import ProposalView
from bot.domain.findings import DuplicateFilesFinding, DuplicatesFinding, GapsFinding
from bot.domain.ids import SnapshotId, short
from bot.domain.no_more_found import is_held_by_number, no_more_found
from bot.domain.rehearsals import done_of
from bot.domain.sentences import counted

_NAMES = {
    "duplicate_rows": "No additional duplicate rows",
    "missing_positions": "No additional missing rows",
    "duplicate_files": "No additional duplicate files",
}
_GAPS = 5
_LEFT = "This repair does not fix it. The table stays under review until it is fixed and verified."

_BY_NUMBER = " The contract hides the positions, so only the counts were compared with main."


def base_of(rehearsal: ProposalView) -> SnapshotId | None:
    """Where its branch began on main; None where it has made none."""
    effects, done = rehearsal.proposal.effects, done_of(rehearsal)
    bases = (told["base"] for index, told in done.items() if isinstance(effects[index], MakeBranch))
    return next((SnapshotId(int(base)) for base in bases), None)


def no_more_than_main(check: Check, found: Evidence, main: Evidence | None, base: SnapshotId | None) -> Check:
    """`check` of what was found on the branch, passed where main has it all at the branch's base; not known where main
    did not tell, or is not there any more."""
    if main is None or main.verdict is Verdict.INCONCLUSIVE or main.head != base:
        said = f"{check.sentence} Unknown whether this was so before the repair: {_why_not_known(main, base)}."
        return check.model_copy(update={"passed": None, "sentence": said})
    began = f"main at {short(base)}, where its branch began"
    if main.verdict is Verdict.CONFIRMED and no_more_found(found, main):
        by_number = is_held_by_number(found, main)
        if _number(found) == _number(main):
            has = "as many" if by_number else "the same"
            said = f"{_counted(found)}, as before this repair; {began}, has {has}: {main.headline}"
        else:
            has = "more" if by_number else "these and more"
            was = f"{_number(main):,} before this repair; {began}, has {has}"
            said = f"{_counted(found)}, {was}. What is left: {found.headline}{_gaps(found)}"
        said = f"{said}{_BY_NUMBER if by_number else ''} {_LEFT}"
        return Check(name=_NAMES[found.task], passed=True, sentence=said, was_before=True)
    said = f"{check.sentence} It was not so before this repair. Answer for {began}: {main.headline}"
    return check.model_copy(update={"passed": False, "sentence": said})


def _why_not_known(main: Evidence | None, base: SnapshotId | None) -> str:
    if main is None:
        return "could not check main"
    if main.head != base:
        expected = f"main at {short(base)}, where its branch began" if base is not None else "a branch that began on it"
        return f"expected {expected}, and main is at {short(main.head)}"
    return f"the answer for main is: {main.headline.rstrip('.')}"


def _number(evidence: Evidence) -> int:
    match evidence.finding:
        case GapsFinding(missing=number) | DuplicatesFinding(extra_rows=number) | DuplicateFilesFinding(count=number):
            return number
    return 0


def _counted(evidence: Evidence) -> str:
    number = _number(evidence)
    is_or_are = "is" if number == 1 else "are"
    match evidence.finding:
        case GapsFinding():
            return f"{counted(number, 'row')} {is_or_are} missing"
        case DuplicateFilesFinding():
            return f"{counted(number, 'file')} {is_or_are} referenced twice"
    return f"{counted(number, 'row')} {is_or_are} extra"


def _gaps(evidence: Evidence) -> str:
    """Where rows stay missing, a sentence; empty where the headline names it all, or the contract hides positions. A
    row of the answer is a gap, with its first and last position."""
    found = evidence.finding
    if not isinstance(found, GapsFinding) or found.is_hidden or len(evidence.rows) < 2:
        return ""
    told = [_gap(row, gap.partition) for row, gap in zip(evidence.rows, found.gaps, strict=True)]
    is_whole = len(told) <= _GAPS and sum(gap.size for gap in found.gaps) == found.missing
    return f" The gaps: {', '.join(told[:_GAPS])}{'' if is_whole else ' and more'}."


def _gap(row: Sequence[str], partition: str | None) -> str:
    return f"{row[1]} to {row[2]}{f' of partition {partition}' if partition is not None else ''}"
