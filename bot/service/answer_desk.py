"""Answers by link, for those who are told by e-mail or webhook: what they were told, and what they say to it."""

from dataclasses import dataclass

from bot.domain.errors import Refused, UnknownIncident
from bot.domain.incident import Incident
from bot.domain.notice import Answer
from bot.domain.told import AnswerView, NoticeView
from bot.notices.answer_link import AnswerLinks, BadLink, Claim
from bot.ports import Clock
from bot.service.answering import Answering, notice_of
from bot.service.incident_store import IncidentStore

MOST_CHARACTERS = 1000
"""Of what somebody adds."""


@dataclass(frozen=True)
class Asked:
    """What the holder of a link may know: what this one consumer was told of this one incident."""

    claim: Claim
    incident: Incident
    notices: tuple[NoticeView, ...]
    """Newest first, at least one."""

    @property
    def newest(self) -> NoticeView:
        """The one that is answered now."""
        return self.notices[0]

    def said(self, view: NoticeView) -> tuple[AnswerView, ...]:
        """What was answered to it for this consumer, by link or by a program."""
        return tuple(each for each in view.answers if each.by == self.claim.consumer)


class AnswerDesk:
    """Reads links and passes answers on. Looking answers nothing: mail scanners follow every link."""

    def __init__(self, store: IncidentStore, answering: Answering, links: AnswerLinks, clock: Clock) -> None:
        self._store = store
        self._answering = answering
        self._links = links
        self._clock = clock

    def look(self, token: str) -> Asked:
        """What the holder was told: what has reached them, or may have. Raises BadLink, OldLink."""
        claim, incident = self._known(token)
        theirs = (view for view in incident.notices.values() if view.notice.consumer == claim.consumer)
        told = [view for view in theirs if view.may_have_come or view.answers]
        if not told:
            raise _gone(claim)
        return Asked(claim=claim, incident=incident, notices=tuple(reversed(told)))

    def answer(self, token: str, answer: Answer, *, text: str = "", seq: int | None = None) -> str:
        """One answer to the notice that was shown or sent (entry `seq`), else to the newest that has come; what they
        are told of it. A program may have taken a notice whose sending counts as failed: by its number it answers that,
        too. Raises BadLink, OldLink, Refused."""
        claim, incident = self._known(token)
        view = self.look(token).newest if seq is None else notice_of(incident, seq)
        if view.notice.consumer != claim.consumer:
            raise Refused("This notice was not for you.", "", "Open the link of your own notice again.")
        if len(text) > MOST_CHARACTERS:
            raise Refused(
                "That is more than fits.",
                f"Expected at most {MOST_CHARACTERS:,} characters; found {len(text):,}.",
                "Say what stands still in a sentence or two; the rest can be told in the incident's channel.",
            )
        link = self._links.of(claim.incident, claim.consumer, view.queued_at)
        return self._answering.answer(
            claim.incident,
            view.seq,
            answer,
            by=claim.consumer,
            text=link.hidden_in(text).replace(token, "…"),
            via="link",
        )

    def _known(self, token: str) -> tuple[Claim, Incident]:
        claim = self._links.read(token, self._clock.now())
        try:
            return claim, self._store.newest(claim.incident)
        except UnknownIncident as error:
            raise _gone(claim) from error


def _gone(claim: Claim) -> BadLink:
    return BadLink(
        f"Nothing is known here of {claim.incident}.",
        "The link is genuine, but this Waterline's record has no notice that has reached you.",
        "Ask the people who run it; the notice itself says which channel of Slack it is about.",
    )
