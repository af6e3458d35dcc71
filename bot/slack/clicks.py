"""Buttons: one service call each. Whatever cannot be done is answered with a sentence."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from bot.incident.decisions import Approve, approval_counts
from bot.incident.notice import Answer
from bot.observation.errors import Refused, WaterlineError
from bot.observation.ids import IncidentId, ProposalId, StepId, TableName
from bot.service.services import Services
from bot.service.watching.finding_store import FindingStore
from bot.slack.blocks.proposal import is_shown_whole
from bot.slack.blocks.review import term_form
from bot.slack.blocks.savepoints import savepoint_form
from bot.slack.blocks.watch import MUTE_HOURS
from bot.slack.forms import PLANNED_TITLE, REASONS, SAVEPOINT_TITLE, open_form_id, planned_form, problem_form
from bot.slack.ids import Click
from bot.slack.opening_forms import OpeningForms
from bot.slack.requests import Clicked
from bot.slack.views import Views, correction_preview, page_of, preview_of

_OLD = "This button belongs to an older message. Use the incident's newest card."


@dataclass(eq=False)
class Clicks:
    """Answers clicks; a returned sentence is shown to the person only."""

    _services: Services
    _opening: OpeningForms
    _views: Views

    def handle(self, click: Clicked) -> str | None:
        do = _BUTTONS.get(click.action)
        return _OLD if do is None else do(self, click, *click.parts)

    def _run_all(self, click: Clicked, incident: IncidentId) -> None:
        self._services.evidence.go_on(incident, by=click.user)
        self._services.reconciler.reconcile(incident)

    def _stop(self, click: Clicked, incident: IncidentId) -> str:
        self._services.evidence.stop(incident, by=click.user)
        return "Stopped. To continue, click “Run all” on the card."

    def _change_runbook(self, click: Clicked, incident: IncidentId, name: str) -> None:
        self._services.opening.change_runbook(incident, name, by=click.user)
        self._services.reconciler.walk_on(incident)

    def _choose(self, click: Clicked, incident: IncidentId, step: StepId, key: str = "done") -> None:
        self._services.runbook_steps.choose(incident, step, key, by=click.user)

    def _take(self, click: Clicked, incident: IncidentId) -> str:
        self._services.runbook_steps.assign(incident, click.user, by=click.user)
        return f"You are the responder of {incident}."

    def _diagnose(self, click: Clicked, incident: IncidentId) -> str:
        self._services.diagnoses.request(incident, by=click.user)
        self._services.reconciler.walk_on(incident)
        return "Checking the table and the job. The result appears in the thread."

    def _planned(self, click: Clicked, incident: IncidentId, code: str) -> None:
        try:
            kinds = self._services.diagnoses.may_be_planned(incident, code)
            form = planned_form(kinds, f"{click.value}/{click.channel}")
        except Refused as error:
            form = problem_form(PLANNED_TITLE, str(error))
        self._views.fill(open_form_id(click.trigger), form)

    def _propose(self, click: Clicked, incident: IncidentId, action: str, step: StepId) -> None:
        self._services.proposals.propose(incident, action, step=step, by=click.user)

    def _approve(self, click: Clicked, incident: IncidentId, proposal: ProposalId, digest: str) -> str:
        shown_whole = is_shown_whole(self._services.store.get(incident), proposal, self._services.tasks)
        act = Approve(digest=digest, shown_whole=shown_whole)
        view = self._services.approvals.act(incident, proposal, act, by=click.user)
        return approval_counts(view)

    def _execute(self, click: Clicked, incident: IncidentId, proposal: ProposalId) -> str:
        self._services.approvals.may_begin(incident, proposal, click.user)
        self._services.executions.begin(incident, proposal, by=click.user)
        self._services.reconciler.reconcile(incident)
        return "Started. Follow it in the proposal's thread."

    def _verify(self, click: Clicked, incident: IncidentId, proposal: ProposalId) -> str:
        self._services.reconciler.verify_again(incident, proposal, by=click.user)
        return "Verifying again. The result appears in the proposal's thread."

    def _undo(self, click: Clicked, incident: IncidentId, proposal: ProposalId) -> str:
        self._services.proposals.undo(incident, proposal, "", by=click.user)
        return "The undo is proposed. Somebody else must approve it before anything changes."

    def _answer(self, click: Clicked, incident: IncidentId, seq: str) -> str:
        answer: Answer = "re-ran" if click.action == Click.RE_RAN else "acknowledged"
        return self._services.answering.answer(incident, int(seq), answer, by=click.user)

    def _preview_notice(self, click: Clicked, incident: IncidentId, kind: str, step: str) -> None:
        view = preview_of(self._services, incident, kind, step, click.channel, click.user)
        self._views.fill(open_form_id(click.trigger), view)

    def _correct(self, click: Clicked, incident: IncidentId) -> None:
        view = correction_preview(self._services, incident, click.channel, click.user)
        self._views.fill(open_form_id(click.trigger), view)

    def _read_notices(self, click: Clicked, incident: IncidentId, name: str) -> None:
        view = page_of(self._services, incident, name, "", 0, click.channel)
        self._views.fill(open_form_id(click.trigger), view)

    def _turn_page(self, click: Clicked, incident: IncidentId, name: str, step: str, page: str) -> None:
        view = page_of(self._services, incident, name, step, int(page), click.channel)
        self._views.turn(click.view, view)

    def _tell_again(self, click: Clicked, incident: IncidentId, seq: str, way: str) -> str:
        address = self._services.deliveries.retry(incident, int(seq), int(way), by=click.user)
        return f"Sending it again {address}, with the same text. The card shows the delivery."

    def _review(self, click: Clicked, incident: IncidentId, step: str) -> None:
        self._services.reviews.open(incident, by=click.user, step=StepId(step) if step else None)

    def _term(self, click: Clicked, incident: IncidentId, number: str) -> None:
        try:
            form = term_form(self._services.store.get(incident), int(number), click.channel)
        except Refused as error:
            form = problem_form("Review item", str(error))
        self._views.fill(open_form_id(click.trigger), form)

    def _open(self, click: Clicked, *what: str) -> None:
        table, finding = (*what, "", "")[:2]
        self._opening.fill(click.trigger, click.channel, table, finding=finding)

    def _mute(self, click: Clicked, table: TableName, finding: str) -> str:
        note = self._finding_store.mute(table, timedelta(hours=MUTE_HOURS), by=click.user)
        self._finding_store.shows_mute(finding)
        return (
            f"{table} is muted until {note.until:%Y-%m-%d %H:%M} UTC. Waterline goes on looking at it, and posts then "
            "what still lasts. To end the mute, click “Unmute table” on the finding."
        )

    def _unmute(self, click: Clicked, table: TableName, finding: str) -> str:
        is_ended = self._finding_store.unmute(table, by=click.user)
        self._finding_store.shows_mute(finding)
        return f"Findings about {table} are posted again." if is_ended else f"{table} was not muted."

    @property
    def _finding_store(self) -> FindingStore:
        if self._services.finding_store is None:
            raise Refused(
                "Tables are not watched here.",
                "Expected the section `watch` in the configuration file.",
                "Add it, and start Waterline again.",
            )
        return self._services.finding_store

    def _savepoint(self, click: Clicked, incident: IncidentId) -> None:
        """From App Home, the answer to the form goes into the incident's channel."""
        found = self._services.store.get(incident)
        try:
            form = savepoint_form(found, self._services.savepoints.offer(found.id))
        except WaterlineError as error:
            form = problem_form(SAVEPOINT_TITLE, str(error))
        self._views.fill(open_form_id(click.trigger), form)

    def _export(self, click: Clicked, incident: IncidentId) -> str:
        return self._views.upload_record(self._services.store.get(incident), click.channel, click.trigger)

    def _form(self, _click: Clicked, *_ids: str) -> None:
        """The form was opened by the listener; its submission does the work."""


_BUTTONS: dict[str, Callable[..., str | None]] = {  # the parts of a button's value are ids
    **dict.fromkeys((*REASONS, Click.TELL_IN_WORDS, Click.SEVERITY), Clicks._form),
    Click.RUN_ALL: Clicks._run_all,
    Click.STOP: Clicks._stop,
    Click.CHANGE_RUNBOOK: Clicks._change_runbook,
    Click.CHOOSE: Clicks._choose,
    Click.DONE: Clicks._choose,
    Click.TAKE: Clicks._take,
    Click.DIAGNOSE: Clicks._diagnose,
    Click.PLANNED: Clicks._planned,
    Click.PROPOSE: Clicks._propose,
    Click.APPROVE: Clicks._approve,
    Click.EXECUTE: Clicks._execute,
    Click.VERIFY: Clicks._verify,
    Click.UNDO: Clicks._undo,
    Click.PREVIEW_NOTICE: Clicks._preview_notice,
    Click.CORRECT: Clicks._correct,
    Click.ACKNOWLEDGE: Clicks._answer,
    Click.RE_RAN: Clicks._answer,
    Click.READ_NOTICES: Clicks._read_notices,
    Click.TURN_PAGE: Clicks._turn_page,
    Click.TELL_AGAIN: Clicks._tell_again,
    Click.REVIEW: Clicks._review,
    Click.TERM: Clicks._term,
    Click.OPEN: Clicks._open,
    Click.MUTE: Clicks._mute,
    Click.UNMUTE: Clicks._unmute,
    Click.SAVEPOINT: Clicks._savepoint,
    Click.EXPORT: Clicks._export,
}
