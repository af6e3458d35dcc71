"""Tells each consumer what the incident means for them: previewed as sent, sent once.

What consumers answer to a notice in Slack; the responder is asked to look at a call for help.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bot.incident.approval import ApprovalPolicy
from bot.incident.delivery import NoticeView
from bot.incident.entries import Body, CorrectionDeclined, NoticeAnswered, NoticesPreviewed, ReadersNoted
from bot.incident.incident import Incident
from bot.incident.notice import AFTER_CLOSE, Answer, Notice, WorkState
from bot.incident.savepoints import asked_state, refuse_unseen_end, refuse_untimely
from bot.incident.trust_claims import WORDS, ConcurrentDoubts, CorrectionDue, corrections_due, refuse_other_trust
from bot.notices import NoticeTemplate, data_of, facts_for, observed_readers, render, why_unknown
from bot.notices.affecting import affected_commits
from bot.notices.reading import FarReads
from bot.observation.errors import Refused
from bot.observation.evidence import Observation
from bot.observation.ids import IncidentId, StepId, UserId
from bot.observation.ledger import LedgerRow
from bot.observation.readers import Consumer
from bot.ports import Clock, Directory
from bot.service.diagnosing import OtherDoubts
from bot.service.incident_store import IncidentStore, must_be_open
from bot.service.notices.policy import (
    is_said_already,
    left_to_tell,
    refuse_false_comfort,
    refuse_missing_words,
    sent_or_held,
    unknown_notice,
)
from bot.service.observing import NewerCommits, Observer, readers_since
from bot.service.proposals.approving import membership_of


@dataclass(frozen=True)
class Preview:
    """What each declared consumer would be sent, and who was seen reading."""

    notices: tuple[Notice, ...]
    readers: ReadersNoted


@dataclass(eq=False)
class Telling:
    """Renders and queues notices; Slack's outbox and the dispatcher send them."""

    _store: IncidentStore
    _observer: Observer
    templates: Mapping[str, NoticeTemplate]
    _clock: Clock
    _newer: NewerCommits
    _others: OtherDoubts
    _directory: Directory

    def preview(
        self, incident_id: IncidentId, kind: str, words: str = "", *, only: frozenset[str] | None = None
    ) -> Preview:
        """What each declared consumer would be sent now; these very texts. `planned_work` may name its state:
        `planned_work off`. `only`: to these consumers. Raises Refused, CouldNotLook."""
        incident = self._store.get(incident_id)
        kind, work = asked_state(incident, kind)
        template = self.templates.get(kind)
        if template is None:
            raise unknown_notice(kind, self.templates)
        refuse_missing_words(template, words)
        refuse_false_comfort(incident, kind)
        refuse_untimely(incident, work)
        setup = self._observer.setup(incident.opened.table)
        left = left_to_tell(incident, setup, kind)
        told = [each for each in left if only is None or each.name in only]
        observation = self._observer.observe(incident.opened.table, window=incident.window)
        refuse_unseen_end(incident, work, observation)
        since = readers_since(observation.table, incident.window)
        far = self._observer.far_reads_since(observation.table, since)
        newer, around = self._newer.rows(incident, observation, setup.contract), self._others.of(incident)
        notices = tuple(
            self._notice(incident, template, consumer, observation, far, newer, words, around, work)
            for consumer in told
        )
        refuse_other_trust(incident, notices, around)
        affected = affected_commits(incident, observation.table)
        declared = [consumer.name for consumer in setup.consumers]
        readers = ReadersNoted(
            observed=observed_readers(declared, affected, observation.reads, far),
            unknown=why_unknown(affected, observation.reads, far),
            untold=setup.untold,
        )
        return Preview(notices=notices, readers=readers)

    def send(
        self,
        incident_id: IncidentId,
        preview: Preview,
        *,
        by: str,
        step: StepId | None,
        if_still: Callable[[Incident], bool] = lambda _incident: True,
    ) -> tuple[Notice, ...]:
        """Queue what was rendered just now, or ask for a second person where a policy names one. Do nothing where
        `if_still` does not hold any more, for rendering takes seconds. Returns what is queued."""
        name = _name_of(preview.notices)
        self._keep(incident_id, name, preview, by=by, is_shown=self._policy(incident_id, preview.notices) is not None)
        return self._send(incident_id, name, preview.notices, by=by, step=step, if_still=if_still)

    def keep_preview(
        self, incident_id: IncidentId, kind: str, *, by: UserId, words: str = "", only: frozenset[str] | None = None
    ) -> tuple[str, tuple[Notice, ...]]:
        """(name, notices): what is previewed is put on record under its name, so that exactly this is sent, by
        whichever replica the answer reaches. Raises Refused when there is nothing to be told any more."""
        preview = self.preview(incident_id, kind, words, only=only)
        name = _name_of(preview.notices)
        return name, self._keep(incident_id, name, preview, by=by, is_shown=True).previews.get(name, ())

    def send_preview(
        self, incident_id: IncidentId, name: str, *, by: UserId, step: StepId | None
    ) -> tuple[Notice, ...]:
        """Queue exactly what was previewed under this name; where a policy asks for a second person, ask for one first,
        and queue when one comes. Raises Refused."""
        notices = self._store.get(incident_id).previews.get(name)
        if notices is None:
            raise Refused(
                "This preview is not on record.",
                "Only a recorded preview can be sent.",
                "Preview the notices again. Nothing was sent.",
            )
        return self._send(incident_id, name, notices, by=by, step=step)

    def preview_correction(self, incident_id: IncidentId, *, by: UserId) -> tuple[str, tuple[Notice, ...]]:
        """As `keep_preview`, for the consumers who are due for a correction; where the table is proven again since,
        `recovered` for those. Raises Refused where nobody is due."""
        due = _must_be_due(self._store.get(incident_id))
        proven = [each for each in due if each.why == "proven-again"]
        if proven:
            return self.keep_preview(incident_id, "recovered", by=by, only=frozenset(each.consumer for each in proven))
        words = " ".join(dict.fromkeys(WORDS[each.why] for each in due))
        return self.keep_preview(
            incident_id, "correction", by=by, words=words, only=frozenset(each.consumer for each in due)
        )

    def decline_correction(self, incident_id: IncidentId, reason: str, *, by: UserId) -> None:
        """A person says why nobody who is due for a correction needs one. Raises Refused without a reason, or where
        nobody is due."""
        if not reason.strip():
            raise Refused("No reason was given.", "The record says why no correction is sent.", "Write one sentence.")

        def decide(incident: Incident) -> list[Body]:
            consumers = tuple(each.consumer for each in _must_be_due(incident))
            return [CorrectionDeclined(consumers=consumers, reason=reason.strip())]

        self._store.write(incident_id, by=by, decide=decide)

    def _keep(self, incident_id: IncidentId, name: str, preview: Preview, *, by: str, is_shown: bool) -> Incident:
        def decide(incident: Incident) -> list[Body]:
            if not any(notice.kind in AFTER_CLOSE for notice in preview.notices):
                must_be_open(incident)
            bodies: list[Body] = []
            if is_shown and preview.notices:
                bodies.append(NoticesPreviewed(name=name, notices=preview.notices))
            if preview.readers != incident.readers:
                bodies.append(preview.readers)
            return bodies

        return self._store.write(incident_id, by=by, decide=decide)

    def _send(
        self,
        incident_id: IncidentId,
        name: str,
        notices: tuple[Notice, ...],
        *,
        by: str,
        step: StepId | None,
        if_still: Callable[[Incident], bool] = lambda _incident: True,
    ) -> tuple[Notice, ...]:
        known = self._store.get(incident_id)
        before, around, policy = set(known.notices), self._others.of(known), self._policy(incident_id, notices)
        held = known.held.get(name)
        asked = held.held.policy.approvers if held is not None else ()
        membership = membership_of(self._directory.members, asked, by)

        def decide(incident: Incident) -> list[Body]:
            if not if_still(incident):
                return []
            refuse_other_trust(incident, notices, around)
            return sent_or_held(
                incident, name, notices, policy, step, by=by, membership=membership, now=self._clock.now()
            )

        after = self._store.write(incident_id, by=by, decide=decide)
        return tuple(n for n in notices if n.key(incident_id) in after.notices and n.key(incident_id) not in before)

    def _policy(self, incident_id: IncidentId, notices: tuple[Notice, ...]) -> ApprovalPolicy | None:
        incident = self._store.get(incident_id)
        setup = self._observer.setup(incident.opened.table)
        return setup.policy_for_notice(notices[0].kind, incident.severity) if notices else None

    def _notice(
        self, incident: Incident, template: NoticeTemplate, consumer: Consumer, seen: Observation, far: FarReads,
        newer: Sequence[LedgerRow], words: str, around: ConcurrentDoubts, work: WorkState | None,
    ) -> Notice:  # fmt: skip
        earlier = [
            view
            for view in incident.notices.values()
            if view.notice.kind == template.kind and view.notice.consumer == consumer.name
        ]
        if is_said_already(template.kind, earlier, incident):
            return earlier[-1].notice
        setup = self._observer.setup(incident.opened.table)
        facts = facts_for(
            incident, consumer, seen.table, seen.reads, far, kind=template.kind, now=self._clock.now(),
            contract=setup.contract, next_update_minutes=setup.next_update_minutes, words=words, newer=newer,
            titles={kind: each.title for kind, each in self.templates.items()}, team=setup.team, around=around,
            work=work,
        )  # fmt: skip
        return Notice(
            kind=template.kind,
            revision=len(earlier) + 1,
            consumer=consumer.name,
            channel=consumer.channel or "",
            text=render(template, facts),
            title=template.title,
            ways=consumer.ways,
            answers=template.answers,
            severity=incident.severity,
            words=words,
            data=data_of(facts, template.kind),
        )


def _must_be_due(incident: Incident) -> tuple[CorrectionDue, ...]:
    due = corrections_due(incident)
    if not due:
        raise Refused(
            "No consumer needs a correction.",
            "Somebody already sent it or declined it.",
            "The incident's card shows who was notified. Nothing was sent.",
        )
    return due


def _name_of(notices: tuple[Notice, ...]) -> str:
    return hashlib.sha256("".join(n.model_dump_json() for n in notices).encode()).hexdigest()[:16]


_SAID = {
    "acknowledged": "that you have seen it",
    "re-ran": "that you have run again",
    "needs-help": "that you need help with this",
}
_NOTED = {
    "acknowledged": "Thank you. Recorded: you have seen this.",
    "re-ran": "Thank you. Recorded: you have run again.",
    "needs-help": "The responders are notified and answer in this channel.",
}


class Answering:
    """Puts answers on record. An incident that is closed still takes them: people come back in the morning."""

    def __init__(self, store: IncidentStore) -> None:
        self._store = store

    def answer(self, incident_id: IncidentId, seq: int, answer: Answer, *, by: str, text: str = "") -> str:
        """One answer to the notice that entry `seq` queued; returns what the person reads. Raises Refused when a call
        for help says nothing, or when the same person said the same before."""
        if answer == "needs-help" and not text.strip():
            raise Refused("Your request is empty.", "", "Write one sentence: what is blocked?")

        def decide(incident: Incident) -> list[Body]:
            view = notice_of(incident, seq)
            if answer not in view.notice.answers:
                raise Refused("This notice does not ask for that.", "", "Use one of its buttons.")
            if _is_known(view, answer, by, text.strip()):
                more = (
                    "If it is worse now, describe what changed."
                    if answer == "needs-help"
                    else ("Nothing more is needed.")
                )
                raise Refused(f"It is on record already {_SAID[answer]}.", "", more)
            asks = incident.responder if answer == "needs-help" else None
            return [NoticeAnswered(key=view.key, answer=answer, text=text.strip(), asks=asks)]

        self._store.write(incident_id, by=by, decide=decide)
        return _NOTED[answer]


def _is_known(view: NoticeView, answer: Answer, by: str, text: str) -> bool:
    """A call for help in other words is another one."""
    same = [each for each in view.answers if each.by == by and each.answer == answer]
    return any(each.text == text for each in same) if answer == "needs-help" else bool(same)


def notice_of(incident: Incident, seq: int) -> NoticeView:
    """The notice that entry `seq` queued. Raises Refused."""
    view = next((each for each in incident.notices.values() if each.seq == seq), None)
    if view is None:
        raise Refused("This notice is not part of the incident.", "", "Use the buttons of the newest notice.")
    return view
