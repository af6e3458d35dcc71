"""The findings of a review that ask for something: who mends them, until when, and whether it is done."""

from dataclasses import dataclass
from datetime import datetime

from bot.domain.entries import Finding, FindingSettled
from bot.domain.ids import UserId
from bot.domain.incident import Incident


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
        """Whether it is open past its day."""
        return self.is_open and self.due is not None and self.due < now


def review_items(incident: Incident) -> tuple[ReviewItem, ...]:
    """Those that did not hold first; empty before the review is opened. What held asks for nothing."""
    numbered = [(n, f) for n, f in enumerate(incident.review or (), start=1) if f.holds is not True]
    return tuple(_item(incident, number, f) for number, f in sorted(numbered, key=lambda each: each[1].holds is None))


def open_items(incident: Incident) -> tuple[ReviewItem, ...]:
    """Those that somebody still has to settle."""
    return tuple(item for item in review_items(incident) if item.is_open)


def _item(incident: Incident, number: int, finding: Finding) -> ReviewItem:
    key = (finding.contract, finding.term)
    given = incident.assigned.get(key)
    return ReviewItem(
        number=number,
        finding=finding,
        owner=given.owner if given else finding.owner,
        due=given.due if given else finding.due,
        settled=incident.settled.get(key),
    )
