"""Tells each consumer what the incident means for them: previewed as sent, sent once."""

import hashlib
from collections.abc import Mapping
from datetime import timedelta

from bot.domain.entries import Body, NoticeEnded, NoticeQueued, NoticesPreviewed, StepDone
from bot.domain.errors import Refused
from bot.domain.evidence import Verdict
from bot.domain.ids import IncidentId, StepId, UserId
from bot.domain.incident import Incident
from bot.domain.looked import NotSeen, Seen
from bot.domain.notice import Notice
from bot.domain.reads import Consumer, ReadRun
from bot.domain.table import TableState
from bot.notices import NoticeTemplate, facts_for, render
from bot.ports import Clock
from bot.service.incident_store import IncidentStore, must_be_open
from bot.service.observing import Observer

REPEATED = frozenset({"update"})
"""Kinds of notice that may be sent again, each time as a further revision; the others are sent once."""


class Telling:
    """Renders and queues notices; the outbox sends them."""

    def __init__(
        self,
        store: IncidentStore,
        observer: Observer,
        templates: Mapping[str, NoticeTemplate],
        clock: Clock,
    ) -> None:
        self._store = store
        self._observer = observer
        self._templates = templates
        self._clock = clock

    def owes_first_warning(self, incident: Incident) -> bool:
        """Whether consumers are still unwarned although the responder has had time to look at the preview.

        Of a private incident nobody is told unless a responder asks for it.
        """
        setup = self._observer.setup(incident.opened.table)
        due = incident.opened_at + timedelta(minutes=setup.warn_after_minutes)
        warned = any(view.notice.kind == "first_warning" for view in incident.notices.values())
        return not incident.is_private and not warned and self._clock.now() >= due

    def preview(self, incident_id: IncidentId, kind: str) -> tuple[Notice, ...]:
        """What each declared consumer would be sent now; these very texts. Raises Refused, CouldNotLook."""
        template = self._templates.get(kind)
        if template is None:
            raise Refused(
                f"There is no notice {kind}.", f"Known are: {', '.join(self._templates)}.", "Use one of these."
            )
        incident = self._store.get(incident_id)
        _refuse_false_comfort(incident, kind)
        observation = self._observer.observe(incident.opened.table, window=incident.window)
        setup = self._observer.setup(incident.opened.table)
        return tuple(
            self._notice(incident, template, consumer, observation.table, observation.reads, setup.next_update_minutes)
            for consumer in setup.consumers
        )

    def send(
        self, incident_id: IncidentId, notices: tuple[Notice, ...], *, by: str, step: StepId | None
    ) -> tuple[Notice, ...]:
        """Queue previewed notices; those queued before are left alone. Returns the newly queued ones."""
        queued: list[Notice] = []

        def decide(incident: Incident) -> list[Body]:
            queued[:] = [n for n in notices if n.key(incident_id) not in incident.notices]
            bodies: list[Body] = [NoticeQueued(notice=notice) for notice in queued]
            if step is not None and step not in incident.outcomes:
                names = ", ".join(n.consumer for n in notices) or "nobody: no consumer is declared"
                bodies.append(StepDone(step=step, key="sent", why=f"told {names}"))
            return bodies

        self._store.write(incident_id, by=by, decide=decide)
        return tuple(queued)

    def keep_preview(self, incident_id: IncidentId, kind: str, *, by: UserId) -> tuple[str, tuple[Notice, ...]]:
        """(name, notices): what is previewed is put on record under its name, so that exactly this is sent, by
        whichever replica the answer reaches. Raises Refused when the incident has ended."""
        notices = self.preview(incident_id, kind)
        name = hashlib.sha256("".join(n.model_dump_json() for n in notices).encode()).hexdigest()[:16]

        def decide(incident: Incident) -> list[Body]:
            must_be_open(incident)
            return [] if not notices or name in incident.previews else [NoticesPreviewed(name=name, notices=notices)]

        return name, self._store.write(incident_id, by=by, decide=decide).previews.get(name, ())

    def send_preview(
        self, incident_id: IncidentId, name: str, *, by: UserId, step: StepId | None
    ) -> tuple[Notice, ...]:
        """Queue what was previewed under this name. Raises Refused if nothing was."""
        notices = self._store.get(incident_id).previews.get(name)
        if notices is None:
            raise Refused(
                "This preview is not known.",
                "What is sent is exactly what was previewed, and the record has no such preview.",
                "Preview the notices again. Nothing was sent.",
            )
        return self.send(incident_id, notices, by=by, step=step)

    def ended(self, incident_id: IncidentId, key: str, *, how: str, detail: str) -> None:
        """Note that Slack took a notice, or never will."""
        body = NoticeEnded.model_validate({"key": key, "how": how, "detail": detail})

        def decide(incident: Incident) -> list[Body]:
            view = incident.notices.get(key)
            return [body] if view is not None and view.ended is None else []

        self._store.write(incident_id, by="waterline", decide=decide)

    def _notice(
        self,
        incident: Incident,
        template: NoticeTemplate,
        consumer: Consumer,
        table: TableState,
        reads: Seen[ReadRun] | NotSeen,
        next_update_minutes: int,
    ) -> Notice:
        facts = facts_for(
            incident, consumer, table, reads, now=self._clock.now(), next_update_minutes=next_update_minutes
        )
        earlier = [
            v.notice
            for v in incident.notices.values()
            if v.notice.kind == template.kind and v.notice.consumer == consumer.name
        ]
        if earlier and template.kind not in REPEATED:
            return earlier[-1]
        return Notice(
            kind=template.kind,
            revision=len(earlier) + 1,
            consumer=consumer.name,
            channel=consumer.channel,
            text=render(template, facts),
        )


def _refuse_false_comfort(incident: Incident, kind: str) -> None:
    """`no action needed` may not be said while evidence shows damage."""
    if kind != "no_action_needed":
        return
    for task in ("duplicate_rows", "missing_positions"):
        run = incident.latest.get(task)
        if run is not None and run.evidence is not None and run.evidence.verdict is Verdict.CONFIRMED:
            raise Refused(
                "Consumers cannot be told that nothing is wrong.",
                f"The newest evidence says otherwise: {run.evidence.headline}",
                "Recover the table first, or run the evidence again if it is out of date.",
            )
