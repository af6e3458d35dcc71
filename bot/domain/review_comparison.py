"""This incident beside earlier ones of the same failure mode: was it quicker, and did the same promise break again?"""

from collections.abc import Collection, Iterable

from bot.domain.entries import Finding
from bot.domain.incident import Incident
from bot.domain.review_entries import EarlierIncident
from bot.domain.review_items import review_items
from bot.domain.review_metrics import Metric, metrics, typical
from bot.domain.spans import span

_KEPT = 5
"""Newest earlier incidents that a review keeps."""


def code_of(incident: Incident) -> str | None:
    """The failure mode that was acted on."""
    decisive = incident.diagnosis.decisive if incident.diagnosis else None
    return decisive[0].code if decisive else None


def earlier_of_the_same_mode(
    incident: Incident, others: Iterable[Incident], findings: Iterable[Finding]
) -> tuple[EarlierIncident, ...]:
    """The newest first. A private incident is compared with by nobody: who reads this need not know of it."""
    code, broken = code_of(incident), {(f.contract, f.term) for f in findings if f.holds is False}
    if code is None:
        return ()
    same = [
        other
        for other in others
        if other.id != incident.id
        and not other.is_private
        and other.opened_at < incident.opened_at
        and code_of(other) == code
    ]
    newest = sorted(same, key=lambda other: other.opened_at, reverse=True)[:_KEPT]
    return tuple(_earlier(other, broken) for other in newest)


def _earlier(other: Incident, broken: Collection[tuple[str, str]]) -> EarlierIncident:
    again = [
        item
        for item in review_items(other)
        if item.finding.holds is False and (item.finding.contract, item.finding.term) in broken
    ]
    return EarlierIncident(
        id=other.id,
        table=other.opened.table,
        opened_at=other.opened_at,
        took={each.name: each.took for each in metrics(other) if each.took is not None},
        broken=tuple(item.finding.term for item in again),
        unsettled=tuple(item.finding.term for item in again if item.settled is None),
    )


def comparison(incident: Incident) -> tuple[str, ...]:
    """Sentences for a reader; the first says how often it was seen. Empty before the review is opened."""
    code, earlier = code_of(incident), incident.earlier
    if incident.review is None or code is None:
        return ()
    if not earlier:
        return (f"{code} was not seen before.",)
    names = ", ".join(f"{each.id} on {each.table} ({each.opened_at:%Y-%m-%d})" for each in earlier)
    told = [f"{code} was seen before: {names}."]
    times = [_against(metric, earlier) for metric in metrics(incident)]
    told += [text for text in times if text]
    for term in dict.fromkeys(term for each in earlier for term in each.broken):
        where = ", ".join(each.id for each in earlier if term in each.broken)
        left = [each.id for each in earlier if term in each.unsettled]
        rest = f" Nobody has settled it since {left[-1]}." if left else " It was settled then, and broke again."
        told.append(f"“{term.rstrip('.')}” did not hold in {where} either.{rest}")
    return tuple(told)


def _against(metric: Metric, earlier: tuple[EarlierIncident, ...]) -> str | None:
    before = typical([each.took[metric.name] for each in earlier if metric.name in each.took])
    if metric.took is None or before is None:
        return None
    return f"To {metric.name}: {span(metric.took)} now, typically {span(before)} before."
