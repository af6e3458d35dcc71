"""Where the waterline belongs: a proof moves it, and whatever moves `main` afterwards, or is found to be wrong, takes
the trust back until the next proof. Pure.

What proposals have changed, and what of it an undo could still take back. Pure.
"""

from dataclasses import dataclass, field

from bot.incident.diagnosis import Remedy
from bot.incident.doubt import faults_in, shows_wrong_rows, wrong_files
from bot.incident.effects import DropBranch, StopFork
from bot.incident.entries import (
    Body,
    Diagnosed,
    EvidenceRecorded,
    EvidenceRequested,
    ExecutionEnded,
    ExecutionStarted,
    Verified,
    WaterlineMoved,
)
from bot.incident.execution import ProposalView
from bot.incident.incident import Incident
from bot.incident.journal import Entry
from bot.incident.proposal import UNDO, Proposal
from bot.observation.ids import EvidenceId, JobId, ProposalId, SnapshotId

ASKED = "asked"
"""In place of a failure mode's code: a responder asked for it, and no diagnosis did."""


_FINAL = (StopFork, DropBranch)
"""Effects that no undo takes back."""


def undo_left(incident: Incident) -> ProposalView | None:
    """The newest proposal that has changed something, where an undo may take it back, as long as the incident is open;
    None: nothing was changed, it was taken back, or it is final."""
    newest = next((view for view in reversed(incident.proposals.values()) if has_changed(view)), None)
    if newest is None or newest.proposal.action == UNDO:
        return None
    return None if any(isinstance(effect, _FINAL) for effect in newest.proposal.effects) else newest


def has_changed(view: ProposalView) -> bool:
    """Whether it has changed something beside the freeze of maintenance, which ends by itself."""
    return any(view.proposal.effects[index].kind != "freeze-maintenance" for index in view.applied)


_MOVE_MAIN = frozenset({"move-table", "publish-branch"})
"""Effects after which a plain read gives something else than what was proven."""


_MOVE_JOB = frozenset({"stop-job", "stop-fork", "start-job", "start-from-stop"})
"""Effects after which the job may commit something else than before."""


_Fault = tuple[str, JobId | None, SnapshotId | None]
"""Code of its mode, the run that is wrong, and the newest snapshot before it."""


def due_waterline(incident: Incident) -> WaterlineMoved | None:
    """What the record asks for: the newest proof's head as trusted, also when an earlier repair of the same incident
    was trusted before; under review, back at the snapshot that is believed good, after a proven undo, after a
    proof that failed, from the moment at which anything that moves `main` is begun until it is proven, and when
    something wrong is found in what was trusted. None: nothing says anything of it."""
    head: SnapshotId | None = None
    is_trusted = None
    running: set[ProposalId] = set()
    unproven: set[ProposalId] = set()
    found = _Found()
    for entry in incident.entries:
        found.know(incident, entry.body)
        match entry.body:
            case ExecutionStarted(proposal=proposal) if _does(incident.proposals[proposal], _MOVE_MAIN):
                running.add(proposal)
            case ExecutionEnded(proposal=proposal, outcome=outcome) if proposal in running | unproven:
                running.discard(proposal)
                unproven.discard(proposal)
                if outcome != "refused" or _may_have_moved(incident.proposals[proposal]):
                    unproven.add(proposal)
            case Verified(passed=True) as proof if not _says_something(incident, proof):
                unproven -= _looked_at(proof)
            case Verified(passed=True) as proof:
                unproven.clear()
                is_trusted = proof.makes_trusted
                head = proof.head if is_trusted else head
                found.begin_anew(knows_all=is_trusted and incident.proposals[proof.proposal].proposal.code == ASKED)
            case Verified(passed=False) as proof if _says_something(incident, proof):
                unproven.add(proof.proposal)
            case WaterlineMoved(status="trusted", snapshot=snapshot) if is_trusted is None:
                head = snapshot  # consumers were told that nothing is wrong
                found.begin_anew(knows_all=True)
            case body:
                found.take(body)
    if is_trusted and not running and not unproven and not found.is_wrong:
        return WaterlineMoved(snapshot=head, status="trusted")
    back = incident.believed_good if incident.believed_good is not None else head
    is_taken_back = is_trusted is False or bool(running or unproven) or found.is_wrong
    return WaterlineMoved(snapshot=back, status="under-review") if is_taken_back else None


def is_marked(incident: Incident) -> bool:
    """Whether the mark says what is owed; how far down it stands while the table is under review is told elsewhere."""
    owed, mark = due_waterline(incident), incident.waterline
    if owed is None or mark is None:
        return owed is None
    return owed == mark if owed.status == "trusted" else owed.status == mark.status


@dataclass
class _Found:
    """What was found since the table was trusted the last time; nothing counts before that."""

    is_wrong: bool = False
    since: set[EvidenceId] | None = None
    """What was asked since then: an answer to what was asked before tells of the table before."""
    named: dict[_Fault, Remedy] = field(default_factory=dict)
    """Faults that a diagnosis has named, and what it asked for."""
    known: set[_Fault] = field(default_factory=set)
    """Those of which something was done: one that was mended on top stays in the history of main."""

    def know(self, incident: Incident, body: Body) -> None:
        """The faults for which a proposal was made that is carried out, or is proven now; of a rehearsal, when it is
        published."""
        match body:
            case ExecutionEnded(proposal=done, outcome="applied") | Verified(proposal=done, passed=True):
                self._made_for(incident.proposals[done].proposal)

    def _made_for(self, proposal: Proposal) -> None:
        if proposal.rehearses_on is not None:
            return
        actions = {proposal.action, *proposal.follows}
        for fault, remedy in self.named.items():
            if proposal.code == fault[0] or remedy.value.replace("-", "_") in actions:
                self.known.add(fault)

    def begin_anew(self, *, knows_all: bool) -> None:
        """The table is trusted from here on. `knows_all`: whoever had it proven asked for that without a diagnosis, or
        calls the table right, with all that was named in sight."""
        self.is_wrong, self.since = False, set()
        self.known |= self.named.keys() if knows_all else set()

    def take(self, body: Body) -> None:
        match body:
            case EvidenceRequested(run=run) if self.since is not None:
                self.since.add(run)
            case EvidenceRecorded(run=run, evidence=evidence) if self.since is not None and run in self.since:
                self.is_wrong = self.is_wrong or shows_wrong_rows(evidence) or bool(wrong_files(evidence))
            case Diagnosed(diagnosis=diagnosis):
                named = {(mode.code, it.wrong_run, it.last_good): it.remedy for mode, it in faults_in(diagnosis)}
                self.is_wrong = self.is_wrong or (self.since is not None and not named.keys() <= self.known)
                self.named |= named


def trust_ends(incident: Incident) -> tuple[Entry, ...]:
    """The entries by which a table that was trusted in this incident came under review again, oldest first."""
    found: list[Entry] = []
    was_trusted = False
    for entry in incident.entries:
        if isinstance(entry.body, WaterlineMoved):
            is_trusted = entry.body.status == "trusted"
            if was_trusted and not is_trusted:
                found.append(entry)
            was_trusted = is_trusted
    return tuple(found)


def last_taken_back(incident: Incident) -> Entry | None:
    """The last of them; None: it never did."""
    ends = trust_ends(incident)
    return ends[-1] if ends else None


def taken_back(incident: Incident) -> Entry | None:
    """The same, as long as it was not proven anew."""
    is_trusted = incident.waterline is not None and incident.waterline.status == "trusted"
    return None if is_trusted else last_taken_back(incident)


def has_changed_anything(incident: Incident) -> bool:
    """Whether a step was carried out that changes main or the job, whatever became of it."""
    return any(
        ended.how == "done" and view.proposal.effects[index].kind in _MOVE_MAIN | _MOVE_JOB
        for view in incident.proposals.values()
        for index, ended in view.done.items()
    )


def _says_something(incident: Incident, proof: Verified) -> bool:
    """Whether a proof says anything of main: not of a branch, nor where neither main nor the job was touched, as by
    the undo of a tag; and trust it says only by evidence that it asked."""
    if proof.moves_waterline == "no" or proof.branch is not None:
        return False
    if proof.moves_waterline == "trusted":
        return bool(proof.evidence) or not proof.passed
    return _does(incident.proposals[proof.proposal], _MOVE_MAIN | _MOVE_JOB)


def _looked_at(proof: Verified) -> set[ProposalId]:
    """What it has proven: nothing where it asked no evidence, for then nobody has looked at what main is now."""
    return {proof.proposal} if proof.evidence else set()


def _does(view: ProposalView, kinds: frozenset[str]) -> bool:
    return any(effect.kind in kinds for effect in view.proposal.effects)


def _may_have_moved(view: ProposalView) -> bool:
    """A refused effect surely did nothing."""
    return any(
        ended.how != "refused" and view.proposal.effects[index].kind in _MOVE_MAIN for index, ended in view.done.items()
    )
