"""Whether an open incident puts its table in doubt: planned work does not, until something is found; and a table that
was proven comes into doubt again when something is found afterwards. Pure.

Whether rows of main were counted wrong in an incident and are counted right now, though Waterline did not move main
in between: people mended them, or the job brought by itself what was missing. Pure.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from bot.history.staleness import not_covered_since
from bot.incident.diagnosis import Diagnosis, LastGoodRows, Matches, Mode, Remedy
from bot.incident.effects import MoveTable, PublishBranch
from bot.incident.entries import Body, Diagnosed, EffectEnded, EvidenceRecorded, NoticeQueued, WaterlineMoved
from bot.incident.incident import Incident
from bot.incident.notice import WARNS
from bot.observation.evidence import Evidence, Verdict
from bot.observation.findings import (
    DuplicateFilesFinding,
    DuplicatesFinding,
    MissingFilesFinding,
    UnreadableFilesFinding,
)
from bot.observation.ids import EvidenceId, ProposalId, SnapshotId
from bot.observation.table import TableState

OF_ROWS = frozenset({"duplicate_rows", "missing_positions"})
"""Evidence whose `confirmed` means that consumers read something wrong."""


ACCUSERS = ("duplicate_rows", "missing_positions", "duplicate_files", "missing_files", "unreadable_files")
"""Evidence whose `confirmed` accuses main: of wrong rows, of rows that count several times, or of reads that fail."""


_ROWS_ARE_RIGHT = frozenset(
    {
        Remedy.NOTHING, Remedy.TELL_CONSUMERS, Remedy.WAIT, Remedy.RESTORE_JOB_ONLY, Remedy.PROTECT_LAST_COMMIT,
        Remedy.FREE_CHECKPOINT_FOLDER,
    }
)  # fmt: skip
"""What a diagnosis asks for where the table is as it should be: of people, of the job alone, or of storage."""


def doubted_since(incident: Incident) -> datetime | None:
    """Since when consumers are not to rely on the table's newest rows; None: planned work, and nothing is wrong yet.

    Planned work raises a doubt by evidence of wrong rows or files, by a diagnosis that names a fault of them, by an
    effect that takes the trust back, and by a responder who warns.
    """
    if not incident.runbook.is_planned:
        return incident.opened_at
    return next((entry.at for entry in incident.entries if _raises_doubt(entry.body)), None)


def is_in_doubt(incident: Incident, at: datetime | None = None) -> bool:
    """Whether it calls its table under review, now or at that moment: then people look at the table themselves. Not
    while it is planned work in which nothing was found, nor once the table is trusted and only the review is left."""
    doubted = doubted_since(incident)
    if doubted is None or (at is not None and doubted > at):
        return False
    moved = (e.body for e in reversed(incident.entries) if at is None or e.at <= at)
    mark = next((body for body in moved if isinstance(body, WaterlineMoved)), None)
    return mark is None or mark.status != "trusted"


def was_in_doubt_since(incident: Incident, at: datetime) -> bool:
    """Whether it called its table under review at that moment, or at any time after it."""
    doubted = doubted_since(incident)
    moves = (e.at for e in incident.entries if isinstance(e.body, WaterlineMoved) and e.at > at)
    began = doubted is not None and doubted > at
    return began or is_in_doubt(incident, at) or any(is_in_doubt(incident, moved) for moved in moves)


def standing(incident: Incident) -> str:
    """What the incident says of its table at present, two or three words."""
    if incident.waterline is not None:
        return incident.waterline.status.replace("-", " ")
    return "not marked yet" if doubted_since(incident) is not None else "planned work, no known problem"


def up_to(incident: Incident) -> str:
    """What is said before the snapshot that the incident names: only where somebody looked at its rows, and knows of
    none wrong up to there, that there is no known problem."""
    if incident.trusted is None or standing(incident) == "trusted":
        return "Trusted up to"
    return "Possibly good up to" if _is_unseen(incident) else "No known problem up to"


def _is_unseen(incident: Incident) -> bool:
    return rows_up_to(incident, incident.trusted) is LastGoodRows.NOT_LOOKED_AT or is_unplaced(incident)


def beside_trusted(incident: Incident) -> str:
    """What is said beside the snapshot up to which the table is trusted: what is under review is what came after it."""
    status = standing(incident)
    if status != "under review":
        return status
    if incident.trusted is None:
        return "the whole table: under review"
    return f"{'its rows: not verified; ' if _is_unseen(incident) else ''}newer rows: under review"


def shows_wrong_rows(evidence: Evidence) -> bool:
    """Whether it found on main what consumers read wrong. What is seen on a repair's branch nobody reads."""
    return evidence.task in OF_ROWS and evidence.verdict is Verdict.CONFIRMED and evidence.branch is None


def wrong_files(evidence: Evidence) -> tuple[SnapshotId, ...]:
    """The commits of main by which files were added that are lost, or that were live already."""
    if evidence.verdict is not Verdict.CONFIRMED or evidence.branch is not None:
        return ()
    match evidence.finding:
        case DuplicateFilesFinding(again=commits) | MissingFilesFinding(commits=commits):
            return commits
    return ()


def accuses(evidence: Evidence) -> bool:
    """Whether it found on main what consumers read wrong, or cannot read."""
    if evidence.verdict is not Verdict.CONFIRMED or evidence.branch is not None:
        return False
    return evidence.task in ACCUSERS and not _is_of_the_past(evidence)


def accusations(incident: Incident) -> dict[str, Evidence]:
    """Task -> its newest answer about main that told anything, where that one accuses. A look that gave no answer takes
    nothing back."""
    on_main = [run.evidence for run in incident.runs.values() if run.evidence is not None and run.branch is None]
    newest = {each.task: each for each in on_main if each.verdict is not Verdict.INCONCLUSIVE}
    return {task: each for task, each in newest.items() if accuses(each)}


NO_LOOK_COVERS = (
    "Commits that it covered have expired since, so no new look shows whether it still holds. Notify the consumers and "
    "close the incident. Then open one whose last good snapshot is above what was found."
)


def accused(incident: Incident, now: TableState) -> tuple[Evidence, ...]:
    """As `Case.accused` has it; not what a proposal that moved main has repaired, unless that was undone."""
    repaired = dict[ProposalId, frozenset[EvidenceId]]()
    for body in (entry.body for entry in incident.entries):
        if isinstance(body, EffectEnded) and body.how == "done" and _moves_main(incident, body):
            made = incident.proposals[body.proposal].proposal
            repaired[made.id] = frozenset(each for each in made.evidence if _task(incident, each) in made.repairs)
            if made.undoes is not None:
                repaired.pop(made.undoes, None)
    left = (run for run in incident.runs.values() if not any(run.run in each for each in repaired.values()))
    return not_covered_since((run.evidence for run in left if run.branch is None and run.evidence is not None), now)


def _task(incident: Incident, evidence: EvidenceId) -> str | None:
    run = incident.runs.get(evidence)
    return run.task if run is not None else None


def _is_of_the_past(evidence: Evidence) -> bool:
    """Whether all that it misses are manifest lists of other snapshots than the head, or of such that were rolled back:
    main is read without them."""
    told = evidence.finding
    if not isinstance(told, UnreadableFilesFinding) or told.commits != () or evidence.head in (told.lists or ()):
        return False
    return all(file.what == "manifest-list" for file in told.files)


def names_all_commits(evidence: Evidence) -> bool:
    """Whether it tells of each wrong row by which commits it came."""
    told = evidence.finding
    return isinstance(told, DuplicatesFinding) and told.names_all_commits


def is_unplaced(incident: Incident) -> bool:
    """Whether evidence counted wrong rows that nobody has diagnosed since, and does not tell that they lie above the
    snapshot that is named."""
    for entry in reversed(incident.entries):
        match entry.body:
            case Diagnosed() | WaterlineMoved(status="trusted"):
                return False
            case EvidenceRecorded(evidence=evidence) if shows_wrong_rows(evidence):
                if evidence.window.since != incident.trusted and not names_all_commits(evidence):
                    return incident.trusted is not None
    return False


def faults_in(diagnosis: Diagnosis) -> tuple[tuple[Mode, Matches], ...]:
    """The matches that say that rows are wrong, or missing, or will be."""
    return tuple(each for each in diagnosis.matches if not rows_are_right(each[1]))


def rows_up_to(incident: Incident, snapshot: SnapshotId | None) -> LastGoodRows | None:
    """What the newest diagnosis says of the rows up to the snapshot; None: it names no fault above this one, or did not
    say."""
    faults = faults_in(incident.diagnosis) if incident.diagnosis is not None and snapshot is not None else ()
    return next((match.last_good_rows for _, match in faults if match.last_good == snapshot), None)


def rows_are_right(match: Matches) -> bool:
    """Whether what it asks for leaves the table's rows alone, because nothing is wrong with them."""
    return leaves_rows(match.remedy)


def leaves_rows(remedy: Remedy) -> bool:
    return remedy in _ROWS_ARE_RIGHT


def _raises_doubt(body: Body) -> bool:
    match body:
        case EvidenceRecorded(evidence=evidence):
            return shows_wrong_rows(evidence) or bool(wrong_files(evidence))
        case Diagnosed(diagnosis=diagnosis):
            return bool(faults_in(diagnosis))
        case NoticeQueued(notice=notice):
            return notice.kind in WARNS
        case WaterlineMoved():
            return True
    return False


_COUNT = OF_ROWS | {"duplicate_files"}
"""Evidence whose `confirmed` means that whoever read main read rows twice, or too few."""


class Mended(NamedTuple):
    """Two answers to one question about main; whoever has read it meanwhile may have read what was wrong."""

    wrong: Evidence
    """The last that counted wrong or missing rows."""
    right: Evidence
    """The first after it that counted none, of another head."""


def mended_by_others(incident: Incident) -> tuple[Mended, ...]:
    """In the order in which rows were counted right again. A look that gave no answer mends nothing; what is counted on
    a repair's branch is not of main; what was wrong before Waterline moved main is told by what it moved. Two answers
    of one head speak of the same rows: the question has changed between them, as by another key in the contract, and
    nobody mended any."""
    return tuple(sorted(_all_of(incident), key=lambda each: each.right.at))


def _all_of(incident: Incident) -> Iterator[Mended]:
    for task in sorted(_COUNT):
        wrong: Evidence | None = None
        for entry in incident.entries:
            match entry.body:
                case EvidenceRecorded(evidence=evidence) if evidence.task == task and _is_of_main(incident, evidence):
                    if evidence.verdict is Verdict.CONFIRMED:
                        wrong = evidence
                    elif evidence.verdict is Verdict.RULED_OUT and wrong is not None:
                        if wrong.head != evidence.head:
                            yield Mended(wrong, evidence)
                        wrong = None
                case EffectEnded(how="done") as ended if _moves_main(incident, ended):
                    wrong = None


def _is_of_main(incident: Incident, evidence: Evidence) -> bool:
    run = incident.runs.get(evidence.id)
    return run is None or run.branch is None


def _moves_main(incident: Incident, ended: EffectEnded) -> bool:
    effect = incident.proposals[ended.proposal].proposal.effects[ended.index]
    return isinstance(effect, MoveTable | PublishBranch)
