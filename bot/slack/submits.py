"""Submitted forms: one service call each. The ids travel in the form's private metadata."""

from dataclasses import dataclass

from bot.incident.approval import mentions
from bot.incident.asked import end_of_day, said_moment
from bot.incident.decisions import (
    BreakGlass,
    PersonsAct,
    Reject,
    ResolveUnknown,
    Veto,
    approval_counts,
    settlement_counts,
)
from bot.incident.execution import ProposalView
from bot.observation.errors import Refused
from bot.observation.ids import IncidentId, ProposalId, StepId, UserId
from bot.service.reviewing import Reviews
from bot.service.services import Services
from bot.slack.blocks.proposal import is_shown_whole
from bot.slack.blocks.texts import audience
from bot.slack.commands import closed
from bot.slack.forms import open_form_id
from bot.slack.ids import Form
from bot.slack.opening_forms import OpeningForms
from bot.slack.requests import Submitted
from bot.slack.views import Views, preview_of


@dataclass(eq=False)
class Submits:
    """Answers forms; a returned sentence is shown to the person only."""

    _services: Services
    _opening: OpeningForms
    _views: Views

    def handle(self, form: Submitted) -> str | None:  # noqa: C901 - one case a form, nothing nested
        ids = form.about.split("/")
        reason = form.values.get("reason", "")
        match form.form:
            case Form.OPEN:
                self._opening.submitted(form, *ids)
            case Form.TABLE:
                source, channel = ids
                summary = form.values.get("summary", "")
                self._opening.fill(form.trigger, channel, form.values["table"], source=source, words=summary)
            case Form.SKIP:
                self._services.runbook_steps.skip(IncidentId(ids[0]), StepId(ids[1]), reason, by=form.user)
            case Form.NOTE:
                self._services.runbook_steps.note(IncidentId(ids[0]), reason, by=form.user)
            case Form.PLANNED:
                what = form.values["what"]
                self._services.diagnoses.declare_planned(IncidentId(ids[0]), ids[1], what, reason, by=form.user)
                self._services.reconciler.walk_on(IncidentId(ids[0]))
            case Form.WITHDRAW_PLAN:
                self._services.diagnoses.withdraw_plan(IncidentId(ids[0]), ids[1], reason, by=form.user)
                self._services.reconciler.walk_on(IncidentId(ids[0]))
            case Form.REJECT:
                self._decide(form, Reject(reason=reason), *ids)
            case Form.VETO:
                self._decide(form, Veto(reason=reason), *ids)
            case Form.BREAK_GLASS:
                shown_whole = is_shown_whole(self._services.store.get(IncidentId(ids[0])), ids[1], self._services.tasks)
                act = BreakGlass(digest=ids[2], reason=reason, shown_whole=shown_whole)
                return approval_counts(self._decide(form, act, *ids))
            case Form.SETTLE_HAPPENED | Form.SETTLE_NOT:
                happened = form.form == Form.SETTLE_HAPPENED
                view = self._decide(form, ResolveUnknown(index=int(ids[2]), happened=happened, reason=reason), *ids)
                self._services.reconciler.reconcile(IncidentId(ids[0]))
                return settlement_counts(view)
            case Form.CLOSE:
                return closed(self._services, IncidentId(ids[0]), reason, form.user)
            case Form.SAVEPOINT:
                return plan_savepoint(self._services, form)
            case Form.TERM:
                return answer_item(self._services.reviews, form)
            case Form.SEVERITY:
                return self._change_severity(form, IncidentId(ids[0]))
            case Form.NOTICE:
                return self._send(form, *ids)
            case Form.WORDS:
                incident_id, kind, step, channel = ids
                preview = preview_of(self._services, IncidentId(incident_id), kind, step, channel, form.user, reason)
                self._views.fill(open_form_id(form.trigger), preview)
            case Form.HELP:
                answering = self._services.answering
                return answering.answer(IncidentId(ids[0]), int(ids[1]), "needs-help", by=form.user, text=reason)
            case Form.DECLINE_CORRECTION:
                self._services.telling.decline_correction(IncidentId(ids[0]), reason, by=form.user)
            case _:
                return "This form is out of date. Start again from the newest card."
        return None

    def _decide(self, form: Submitted, act: PersonsAct, incident: str, proposal: str, *_more: str) -> ProposalView:
        return self._services.approvals.act(IncidentId(incident), ProposalId(proposal), act, by=form.user)

    def _change_severity(self, form: Submitted, incident: IncidentId) -> str:
        to = form.values["severity"]
        self._services.runbook_steps.change_severity(incident, to, form.values.get("reason", ""), by=form.user)
        self._services.reconciler.reconcile(incident)
        return f"{incident} is {to} now. Consumers who still wait get an update."

    def _send(self, form: Submitted, incident: str, step: str, preview: str, _channel: str) -> str:
        sent = self._services.telling.send_preview(
            IncidentId(incident), preview, by=form.user, step=StepId(step) if step else None
        )
        self._services.reconciler.reconcile(IncidentId(incident))
        if sent:
            return f"Sent to {audience(sent)}."
        after = self._services.store.get(IncidentId(incident))
        if (held := after.held.get(preview)) is not None and held.is_waiting:
            who = mentions(held.held.policy.approvers, (held.asked_by,))
            return f"Somebody else must send these notices: ask {who}. They wait in the incident's channel."
        return "These notices were already sent. Nothing was sent now."


def answer_item(reviews: Reviews, form: Submitted) -> str:
    """Assign or settle a review item, as the form says; a day ends at its last second in UTC. Raises Refused."""
    incident, number = IncidentId(form.about.split("/")[0]), int(form.about.split("/")[1])
    way, reason = form.values["way"], form.values.get("reason", "").strip()
    if way in ("fixed", "accepted"):
        item = reviews.settle(incident, number, "fixed" if way == "fixed" else "accepted", reason, by=form.user)
        return f"“{item.finding.term.rstrip('.')}” is {way}."
    if reason:
        raise Refused(
            "Nothing was saved. The form assigns the item and also says what was done.",
            f"You wrote: “{reason}”.",
            "Open the form again. Choose fixed or accepted to keep this text, or clear it to assign the item.",
        )
    owner, due = UserId(form.values["owner"]), end_of_day(form.values["due"])
    item = reviews.assign(incident, number, owner=owner, due=due, by=form.user)
    return f"“{item.finding.term.rstrip('.')}” is assigned to <@{item.owner}>, due {item.due:%Y-%m-%d}."


def plan_savepoint(services: Services, form: Submitted) -> str:
    """Write the plan down; a day ends at its last second in UTC. Raises Refused."""
    incident = IncidentId(form.about.split("/")[0])
    over = form.values.get("over", "").strip()
    services.savepoints.plan(
        incident,
        reason=form.values["reason"].strip(),
        code_before=form.values["before"].strip(),
        code_after=form.values["after"].strip(),
        until=end_of_day(form.values["until"]),
        over_by=said_moment(over, services.clock.now()) if over else None,
        by=form.user,
    )
    services.reconciler.reconcile(incident)
    return f"Plan saved in {incident}. Nothing is stopped yet. Continue on its card."
