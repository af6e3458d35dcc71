"""Incident -> its account: the record for programs. Everything in it follows from the entries alone."""

from collections.abc import Callable

from bot.actions._effects import describe
from bot.domain import record_account as r
from bot.domain.execution import ProposalView
from bot.domain.incident import Incident
from bot.domain.review import metrics, review_items
from bot.domain.timeline import sentence
from bot.service.ledger_view import ledger_view

Plain = Callable[[str], str]
"""A text of ours with people by name."""


def account(incident: Incident, person: Callable[[str | None], str], plain: Plain) -> r.Account:
    """`person`: a user id -> the name that is shown."""
    opened, diagnosis = incident.opened, incident.diagnosis
    return r.Account(
        id=incident.id,
        table=opened.table,
        job=opened.job,
        runbook=f"{opened.runbook.title} (digest {opened.runbook.digest[:12]})",
        summary=plain(opened.summary),
        state="open" if incident.is_open else "closed",
        opened_at=incident.opened_at,
        opened_by=person(incident.opened_by),
        closed_at=incident.closed_at,
        closed_reason=None if incident.closed_reason is None else plain(incident.closed_reason),
        trusted=incident.trusted,
        is_proven=incident.waterline is not None and incident.waterline.status == "trusted",
        took={each.name: None if each.took is None else each.took.total_seconds() for each in metrics(incident)},
        causes=tuple(
            r.Cause(code=mode.code, title=mode.title, headline=match.headline, reasons=match.reasons)
            for mode, match in (diagnosis.matches if diagnosis else ())
        ),
        ledger=_ledger(incident),
        evidence=_evidence(incident, person),
        decisions=tuple(_decision(view, person) for view in incident.proposals.values()),
        notices=tuple(
            r.Told(
                kind=view.notice.kind,
                consumer=view.notice.consumer,
                text=view.notice.text,
                how=view.ended.how if view.ended else None,
            )
            for view in incident.notices.values()
        ),
        review=None if incident.review is None else _review(incident, person, plain),
        contract_snippet=incident.snippet,
        timeline=tuple(
            r.Happened(seq=e.seq, at=e.at, by=person(e.by), says=plain(sentence(e))) for e in incident.entries
        ),
    )


def _ledger(incident: Incident) -> tuple[r.Commit, ...]:
    view = ledger_view(incident)
    return tuple(
        r.Commit(
            snapshot=row.snapshot_id,
            committed_at=row.committed_at,
            writer=row.sink.value,
            run=row.job_id,
            checkpoint=None if row.checkpoint_id is None else str(row.checkpoint_id),
            added_rows=row.added_rows,
            removed_rows=row.removed_rows,
            is_taken_back=row.snapshot_id in view.taken_back,
            skipped=tuple(each.words for each in row.skipped),
            read_by=tuple(dict.fromkeys(run.consumer for run in row.readers)),
        )
        for row in (view.rows if view else ())
        if view is not None
    )


def _evidence(incident: Incident, person: Callable[[str | None], str]) -> tuple[r.Asked, ...]:
    return tuple(
        r.Asked(
            task=f"{run.task} v{run.evidence.task_version}",
            question=run.evidence.question,
            verdict=run.evidence.verdict.value,
            headline=run.evidence.headline,
            at=run.evidence.at,
            by=person(run.by),
            metadata_location=run.evidence.metadata_location,
            measures={m.name: f"{m.value:g} {m.unit}" for m in run.evidence.measures},
        )
        for run in incident.runs.values()
        if run.evidence is not None
    )


def _decision(view: ProposalView, person: Callable[[str | None], str]) -> r.Decision:
    proposal = view.proposal
    steps = []
    for index, effect in enumerate(proposal.effects):
        ended, begun = view.done.get(index), index in view.started
        became = f"{ended.how}. {ended.detail}" if ended else ("started, end unknown" if begun else "not begun")
        steps.append(f"{describe(effect)}: {became}")
    return r.Decision(
        id=proposal.id,
        title=proposal.title,
        state=view.state.value,
        because=proposal.because,
        digest=proposal.digest,
        proposed_by=person(proposal.proposed_by),
        approved_by=tuple(person(given.by) for given in view.approvals if given.digest == proposal.digest),
        steps=tuple(steps),
        outcome=f"{view.result.outcome}: {view.result.sentence}" if view.result else None,
        checks={check.name: check.passed for check in (view.verified.checks if view.verified else ())},
    )


def _review(incident: Incident, person: Callable[[str | None], str], plain: Plain) -> tuple[r.Term, ...]:
    items = {item.number: item for item in review_items(incident)}
    told = []
    for number, finding in enumerate(incident.review or (), start=1):
        item = items.get(number)
        told.append(
            r.Term(
                contract=finding.contract,
                term=finding.term,
                observed=plain(finding.observed),
                holds=finding.holds,
                action=plain(finding.action),
                owner=person(item.owner) if item and item.owner else None,
                due=item.due if item else None,
                settled=f"{item.settled.how}: {plain(item.settled.reason)}" if item and item.settled else None,
            )
        )
    return tuple(told)
