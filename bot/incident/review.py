"""The contract review: every promised term, and each that recovery relies on, against what was observed in the
incident; who repairs what broke, until when, and whether it is done.

A term that was broken during the incident counts as broken, also when the repair has restored it since. Where nobody
asked for evidence, the commits alone can show that a promise broke, never that it was kept.

How long an incident took, from the first wrong commit to the word that reached the consumers.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median

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
from bot.observation.table import TableState


def review(incident: Incident, observation: Observation, contract: TableContract) -> tuple[Finding, ...]:
    """One finding a term: state, checkpoints, the table, and how it was decided. `holds` None: could not be told.

    *source*: this look at table, Flink and storage, and the evidence that the incident has; none is collected for it,
    so what only rows tell and nobody asked for is said to be not observed.
    """
    table = observation.table
    drifts = (each.finding for each in _answers(incident) if isinstance(each.finding, SchemaDriftFinding))
    left_null = frozenset(name for drift in drifts for name in drift.all_null)
    found = (
        *observed_terms(observation, contract, incident.trusted, left_null),
        *_counted(incident, contract),
        cadence_term(table, incident.window.since, contract.commit_every),
        *([_fresh(incident, table, contract.freshness)] if contract.freshness is not None else []),
        *([_in_time(incident, contract.late_after)] if contract.late_after is not None else []),
    )
    return (*in_order(_beside_then(incident, found)), *_decisions(incident))


def charged(findings: Iterable[Finding], incident: Incident, setup: TableSetup, *, at: datetime) -> tuple[Finding, ...]:
    """Each that did not hold gets a day, from `at` on, and an owner: by configuration, else who answers for the table
    by its contract, else the responder. How it was approved is no matter of the table's team."""
    someone = incident.responder or incident.opened_by
    team = setup.team.answering(at.date()) if setup.team is not None else None

    def owner(finding: Finding) -> UserId:
        by_contract = None if finding.contract == "approval" else team
        return setup.review_owners.get(finding.contract) or by_contract or UserId(someone)

    return tuple(
        finding.model_copy(update={"owner": owner(finding), "due": at + setup.review_due})
        if finding.holds is False
        else finding
        for finding in findings
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


def _beside_then(incident: Incident, findings: Iterable[Finding]) -> list[Finding]:
    """Each finding of now with what `contract_agreement` told of its term during the incident, where it was asked.

    Broken then is broken. What cannot be told now, and held then, held as far as anybody looked.
    """
    told: dict[tuple[str, str], list[tuple[datetime, Term]]] = {}
    for each in _answers(incident):
        for then in each.finding.terms if isinstance(each.finding, ContractAgreementFinding) else ():
            told.setdefault((then.of, then.promise), []).append((each.at, then))
    return [_beside(now, told.get((now.contract, now.term), ()), incident.opened_at) for now in findings]


def _beside(now: Finding, told: Sequence[tuple[datetime, Term]], opened_at: datetime) -> Finding:
    broken = next((each for each in told if each[1].holds is False), None)
    held = next((each for each in reversed(told) if each[1].holds), None)
    decides = broken if now.holds is not False and broken else (held if now.holds is None else None)
    if decides is None:
        return now
    at, then = decides
    observed = f"At {clock_time(at, opened_at)}: {then.observed} At the review: {now.observed}"
    action = now.action if now.holds is None else then.action or "Check that the repair lasts."
    return term(now.contract, now.term, observed, then.holds, action)


def _counted(incident: Incident, contract: TableContract) -> Iterator[Finding]:
    """From all answers of one task: broken if it was ever confirmed; the newest answer tells how it ended."""
    at = f" ({contract.position})" if contract.position else ""
    unnamed = None if contract.position else "Name the position column in the table's contract."
    for task, promise, broken, missing in (
        ("duplicate_rows", f"One row per key ({', '.join(contract.key) or 'not named'}).",
         "Make the writer's restore pair with the table, or write with upsert on this key.", None),
        ("missing_positions", f"Source positions without holes{at}.",
         "Never roll back the table without its job; alert on gaps in the positions.", unnamed),
    ):  # fmt: skip
        answers = [run.evidence for run in incident.runs.values() if run.task == task and run.evidence is not None]
        told = [answer for answer in answers if answer.verdict is not Verdict.INCONCLUSIVE]
        worst = next((answer for answer in told if answer.verdict is Verdict.CONFIRMED), None)
        if not told:
            asked = answers[-1].headline if answers else "Nobody ran this evidence."
            action = missing or f"Run {task.replace('_', ' ')} before the next incident does."
            yield term("table", promise, asked, None, action)
        elif worst is None:
            yield term("table", promise, told[-1].headline, True, "")
        else:
            shown = [worst, *(told[-1:] if told[-1] is not worst else [])]
            said = " ".join(f"At {each.at:%H:%M} UTC: {each.headline}" for each in shown)
            yield term("table", promise, said, False, broken)


def _fresh(incident: Incident, table: TableState, promised: timedelta) -> Finding:
    """Broken if the newest event was ever older, or if no commit brought rows for longer: then it must have been."""
    answers = _answers(incident, "freshness")
    ages = [
        (each.at, timedelta(seconds=each.finding.event_age_s))
        for each in answers
        if isinstance(each.finding, FreshnessFinding) and each.finding.event_age_s is not None
    ]
    quiet = _longest_without_rows(incident, table)
    if ages and (worst := max(ages, key=lambda each: each[1]))[1] > promised:
        later = f" At {clock_time(ages[-1][0], worst[0])} it was {span(ages[-1][1])} old." if ages[-1] != worst else ""
        observed = f"At {clock_time(worst[0], incident.opened_at)} it was {span(worst[1])} old.{later}"
        return fresh_term(promised, observed, False)
    if quiet is not None and (paused := quiet[1] - quiet[0]) > promised:
        since, until = clock_time(quiet[0], quiet[1]), clock_time(quiet[1], incident.opened_at)
        said = f"From {since} to {until}, for {span(paused)}, no commit on main brought rows."
        return fresh_term(promised, said, False)
    if ages:
        looks = "once, and it was" if len(ages) == 1 else f"{len(ages)} times, and it was at most"
        return fresh_term(promised, f"Its age was looked at {looks} {span(max(age for _, age in ages))} old.", True)
    pauses = f" No pause between commits with rows was longer than {span(quiet[1] - quiet[0])}." if quiet else ""
    return fresh_term(promised, f"{_not_observed('freshness', answers)}{pauses}", None)


def _not_observed(task: str, answers: Sequence[Evidence]) -> str:
    said = f"it answered: {answers[-1].headline}" if answers else "nobody ran it."
    return f"Not observed. The evidence `{task}` shows it; {said}"


def _longest_without_rows(incident: Incident, table: TableState) -> tuple[datetime, datetime] | None:
    """(from, until) of the longest time since the window began in which nothing that ever was on main brought rows,
    up to the reading of the metadata; None where no such commit is listed.

    Compactions, deletes, and Flink's empty commits, which say neither of rows nor of files that they added any,
    certainly bring none.
    """
    since = table.by_id.get(incident.window.since) if incident.window.since is not None else None
    times = []
    for commit in (*table.chain, *table.rolled_back):
        said = {"added-records", "added-data-files"} & commit.summary.keys()
        is_empty = commit.summary.get("added-records") == "0" or (commit.job_id is not None and not said)
        is_in_window = since is None or commit.committed_at >= since.committed_at
        if is_in_window and not is_empty and commit.operation not in ("replace", "delete"):
            times.append(commit.committed_at)
    if not times:
        return None
    times.sort()
    return max(pairwise([*times, max(table.read_at, times[-1])]), key=lambda pause: pause[1] - pause[0])


def _in_time(incident: Incident, promised: timedelta) -> Finding:
    """Held against what is promised now: the answer may have been given under another promise."""
    promise = f"No row comes later than {span(promised)} after newer ones."
    action = "Run the evidence `late_rows`. Then fix the source, or agree with the readers on a later promise."
    answers, judged = _answers(incident, "late_rows"), []
    for each in answers:
        if isinstance(found := each.finding, LateRowsFinding):
            is_late = found.worst_s is not None and found.worst_s > promised.total_seconds()
            is_told = each.verdict is not Verdict.INCONCLUSIVE and found.allowed_s <= promised.total_seconds()
            judged += [(each, is_late)] if is_late or is_told else []
    if not judged:
        return term("table", promise, _not_observed("late_rows", answers), None, action)
    shown, is_late = next((each for each in judged if each[1]), judged[-1])
    return term(
        "table", promise, f"At {clock_time(shown.at, incident.opened_at)}: {shown.headline}", not is_late, action
    )


def _decisions(incident: Incident) -> Iterator[Finding]:
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


def _alone(view: ProposalView) -> Finding:
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


DETECT, DIAGNOSE, APPROVE, RECOVER, NOTIFY = "detect", "diagnose", "approve", "recover", "notify"


_WHAT = {
    DETECT: "from the first wrong commit to the opening",
    DIAGNOSE: "from the opening to the diagnosis that was acted on",
    APPROVE: "from the proposal to its last approval",
    RECOVER: "from the opening to the proof",
    NOTIFY: "from the opening to the first notice that arrived",
}


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
    spans = {
        DETECT: _between(first_wrong_at(incident), opened),
        DIAGNOSE: _between(opened, _diagnosed_at(incident)),
        APPROVE: _approval(incident),
        RECOVER: _between(opened, _proven_at(incident)),
        NOTIFY: _between(opened, _told_at(incident)),
    }
    return tuple(Metric(name=name, what=_WHAT[name], took=took) for name, took in spans.items())


def typical(spans: list[timedelta]) -> timedelta | None:
    """The median; None of nothing."""
    return timedelta(seconds=median(each.total_seconds() for each in spans)) if spans else None


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
