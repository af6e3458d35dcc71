"""Views and files that the worker sends to Slack outside the outbox: filled forms, App Home, exports."""

import time
from collections.abc import Sequence

import structlog
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.models.views import View

from bot.domain.errors import Refused
from bot.domain.ids import UserId
from bot.domain.incident import Incident
from bot.domain.journal import Line
from bot.ports import Outbox
from bot.service.record import Records
from bot.slack.names import names_of, users_in
from bot.slack.projection import card_key

log = structlog.get_logger(__name__)
_PAUSES_S = (0.05, 0.1, 0.2, 0.4, 0.8, 0.0)
"""Between two tries to fill a form that Slack does not know (yet)."""


class Views:
    """Best effort: a form that was closed meanwhile is no failure."""

    def __init__(self, client: WebClient, outbox: Outbox, records: Records) -> None:
        self._client = client
        self._outbox = outbox
        self._records = records

    def fill(self, external_id: str, view: View) -> None:
        """Replace a placeholder; nothing happens if the person has closed it.

        What is filled in may be known before Slack shows the placeholder, so `not_found` is asked again a while.
        """
        view.external_id = external_id
        for pause in _PAUSES_S:
            try:
                self._client.views_update(external_id=external_id, view=view)
            except SlackApiError as error:
                code = error.response.get("error")
                if code == "not_found":
                    time.sleep(pause)
                    continue
                log.info("form not filled", error=code)
            return
        log.info("form not filled", error="it was closed, or never shown")

    def home(self, user: UserId, view: View) -> None:
        """Publish App Home."""
        try:
            self._client.views_publish(user_id=user, view=view)
        except SlackApiError as error:
            log.warning("home not published", error=error.response.get("error"))

    def upload_record(self, incident: Incident, lines: Sequence[Line], channel: str) -> None:
        """The incident's record in its thread, each file with its proof, and the patch of the contract if there is
        one. Raises Refused if Slack does not take them."""
        card = self._outbox.find(card_key(incident.id))
        names = names_of(self._client, users_in(entry.model_dump_json() for entry in incident.entries))
        forms = {"html": self._records.html, "md": self._records.markdown, "json": self._records.json}
        files = [
            {
                "content": write(incident, names=names, lines=lines),
                "filename": f"{incident.id}.{ending}",
                "title": f"{incident.id} record",
            }
            for ending, write in forms.items()
        ]
        if incident.patch is not None and incident.patch.diff:
            name = f"{incident.id}.contract.patch"
            files.append(
                {"content": incident.patch.diff, "filename": name, "title": f"Change of {incident.patch.file}"}
            )
        try:
            self._client.files_upload_v2(
                channel=channel, thread_ts=card.ts if card else None, file_uploads=files,
                initial_comment=f"The record of {incident.id}.",
            )  # fmt: skip
        except SlackApiError as error:
            raise Refused(
                "Slack did not take the files.",
                f"It said: {error.response.get('error')}.",
                f"Export it in a terminal: waterline record export {incident.id}.",
            ) from error
