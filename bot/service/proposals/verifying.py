"""Proves the table after an execution: the same evidence again, on the new head.

Up to which snapshot a table is proven by evidence of which each piece was pinned at its own moment.

What shows that a start has repeated or lost rows, on a main that may hold such rows already.

Who gives a repair up leaves main with its fault: that is no failure of the start. More of it is.

What a repair's branch shows that main shows, too, where the branch began: another fault, which it does not mend.

Two faults of one table are mended one after the other. The first repair is proven beside the second fault where it adds
nothing to it. Main is asked without that allowance once the repair is published, and stays under review.

What is asked of main beside an action's own proofs: what its repair was proven by, and all that accuses the table.

A proof that calls the table trusted ends every doubt that came before it. So it asks each of them again.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.actions._effects import awaited, checks
from bot.actions._effects.handler import Pending
from bot.actions._support.completing import ActionModule
from bot.history.checkpoint_pace import empty_commits_allowed
from bot.incident.action import Action, MovesWaterline
from bot.incident.doubt import ACCUSERS, NO_LOOK_COVERS, accusations, accused, accuses
from bot.incident.effects import ChangeFiles, MakeBranch, PublishBranch, StartFromStop, StartJob
from bot.incident.entries import Body, Check, ExecutionEnded, NoteAdded, VerificationRequested, Verified
from bot.incident.execution import ProposalState, ProposalView
from bot.incident.incident import Incident
from bot.incident.journal import WATERLINE
from bot.incident.proposal import Proposal
from bot.observation.contract import TableContract
from bot.observation.errors import CouldNotLook, Refused
from bot.observation.evidence import Evidence, Verdict, is_held_by_number, no_more_found
from bot.observation.findings import DuplicateFilesFinding, DuplicatesFinding, GapsFinding
from bot.observation.ids import IncidentId, ProposalId, SnapshotId, UserId, short
from bot.observation.sentences import clock_time, counted
from bot.observation.table import TableState
from bot.ports import Clock
from bot.service.evidence_service import EvidenceService
from bot.service.incident_store import IncidentStore, must_be_open
from bot.service.observing import Observer

_PROVEN = {
    "duplicate_rows": "No duplicate rows",
    "missing_positions": "No missing rows",
    "duplicate_files": "No duplicate files",
    "missing_files": "All files of the head exist",
    "unreadable_files": "All files of the window exist with the right size",
}
"""Of each task that can accuse main, what it has proven when it rules out."""
_UNDER_REVIEW = "The table stays under review until this is fixed and verified, too."
_LOST = (
    "The table stays under review until these rows are replayed (/waterline propose replay_source_range). If they are "
    "lost for good, notify the consumers and close the incident. Then open one whose last good snapshot is above "
    "the gap, and propose verify_current_state there."
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
    and whatever accuses main. Of a branch nothing: it publishes none, and moves no mark."""
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
    way = _OPEN if check.passed is None else _LOST if task == "missing_positions" else _UNDER_REVIEW
    return check.model_copy(update={"sentence": f"{check.sentence} {way}"})


def nothing_left(incident: Incident, table: TableState) -> Check | None:
    """What accuses main when the proof is written, by a look of somebody else from meanwhile, or by an earlier one that
    no later look covers; None: nothing."""
    found = next(iter(accusations(incident).values()), None)
    left = found or next(iter(accused(incident, table)), None)
    if left is None:
        return None
    said = f"{left.headline} This was found during the verification. {_UNDER_REVIEW}"
    if found is None:
        said = f"{left.headline.rstrip('.')}, at {clock_time(left.at, table.read_at)}. {NO_LOOK_COVERS}"
    return Check(name="No other problem found", passed=False, sentence=said)


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
    effects, done = rehearsal.proposal.effects, rehearsal.applied
    bases = (ended.result["base"] for index, ended in done.items() if isinstance(effects[index], MakeBranch))
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
            was = f"{_number(main) or 0:,} before this repair; {began}, has {has}"
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


def _number(evidence: Evidence) -> int | None:
    """Rows that are there too often, positions that no row carries, or files that are there twice; None where that was
    not told."""
    match evidence.finding:
        case GapsFinding(missing=number) | DuplicatesFinding(extra_rows=number) | DuplicateFilesFinding(count=number):
            return number
    return None


def _counted(evidence: Evidence) -> str:
    number = _number(evidence) or 0
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


def proofs_of_start(action: Action, view: ProposalView) -> tuple[tuple[str, str], ...]:
    """(evidence task, what it proves); none where the proposal starts no job."""
    starts = any(isinstance(effect, StartJob | StartFromStop) for effect in view.proposal.effects)
    return action.proofs_of_start if starts else ()


def counted_before(incident: Incident, view: ProposalView, task: str) -> int | None:
    """Rows that the task's newest answer of main before the execution counts; None where none told."""
    begun = view.execution_started_at
    of_main = [run.evidence for run in incident.runs.values() if run.task == task and run.branch is None]
    before = [each for each in of_main if each is not None and (begun is None or each.at < begun)]
    told = [rows for each in before if (rows := _number(each)) is not None]
    return told[-1] if told else None


def no_more_than_before(check: Check, evidence: Evidence | None, before: int | None) -> Check:
    """`check` of this evidence, passed also where it counts no more rows than `before`; not known where nobody had
    counted before."""
    rows = _number(evidence) if evidence is not None else None
    if evidence is None or rows is None or evidence.verdict is not Verdict.CONFIRMED:
        return check
    if before is None:
        said = f"{check.sentence} Unknown whether this was so before the start: nobody had checked."
        return check.model_copy(update={"passed": None, "sentence": said})
    counted = f"{before:,} such rows were counted before the start, {rows:,} now"
    said = f"{check.sentence} {counted}{': it has added none' if rows <= before else ''}."
    return check.model_copy(update={"passed": rows <= before, "sentence": said})


def proven_head(table: TableState, proofs: Sequence[Evidence]) -> SnapshotId | None:
    """The newest snapshot that every proof has read: each pinned the head of its own moment, and others went on
    committing. The head where there are no proofs; None where one of them read what is no ancestor of the head."""
    missing = {proof.head for proof in proofs}
    if not missing:
        return table.head
    for snapshot in table.chain:
        missing.discard(snapshot.snapshot_id)
        if not missing:
            return snapshot.snapshot_id
    return None


def moved_away(table: TableState, proofs: Sequence[Evidence]) -> Check:
    """The check that fails where there is none."""
    gone = next(proof for proof in proofs if proof.head not in table.chain_ids)
    return Check(
        name="The verified snapshot is still in the table",
        passed=False,
        sentence=f"{gone.question} was checked at {short(gone.head)}, which is no ancestor of "
        f"{short(table.head)}. Somebody moved the table meanwhile.",
    )


_LOOKS = 60
_PAUSE_S = 2.0
_AT_ONCE = timedelta(minutes=2)
"""So long after the execution its proof is waited for without a break; later it is looked at now and then."""
_LONGEST = timedelta(hours=6)
_USUAL_INTERVAL = timedelta(minutes=1)
"""Between checkpoints, where neither Flink nor the contract tells."""


@dataclass(eq=False)
class Verifier:
    """Waits for the first commits of the new run, then asks the evidence tasks."""

    _store: IncidentStore
    _observer: Observer
    _evidence: EvidenceService
    _actions: Mapping[str, ActionModule]
    _clock: Clock
    pause: Callable[[float], None] = time.sleep

    def request(self, incident_id: IncidentId, proposal_id: ProposalId, *, by: UserId) -> None:
        """Ask for the proof anew: it is owed until it is there, and who asks meanwhile gets that one. Raises Refused
        where nothing is left to prove."""

        def decide(incident: Incident) -> list[Body]:
            must_be_open(incident)
            view = incident.proposals[proposal_id]
            if view.state is not ProposalState.APPLIED or (view.verified is not None and view.verified.passed):
                raise Refused("There is nothing to verify again.", f"It is {_state_of(view)}.", "Look at its message.")
            return [] if view.is_proof_asked else [VerificationRequested(proposal=proposal_id)]

        self._store.write(incident_id, by=by, decide=decide)

    def verify(self, incident_id: IncidentId, proposal_id: ProposalId, *, is_asked: bool = False) -> Verified | None:
        """Check everything, journal the result, and return it. None while a run that was started has yet to bring what
        tells, which is noted once: to be called again, until it has or its time is over. Waits up to two minutes after
        the execution. `is_asked`: by a person, who is told what is there now.

        Raises CouldNotLook where the table cannot be read.
        """
        incident = self._store.get(incident_id)
        view = incident.proposals[proposal_id]
        if not is_asked and (lacking := self._wait(incident, view)) is not None:
            until = self._until(incident, view, lacking)
            if self._clock.now() < until:
                self._note(incident_id, view, lacking, until)
                return None
        found = list(checks(self._observer.clients, view))
        proofs: list[Evidence] = []
        action = self._actions[view.proposal.action].action
        branch = view.proposal.rehearses_on
        made = _published_by(view, incident)
        published = made.proposal if made is not None else None
        module = self._actions.get(published.action) if published is not None else None
        repair = module.action if module is not None else None
        moves = self._moves_waterline(view, published)
        contract = self._observer.setup(incident.opened.table).contract
        of_main = proofs_on_main(incident, moves, repair, contract)
        own = dict(action.proofs)  # these come first, and under their own names
        beside = repair.no_more_than_before if repair is not None else ()
        declared = {**own, **(dict(repair.proofs) if repair is not None else {})}
        open_beside: list[Check] = []
        held_against: list[Evidence] = []  # of main: what is proven is the branch
        for task, name in (own | of_main | own).items():
            check, evidence = self._proof(incident_id, task, name, branch)
            proofs += [evidence] if evidence else []
            if branch is not None and task in action.no_more_than_before and check.passed is False and evidence:
                _, main = self._proof(incident_id, task, name, None)
                check = no_more_than_main(check, evidence, main, base_of(view))
                held_against += [main] if main else []
            if check.passed is None and may_stay_open(incident, task, declared, published):
                open_beside.append(left_open(check))
            else:
                is_own = task in own and task not in beside
                says_way = moves == "trusted" or task in beside
                found.append(with_way_out(check, task, is_own=is_own) if says_way else check)
        for task, name in proofs_of_start(action, view):
            check, evidence = self._proof(incident_id, task, name, branch)
            found.append(no_more_than_before(check, evidence, counted_before(incident, view, task)))
            proofs += [evidence] if evidence else []
        table = self._observer.table(incident.opened.table)
        seen = table if branch is None else table.seen_from(branch)
        if seen.head is None:
            raise CouldNotLook(
                f"Branch {branch} of {table.name} is gone.",
                "Expected the branch with the repair; somebody removed it.",
                "Propose the repair again.",
            )
        head = proven_head(seen, proofs)
        if head is None:
            found.append(moved_away(seen, proofs))
        verified = Verified(
            proposal=proposal_id,
            passed=all(check.passed for check in found),
            checks=(*found, *open_beside),
            evidence=tuple(proof.id for proof in (*proofs, *held_against)),
            head=seen.head if head is None else head,
            moves_waterline=moves,
            branch=branch,
        )
        after = self._store.write(incident_id, by=WATERLINE, decide=lambda now: self._once(now, verified, table))
        return after.proposals[proposal_id].verified

    def _moves_waterline(self, view: ProposalView, published: Proposal | None) -> MovesWaterline:
        """What its proof says of the table. Of a rehearsal, nothing; of a repair that is `published`, what the action
        that made it says: one which proves no more than its bounds does not make the table trusted; nor does one
        that left rows of others out."""
        if view.proposal.rehearses_on is not None:
            return "no"
        if view.proposal.preview.others:
            return "under-review"
        action = self._actions.get((published or view.proposal).action)
        return action.action.moves_waterline if action is not None else "no"

    def _once(self, incident: Incident, verified: Verified, table: TableState) -> list[Body]:
        known = incident.proposals[verified.proposal].verified
        if known is not None and known.passed:
            return []
        left = nothing_left(incident, table) if verified.makes_trusted else None
        if left is None:
            return [verified]
        return [verified.model_copy(update={"passed": False, "checks": (*verified.checks, left)})]

    def _wait(self, incident: Incident, view: ProposalView) -> Pending | None:
        """What is needed and not there yet, once two minutes have gone since the execution; None where the checks can
        tell. Asked anew each time: an operator tells only after a while under which id it started the run."""
        ended, open_ones = _ended_at(incident, view), awaited(self._observer.clients, view)
        for _ in range(_LOOKS):
            if not open_ones or self._clock.now() - ended >= _AT_ONCE:
                break
            self.pause(_PAUSE_S)
            open_ones = awaited(self._observer.clients, view)
        return next((each for each in open_ones if each.is_needed), None)

    def _until(self, incident: Incident, view: ProposalView, lacking: Pending) -> datetime:
        """How long that is waited for: until the sink must have committed, were every checkpoint without files, twice
        over; at most six hours."""
        every = lacking.every or self._observer.setup(incident.opened.table).contract.commit_every or _USUAL_INTERVAL
        silent = min(empty_commits_allowed(self._observer.table(incident.opened.table).properties) + 1, 1000)
        return _ended_at(incident, view) + _AT_ONCE + min(2 * silent * min(every, _LONGEST), _LONGEST)

    def _note(self, incident_id: IncidentId, view: ProposalView, lacking: Pending, until: datetime) -> None:
        """Once for each state in which it is found."""
        began = f"“{view.proposal.title}” is not verified yet: {lacking.sentence.partition('. ')[0].rstrip('.')}."
        text = (
            f"“{view.proposal.title}” is not verified yet: {lacking.sentence} Waterline verifies it as soon as "
            f"possible, at {clock_time(until)} at the latest."
        )

        def is_new(now: Incident) -> bool:
            notes = (entry.body.text for entry in now.entries if isinstance(entry.body, NoteAdded))
            return not any(note.startswith(began) for note in notes)

        self._store.append_if(incident_id, [NoteAdded(text=text)], is_new)

    def _proof(
        self, incident_id: IncidentId, task: str, name: str, branch: str | None
    ) -> tuple[Check, Evidence | None]:
        try:
            evidence = self._evidence.run_now(incident_id, task, branch)
        except (CouldNotLook, Refused) as error:
            return Check(name=name, passed=None, sentence=str(error)), None
        return checked(name, evidence), evidence


def _state_of(view: ProposalView) -> str:
    return "already verified" if view.verified is not None and view.verified.passed else view.state.value


def _published_by(view: ProposalView, incident: Incident) -> ProposalView | None:
    """The rehearsal whose branch the proposal makes main; None where it publishes none."""
    published = {effect.branch for effect in view.proposal.effects if isinstance(effect, PublishBranch)}
    made = [each for each in incident.proposals.values() if each.proposal.rehearses_on in published]
    return made[-1] if made else None


def _ended_at(incident: Incident, view: ProposalView) -> datetime:
    """When it was carried out to its end."""
    return next(
        entry.at
        for entry in reversed(incident.entries)
        if isinstance(entry.body, ExecutionEnded) and entry.body.proposal == view.proposal.id
    )
