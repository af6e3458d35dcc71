"""Notices that a policy holds back until other people have approved them: the very texts that were previewed."""

from datetime import datetime
from functools import partial

from bot.domain.approval import Approval, ApprovalPolicy
from bot.domain.approval_count import mentions, missing, missing_in_words, whom_to_ask
from bot.domain.approval_standing import Membership, is_approver, teams_of
from bot.domain.beside import ALONE, Beside, refuse_other_trust
from bot.domain.clock_time import clock_time
from bot.domain.entries import (
    Body,
    NoticeQueued,
    NoticesDecided,
    NoticesExpired,
    NoticesHeld,
    NoticesReminded,
    StepDone,
)
from bot.domain.errors import CouldNotLook, Refused
from bot.domain.held_times import expires_at, next_due_at, reminder_due_at
from bot.domain.ids import IncidentId, StepId, UserId
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.domain.notice import Notice
from bot.domain.notice_fold import HeldView
from bot.ports import Clock, Directory, Timers
from bot.service.background import Background
from bot.service.incident_store import IncidentStore
from bot.service.incident_timers import IncidentTimers
from bot.service.other_doubts import OtherDoubts
from bot.service.promised_times import refuse_overdue
from bot.service.sending_rules import refuse_to_send
from bot.service.telling_rules import AFTER_CLOSE

REMINDING = "Reminding of notices that wait for approval"
"""What is done when time alone changes something about them."""


class Holding:
    """Approves or turns down what is held."""

    def __init__(self, store: IncidentStore, directory: Directory, clock: Clock, others: OtherDoubts) -> None:
        self._store = store
        self._others = others
        self._directory = directory
        self._clock = clock

    def approve(self, incident_id: IncidentId, name: str, *, by: UserId) -> HeldView:
        """One person's yes; with the last one that is needed the notices are queued. Raises Refused."""
        seen = self._undecided(self._store.get(incident_id), name)
        teams = self._may_decide(seen, by, is_yes=True)
        around = self._others.of(self._store.get(incident_id))

        def decide(incident: Incident) -> list[Body]:
            view = self._still(seen, self._undecided(incident, name))
            refuse_other_trust(incident, incident.previews[name], around)
            policy, now = view.held.policy, self._clock.now()
            if by in view.said_yes:
                needs = f"They need {missing_in_words(policy, view.approvals)}."
                ask = whom_to_ask(policy, view.asked_by, view.approvals)
                raise Refused("You have approved these notices already.", needs, ask)
            refuse_overdue(incident, name, incident.previews[name], now)
            given = Approval(by=by, at=now, digest=name, teams=teams)
            is_complete = missing(policy, (*view.approvals, given)) == (0, 0)
            bodies: list[Body] = [NoticesDecided(name=name, yes=True, complete=is_complete, teams=teams)]
            return bodies + (queued(incident, name, incident.previews[name], view.held.step) if is_complete else [])

        return self._store.write(incident_id, by=by, decide=decide).held[name]

    def turn_down(self, incident_id: IncidentId, name: str, reason: str, *, by: UserId) -> None:
        """One approver's no, or the asker's withdrawal: nothing is sent. Raises Refused."""
        seen = self._undecided(self._store.get(incident_id), name)
        if by != seen.asked_by:
            self._may_decide(seen, by, is_yes=False)
        if not reason.strip():
            raise Refused("A no needs a reason.", "It is what the next preview is written from.", "Write one sentence.")

        def decide(incident: Incident) -> list[Body]:
            self._still(seen, self._undecided(incident, name))
            return [NoticesDecided(name=name, yes=False, complete=True, reason=reason.strip())]

        self._store.write(incident_id, by=by, decide=decide)

    def settle(self, incident_id: IncidentId) -> None:
        """Remind of what waits, and tell the end of what has waited too long. Safe to call at any time, any number of
        times."""
        self._store.write(incident_id, by=WATERLINE, decide=self.due)

    def due(self, incident: Incident) -> list[Body]:
        """What time alone makes of it now, and nobody has put on record."""
        waiting, now = still_waiting(incident), self._clock.now()
        around = self._others.of(incident) if waiting else ALONE
        return [body for view in waiting if (body := _due(incident, view, around, now)) is not None]

    def start(self, timers: Timers, background: Background) -> None:
        """Wake up for reminders and ends from now on."""

        def come(incident_id: IncidentId) -> None:
            background.submit(incident_id, REMINDING, partial(self.settle, incident_id))

        IncidentTimers("held", self._store, timers, next_held_due, come).start()

    def _still(self, seen: HeldView, view: HeldView) -> HeldView:
        """What is decided on: the very asking whose policy was looked at. Raises Refused."""
        if (view.asked_at, view.asked_by) != (seen.asked_at, seen.asked_by):
            asked = f"<@{view.asked_by}> asked for them anew at {clock_time(view.asked_at, self._clock.now())}."
            raise Refused("These notices were asked for again meanwhile.", asked, "Look at them, and decide again.")
        return view

    def _may_decide(self, view: HeldView, by: UserId, *, is_yes: bool) -> tuple[str, ...]:
        """The policy's teams that `by` is in. A no counts for no team, and is one person's. Raises Refused."""
        policy = view.held.policy if is_yes else view.held.policy.model_copy(update={"different_teams": None})
        who = mentions(policy.approvers)
        if by == view.asked_by:
            raise Refused("Whoever asks to send notices does not approve them.", "", f"Ask {who}.")
        membership, why = self._membership(policy, by)
        may = is_approver(policy, by, membership)
        if may is None and why is not None:
            raise Refused(
                "Whether you may approve these notices could not be looked up. Nothing was decided.",
                f"The table's policy names {who}. {why.happened} {why.found}".strip(),
                "Try again, or ask somebody whom the policy names by themselves.",
            ) from why
        if not may:
            raise Refused("You may not approve these notices.", f"The table's policy names {who}.", "Ask one of them.")
        return teams_of(policy, by, membership)

    def _membership(self, policy: ApprovalPolicy, by: UserId) -> tuple[Membership, CouldNotLook | None]:
        """Which of the approvers' groups hold this person now, and why one could not be read."""
        within, unread, why = set(), set(), None
        for group in dict.fromkeys(group for people in policy.approvers for group in people.groups):
            try:
                if by in self._directory.members((group,)):
                    within.add(group)
            except CouldNotLook as error:
                unread.add(group)
                why = error
        return Membership(within=frozenset(within), unread=frozenset(unread)), why

    def _undecided(self, incident: Incident, name: str) -> HeldView:
        view = incident.held.get(name)
        if view is None:
            raise Refused("These notices do not wait for approval.", "", "Look at the newest message in the channel.")
        if view.decided is not None:
            said = "approved" if view.decided.yes else "turned down"
            raise Refused(f"These notices were {said} by <@{view.decided_by}>.", "", "Nothing is left to decide.")
        if view.expired is not None and view.expired.why:
            raise Refused("These notices wait no more.", view.expired.why, "Preview them again. Nothing was sent.")
        if view.expired is not None or self._clock.now() >= expires_at(view):
            raise Refused(
                "These notices have waited too long: what they say may not be so any more.",
                f"They were previewed at {clock_time(view.asked_at, self._clock.now())}.",
                "Preview them again. Nothing was sent.",
            )
        return view


def still_waiting(incident: Incident) -> list[HeldView]:
    """What may still be approved; once the incident has ended, only what is sent after it."""
    return [
        view
        for view in incident.held.values()
        if view.is_waiting and (incident.is_open or incident.previews[view.name][0].kind in AFTER_CLOSE)
    ]


def next_held_due(incident: Incident) -> datetime | None:
    """When time alone changes something about what is held; None: nothing waits."""
    dues = (next_due_at(view) for view in still_waiting(incident))
    return min((due for due in dues if due is not None), default=None)


def _due(incident: Incident, view: HeldView, around: Beside, now: datetime) -> Body | None:
    asks = incident.responder if view.asked_by == WATERLINE else view.asked_by
    if now >= expires_at(view):
        return NoticesExpired(name=view.name, asks=asks)
    try:
        refuse_other_trust(incident, incident.previews[view.name], around)
        refuse_to_send(incident, view.name, incident.previews[view.name])
        refuse_overdue(incident, view.name, incident.previews[view.name], now)
    except Refused as error:  # a yes would be answered so: nobody is asked for it any more
        return NoticesExpired(name=view.name, asks=asks, why=error.happened)
    reminder = reminder_due_at(view)
    if reminder is not None and now >= reminder:
        return NoticesReminded(name=view.name, number=view.reminders + 1)
    return None


def sent_or_held(
    incident: Incident, name: str, notices: tuple[Notice, ...], policy: ApprovalPolicy | None, step: StepId | None,
    *, now: datetime,
) -> list[Body]:  # fmt: skip
    """What a click on Send writes: the notices, or that they wait for approval, also where the same were turned down or
    not approved in time. Raises Refused for what may not be sent any more since it was previewed."""
    is_sent = all(n.key(incident.id) in incident.notices for n in notices)
    held = incident.held.get(name)
    if policy is not None and not is_sent and held is not None and held.is_waiting:
        return []
    refuse_to_send(incident, name, notices)
    refuse_overdue(incident, name, notices, now)
    if policy is None or is_sent:
        return queued(incident, name, notices, step)
    return [NoticesHeld(name=name, policy=policy, step=step)]


def queued(incident: Incident, name: str, notices: tuple[Notice, ...], step: StepId | None) -> list[Body]:
    """Those that were queued before are left alone; the step that asked for them is done. Raises Refused for what may
    not be sent any more since it was previewed."""
    refuse_to_send(incident, name, notices)
    new = [n for n in notices if n.key(incident.id) not in incident.notices]
    bodies: list[Body] = [NoticeQueued(notice=n) for n in new]
    if step is not None and step not in incident.outcomes:
        names = ", ".join(n.consumer for n in notices) or "nobody: no consumer is declared"
        bodies.append(StepDone(step=step, key="sent", why=f"told {names}"))
    return bodies
