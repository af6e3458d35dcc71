"""The contract review: every promised term, and each that recovery relies on, against what was observed in the
incident; who repairs what broke, until when, and whether it is done.

A term that was broken during the incident counts as broken, also when the repair has restored it since. Where nobody
asked for evidence, nothing is known of what it tells.

How long an incident took, from the first wrong commit to the word that reached the consumers.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from bot.incident.approval import mentions
from bot.incident.contract_terms import cadence_term, fresh_term, in_order, observed_terms, term
from bot.incident.diagnosis import Matches
from bot.incident.entries import Diagnosed, Finding, FindingSettled, NoticeEnded, Verified
from bot.incident.execution import ProposalView
from bot.incident.incident import Incident
from bot.incident.setup import TableSetup
from bot.observation.contract import TableContract
from bot.observation.evidence import Evidence, Observation, Verdict
from bot.observation.findings import (
    ContractAgreementFinding,
    FreshnessFinding,
    LateRowsFinding,
    LedgerFinding,
    SchemaDriftFinding,
    Term,
)
from bot.observation.ids import UserId
from bot.observation.ledger import LedgerRow
from bot.observation.record import Record
from bot.observation.sentences import clock_time, span


def review(incident: Incident, observation: Observation, contract: TableContract) -> tuple[Term, ...]:
    """Each term: state, checkpoints, the table, and how it was decided. `holds` None: could not be told.

    *source*: this look at table, Flink and storage, and the evidence that the incident has; none is collected for it,
    so what only rows tell and nobody asked for is said to be not observed.
    """
    drifts = (each.finding for each in _answers(incident) if isinstance(each.finding, SchemaDriftFinding))
    left_null = frozenset(name for drift in drifts for name in drift.all_null)
    found = (
        *observed_terms(observation, contract, incident.trusted, left_null),
        *_of_evidence(incident, contract),
        cadence_term(observation.table, incident.window.since, contract.commit_every),
    )
    return (*in_order(_beside_then(incident, found)), *_decisions(incident))


def charged(terms: Iterable[Term], incident: Incident, setup: TableSetup, *, at: datetime) -> tuple[Finding, ...]:
    """Each that did not hold gets a day, from `at` on, and an owner: by configuration, else who answers for the table
    by its contract, else the responder. How it was approved is no matter of the table's team."""
    someone = incident.responder or incident.opened_by
    team = setup.team.answering(at.date()) if setup.team is not None else None

    def owner(term: Term) -> UserId:
        by_contract = None if term.contract == "approval" else team
        return setup.review_owners.get(term.contract) or by_contract or UserId(someone)

    return tuple(
        Finding(**vars(each), owner=owner(each), due=at + setup.review_due)
        if each.holds is False
        else Finding(**vars(each))
        for each in terms
    )


@dataclass(frozen=True)
class ReviewItem:
    """One term that did not hold, or that nobody could tell."""

    number: int
    """Place among the findings of the newest review, from 1."""
    finding: Finding
    owner: UserId | None
    due: datetime | None
    settled: FindingSettled | None

    @property
    def is_open(self) -> bool:
        """Whether somebody still has to do something by a day."""
        return self.settled is None and self.due is not None

    def is_overdue(self, now: datetime) -> bool:
        return self.is_open and self.due is not None and self.due < now


def review_items(incident: Incident) -> tuple[ReviewItem, ...]:
    """Those that did not hold first; empty before the review is opened. What held asks for nothing."""
    numbered = [(n, f) for n, f in enumerate(incident.review or (), start=1) if f.holds is not True]
    return tuple(_item(incident, number, f) for number, f in sorted(numbered, key=lambda each: each[1].holds is None))


def open_items(incident: Incident) -> tuple[ReviewItem, ...]:
    return tuple(item for item in review_items(incident) if item.is_open)


def _item(incident: Incident, number: int, finding: Finding) -> ReviewItem:
    key = (finding.contract, finding.term)
    given = incident.assigned.get(key) or finding
    return ReviewItem(
        number=number, finding=finding, owner=given.owner, due=given.due, settled=incident.settled.get(key)
    )


def _answers(incident: Incident, task: str | None = None) -> list[Evidence]:
    """Of the incident, on main, oldest first."""
    runs = (run for run in incident.runs.values() if run.branch is None and task in (None, run.task))
    return [run.evidence for run in runs if run.evidence is not None]


def _beside_then(incident: Incident, terms: Iterable[Term]) -> list[Term]:
    """Each term as it is now, with what `contract_agreement` told of it during the incident, where it was asked.

    Broken then is broken. What cannot be told now, and held then, held as far as anybody looked.
    """
    told: dict[tuple[str, str], list[tuple[datetime, Term]]] = {}
    for each in _answers(incident):
        for then in each.finding.terms if isinstance(each.finding, ContractAgreementFinding) else ():
            told.setdefault((then.contract, then.term), []).append((each.at, then))
    return [_beside(now, told.get((now.contract, now.term), ()), incident.opened_at) for now in terms]


def _beside(now: Term, told: Sequence[tuple[datetime, Term]], opened_at: datetime) -> Term:
    broken = next((each for each in told if each[1].holds is False), None)
    held = next((each for each in reversed(told) if each[1].holds), None)
    decides = broken if now.holds is not False and broken else (held if now.holds is None else None)
    if decides is None:
        return now
    at, then = decides
    observed = f"At {clock_time(at, opened_at)}: {then.observed} At the review: {now.observed}"
    action = now.action if now.holds is None else then.action or "Check that the repair lasts."
    return term(now.contract, now.term, observed, then.holds, action)


def _of_evidence(incident: Incident, contract: TableContract) -> Iterator[Term]:
    """The terms of which evidence of their own tells."""
    told = partial(_told_by, incident)
    one_row = f"One row per key ({', '.join(contract.key) or 'not named'})."
    action = "Make the writer's restore pair with the table, or write with upsert on this key."
    yield term("table", one_row, *told("duplicate_rows", _by_its_verdict), action)
    at = f" ({contract.position})" if contract.position else ""
    action = "Never roll back the table without its job; alert on gaps in the positions."
    if not contract.position:
        action = "Name the position column in the table's contract."
    yield term("table", f"Source positions without holes{at}.", *told("missing_positions", _by_its_verdict), action)
    if (promised := contract.freshness) is not None:
        yield fresh_term(promised, *told("freshness", partial(_is_fresh, promised)))
    if (promised := contract.late_after) is not None:
        in_time = f"No row comes later than {span(promised)} after newer ones."
        action = "Run the evidence `late_rows`. Then fix the source, or agree with the readers on a later promise."
        yield term("table", in_time, *told("late_rows", partial(_is_in_time, promised)), action)


def _told_by(incident: Incident, task: str, judge: Callable[[Evidence], bool | None]) -> tuple[str, bool | None]:
    """(What one task has told, whether the term holds by it). Broken if it ever was; the newest tells how it ended."""
    answers = _answers(incident, task)
    judged = [(each, holds) for each in answers if (holds := judge(each)) is not None]
    if not judged:
        said = f"it answered: {answers[-1].headline}" if answers else "nobody ran it."
        return f"Not observed. The evidence `{task}` shows it; {said}", None
    newest = judged[-1][0]
    first_broken = next((each for each, holds in judged if not holds), None)
    shown = [newest] if first_broken in (None, newest) else [first_broken, newest]
    said = " ".join(
        f"At {clock_time(each.at, incident.opened_at, seconds=True)}: {each.headline}" for each in shown if each
    )
    return said, first_broken is None


def _by_its_verdict(answer: Evidence) -> bool | None:
    return None if answer.verdict is Verdict.INCONCLUSIVE else answer.verdict is Verdict.RULED_OUT


def _is_fresh(promised: timedelta, answer: Evidence) -> bool | None:
    told = answer.finding
    age_s = told.event_age_s if isinstance(told, FreshnessFinding) else None
    return None if age_s is None else age_s <= promised.total_seconds()


def _is_in_time(promised: timedelta, answer: Evidence) -> bool | None:
    """Held against what is promised now: the answer may have been given under another promise."""
    told, promised_s = answer.finding, promised.total_seconds()
    if not isinstance(told, LateRowsFinding):
        return None
    if told.worst_s is not None and told.worst_s > promised_s:
        return False
    return True if answer.verdict is not Verdict.INCONCLUSIVE and told.allowed_s <= promised_s else None


def _decisions(incident: Incident) -> Iterator[Term]:
    """One for each proposal that somebody approved alone, and for each outcome that somebody settled; none where the
    policy was followed and the world told what happened."""
    for view in incident.proposals.values():
        if view.glass is not None:
            yield _alone(view)
    for view in incident.proposals.values():
        for said in view.settled:
            effect, became = view.proposal.effects[said.index], "happened" if said.happened else "did not happen"
            observed = (
                f"<@{said.by}> settled at {said.at:%H:%M} UTC that step {said.index + 1} ({effect.kind}) of "
                f"“{view.proposal.title}” {became}: {said.reason}"
            )
            action = (
                "Ask somebody else to check it. Make the cluster remember its runs: use JobManager high availability "
                "or a history server."
            )
            promise = "Waterline itself saw the outcome of each step."
            yield term("approval", promise, observed, False, action)


def _alone(view: ProposalView) -> Term:
    assert view.glass is not None
    given, policy = view.glass.approval, view.proposal.policy
    teams = f" from {policy.teams_asked} teams" if policy.teams_asked else ""
    others = len({each.by for each in view.approvals}) - 1
    observed = (
        f"<@{given.by}> gave an emergency approval at {given.at:%H:%M} UTC to “{view.proposal.title}”, with "
        f"{others} of {policy.required} approvals{teams}: {view.glass.reason}"
    )
    judges = mentions(policy.approvers, (given.by, view.proposal.proposed_by)) or "the owners"
    action = f"Ask {judges} to review it, and fix what kept the approvers from answering."
    return term("approval", "Each change was approved as the table's policy requires.", observed, False, action)


class Metric(Record):
    name: str
    what: str
    """Between which two moments."""
    took: timedelta | None
    """None: one of the moments never came, or is not known."""

    @property
    def words(self) -> str:
        """`4 min 10 s`, or that it is not known."""
        return "not known" if self.took is None else span(self.took)


def metrics(incident: Incident) -> tuple[Metric, ...]:
    """In the order in which they happen."""
    opened = incident.opened_at
    spans = (
        ("detect", "from the first wrong commit to the opening", _between(first_wrong_at(incident), opened)),
        ("diagnose", "from the opening to the diagnosis that was acted on", _between(opened, _diagnosed_at(incident))),
        ("approve", "from the proposal to its last approval", _approval(incident)),
        ("recover", "from the opening to the proof", _between(opened, _proven_at(incident))),
        ("notify", "from the opening to the first notice that arrived", _between(opened, _told_at(incident))),
    )
    return tuple(Metric(name=name, what=what, took=took) for name, what, took in spans)


def first_wrong_at(incident: Incident) -> datetime | None:
    """When the oldest of the wrong commits that the diagnosis shows was committed."""
    decisive = incident.diagnosis.decisive if incident.diagnosis else None
    if decisive is None:
        return None
    return min((row.committed_at for row in _wrong_rows(_ledger_rows(incident), decisive[1])), default=None)


def _wrong_rows(rows: Sequence[LedgerRow], match: Matches) -> Sequence[LedgerRow]:
    """Those that the match shows; where it names a run, only what came after the last good commit: it may show right
    ones beside them, and an older run that is not kept has commits that are right as well. What that run committed
    stands in only where the match shows nothing of it."""
    shown = [row for row in rows if row.snapshot_id in match.rows]
    if match.wrong_run is None:
        return shown
    good = next((row.age for row in rows if row.snapshot_id == match.last_good), None)
    after = [row for row in shown if good is not None and row.age > good]
    theirs = [row for row in rows if row.job_id == match.wrong_run]
    return after or [row for row in theirs if row in shown] or theirs


def _ledger_rows(incident: Incident) -> tuple[LedgerRow, ...]:
    findings = (run.evidence.finding for run in incident.runs.values() if run.evidence is not None)
    return tuple(row for found in findings if isinstance(found, LedgerFinding) for row in found.ledger.rows)


def _diagnosed_at(incident: Incident) -> datetime | None:
    """The first time that the failure mode was named which is named in the end."""
    final = incident.diagnosis.decisive if incident.diagnosis else None
    for entry in incident.entries:
        if isinstance(entry.body, Diagnosed):
            named = entry.body.diagnosis.decisive
            if final is not None and named is not None and named[0].code == final[0].code:
                return entry.at
    return None


def _approval(incident: Incident) -> timedelta | None:
    """Of the newest proposal that was carried out; a rehearsal and its publication are two decisions."""
    begun = [view for view in incident.proposals.values() if view.execution_started_at and view.approvals]
    if not begun:
        return None
    return max(given.at for given in begun[-1].approvals) - begun[-1].proposal.proposed_at


def _proven_at(incident: Incident) -> datetime | None:
    proofs = [e.at for e in incident.entries if isinstance(e.body, Verified) and e.body.passed and not e.body.branch]
    return proofs[-1] if proofs else None


def _told_at(incident: Incident) -> datetime | None:
    arrived = (e.at for e in incident.entries if isinstance(e.body, NoticeEnded) and e.body.how == "delivered")
    return next(arrived, None)


def _between(earlier: datetime | None, later: datetime | None) -> timedelta | None:
    return None if earlier is None or later is None else max(later - earlier, timedelta(0))
