"""The form that opens an incident: from a command, a button, or a message that somebody chose; and what it becomes.

Private incidents on Slack: they are opened in a private channel, and buttons act on them from there only.

A command acts on the incident of the channel in which it was typed, and a form is opened from that channel.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import structlog
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.models.views import View

from bot.incident.asked import is_id
from bot.incident.incident import Incident, already_open, shown_in, unknown
from bot.incident.runbook import Runbook
from bot.observation.errors import CouldNotLook, Refused, UnknownIncident, WaterlineError
from bot.observation.ids import IncidentId, Severity, TableName
from bot.service.alerts import tables_named
from bot.service.incident_store import IncidentStore
from bot.service.services import Services
from bot.slack.directory import UNREACHABLE, is_shared_outside
from bot.slack.forms import Filled, open_form, open_form_id, opened_form, problem_form, table_form
from bot.slack.requests import Clicked, MessageChosen, Request, Submitted, answers_notice
from bot.slack.views import FIRST_WARNING, Views, preview_of

log = structlog.get_logger(__name__)


def check(request: Request, store: IncidentStore) -> None:
    """Raises UnknownIncident, as for one that is not there, for a click outside of the private incident's channel."""
    if not isinstance(request, Clicked) or request.view:
        return
    try:
        incident = store.get(IncidentId(request.parts[0]))
    except UnknownIncident:
        return
    if not shown_in(incident, request.channel) and not _answers_a_notice(request, incident):
        log.warning("click on a private incident", incident=incident.id, user=request.user)
        raise unknown(incident.id)


def _answers_a_notice(click: Clicked, incident: Incident) -> bool:
    """A consumer whom a responder has notified may answer in the channel of the notice."""
    if not answers_notice(click):
        return False
    notices = (view for view in incident.notices.values() if str(view.seq) == click.parts[1])
    return any(view.notice.channel == click.channel for view in notices)


def must_be_private(channel: str, client: WebClient) -> None:
    """Raises Refused unless a private incident can be opened in this channel, CouldNotLook where Slack does not say."""
    if not is_private(channel, client):
        raise Refused(
            "A private incident cannot be opened here.",
            f"Expected a private channel; everyone in the workspace can read <#{channel}>.",
            "Create a private channel, invite the bot and the people you need, and open it there.",
        )


def is_private(channel: str, client: WebClient) -> bool:
    """Whether only invited people of the own organisation can read it (scopes channels:read, and groups:read). Raises
    CouldNotLook."""
    try:
        found = client.conversations_info(channel=channel)["channel"]
    except UNREACHABLE as error:
        reason = error.response.get("error") if isinstance(error, SlackApiError) else type(error).__name__
        raise CouldNotLook(
            f"Slack did not say who can read <#{channel}>.",
            f"Expected its kind; found: {reason}.",
            "Invite the bot to the channel and check the scopes channels:read and groups:read, then try again.",
        ) from error
    is_closed = found.get("is_private") or found.get("is_im") or found.get("is_mpim")
    return bool(is_closed) and not is_shared_outside(found)


@dataclass(eq=False)
class OpeningForms:
    """Fills placeholders, and opens the incident when a form is sent."""

    _client: WebClient
    _services: Services
    _views: Views

    def fill(
        self, trigger: str, channel: str, table: str, *, finding: str = "", source: str = "", words: str = ""
    ) -> None:
        """Replace the placeholder by the form for a table; without one, and with several to choose from, by the
        question which. `source`: ts of the message that it is opened from; `words`: what is written there."""
        tables = self._services.opening.tables
        view: View
        try:
            if table or len(tables) == 1:
                view = self._form(TableName(table or tables[0]), channel, finding, source, words)
            else:
                view = table_form(tables, channel, source, words)
        except WaterlineError as error:
            view = problem_form("Open an incident", str(error), words)
        self._views.fill(open_form_id(trigger), view)

    def fill_from(self, chosen: MessageChosen) -> None:
        """The form for the table that the message names; where it names none or several, the question which."""
        table = self._table_in(chosen.words)
        self.fill(chosen.trigger, chosen.channel, table, source=chosen.ts, words=chosen.words)

    def _table_in(self, words: str) -> str:
        """Empty where none or several are named."""
        named = tables_named([words], self._services.observer.tables.values())
        return named[0] if len(named) == 1 else ""

    def _form(self, table: TableName, channel: str, finding: str, source: str, words: str) -> View:
        services = self._services
        offer = services.opening.offer(table)
        existing = services.store.open_on(table)
        if existing is not None:
            raise already_open(existing)
        books = services.opening.runbooks_for(table)
        filled = self._filled(table, books, finding, words)
        return open_form(offer, books, channel, filled, source)

    def _filled(self, table: TableName, books: Iterable[Runbook], finding: str, words: str) -> Filled:
        """From the finding that it is opened from; else from the words, and from what was seen of the table."""
        finding_store = self._services.finding_store
        status = finding_store.status(finding) if finding_store is not None and finding else None
        if status is not None:
            found = status.reported.finding
            return Filled(found.runbook, found.severity, f"{found.source}: {found.headline}")
        seen = finding_store.newest_unopened(table) if finding_store is not None else None
        return Filled(_named_in(words, books) or (seen.runbook if seen is not None else None), summary=words)

    def submitted(self, form: Submitted, table: str, source: str, channel: str) -> None:
        """Open the incident, and show the first warning in the place of the form."""
        try:
            incident_id = self._opened(form, table, channel)
        except WaterlineError as error:
            problem = problem_form("Open an incident", str(error), form.values.get("summary", ""))
            if not self._views.fill(open_form_id(form.trigger), problem):
                raise  # the form is closed: who sent it hears it in the channel
            return
        if source:
            note = f"Opened from a message: {self._link(channel, source)}"
            self._services.runbook_steps.note(incident_id, note, by=form.user)
        self._services.reconciler.reconcile(incident_id)
        if self._services.finding_store is not None:
            self._services.finding_store.incident_changed(self._services.store.get(incident_id))
        incident = self._services.store.get(incident_id)
        if incident.is_private:
            view = opened_form(
                f"{incident_id} is open, and private: only people in this channel see it. "
                "No consumer was warned. You can warn them from the card."
            )
        elif incident.runbook.is_planned:
            view = opened_form(
                f"{incident_id} is open, as planned work. The table stays trusted, and no consumer is warned unless "
                "something is wrong. Write the plan with “Plan a savepoint…” on the card.",
                ":calendar:",
            )
        else:
            view = preview_of(self._services, incident_id, FIRST_WARNING, "", channel, form.user)
        self._views.fill(open_form_id(form.trigger), view)

    def _opened(self, form: Submitted, table: str, channel: str) -> IncidentId:
        since = form.values.get("since", "").strip()
        if since and not is_id(since):
            raise Refused(
                f"“{since}” is not a snapshot id.", "Expected an id or its last six digits.", "Open the form again."
            )
        private = "private" in form.values
        if private:
            must_be_private(channel, self._client)
        return self._services.opening.open(
            table=TableName(table),
            runbook=form.values["runbook"],
            severity=cast(Severity, form.values["severity"]),
            channel=channel,
            summary=form.values.get("summary", ""),
            by=form.user,
            since=since or None,
            private=private,
        )

    def _link(self, channel: str, ts: str) -> str:
        """To the message; its channel and ts where Slack gives no link."""
        try:
            found = self._client.chat_getPermalink(channel=channel, message_ts=ts).get("permalink")
        except UNREACHABLE:
            found = None
        return str(found or f"{ts} in {channel}")


def _named_in(words: str, books: Iterable[Runbook]) -> str | None:
    """The one symptom that the words name by its id or title, however it is written: `DuplicateRows`, `duplicate-rows`;
    None where they name none or several."""
    text = f" {_spaced(words)} "
    named = [
        book.id
        for book in books
        if not book.is_planned and any(f" {_spaced(name)} " in text for name in (book.id, book.title))
    ]
    return named[0] if len(named) == 1 else None


def _spaced(text: str) -> str:
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return " ".join(re.findall(r"[a-z0-9]+", apart.lower()))
