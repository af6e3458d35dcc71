"""What one process does behind its gateway: inbox workers, projection, sender. Started and closed as one."""

from contextlib import suppress
from datetime import timedelta
from typing import Literal

from slack_sdk import WebClient

from bot.incident.incident import shown_in
from bot.observation.errors import UnknownIncident
from bot.observation.ids import IncidentId
from bot.ports import Cursor, Inbox, Outbox, Post
from bot.service.home import home_facts
from bot.service.services import Services
from bot.slack.blocks.home import home_view
from bot.slack.clicks import Clicks
from bot.slack.commands import Commands
from bot.slack.directory import RecentMembers, SlackDirectory
from bot.slack.gateway import Arrivals, SlackGateway
from bot.slack.opening_forms import OpeningForms, check
from bot.slack.projection import Projection
from bot.slack.requests import Clicked, Command, HomeOpened, MessageChosen, Request, Submitted
from bot.slack.sender import Sender
from bot.slack.sent_before import notice_key
from bot.slack.submits import Submits
from bot.slack.text import read_at
from bot.slack.views import Views
from bot.slack.worker import InboxWorker


class SlackSurface:
    def __init__(
        self,
        client: WebClient,
        *,
        door: SlackGateway,
        services: Services,
        inbox: Inbox,
        outbox: Outbox,
        cursor: Cursor,
        min_message_interval: timedelta,
        team_id: str | None = None,
    ) -> None:
        self._door = door
        self._services = services
        self._views = Views(client, outbox)
        self._opening = OpeningForms(client, services, self._views)
        self._commands = Commands(services, self._opening, self._views)
        self._clicks = Clicks(services, self._opening, self._views)
        self._submits = Submits(services, self._opening, self._views)
        self._projection = Projection(services.store, outbox, cursor)
        arrivals = Arrivals()
        self._sender = Sender(
            client,
            outbox,
            services,
            services.clock,
            arrivals,
            min_message_interval=min_message_interval,
            on_end=self._delivered,
            overtaken=self._overtaken,
        )
        self._worker = InboxWorker(
            inbox,
            outbox,
            services.clock,
            self.handle,
            arrivals,
            on_answer=self._sender.wake,
            may_be_lost=door.forms.may_be_lost,
        )
        self._shown_members = RecentMembers(SlackDirectory(client, team_id), services.clock)

    def start(self) -> None:
        """Catch up with the journal, then work, beginning with what the door has taken already."""
        self._services.store.on_change(self._changed)
        self._services.evidence.on_progress(self._progressed)
        self._projection.catch_up_all()
        self._sender.start()
        self._door.leads_to(self._worker.wake)
        self._worker.start()
        self._services.reconciler.reconcile_all()

    def catch_up(self) -> None:
        """Show what another process has written meanwhile: somebody decided in a terminal, or a replica died."""
        self._projection.catch_up_all()

    def close(self) -> None:
        """Stop taking, finish what is under way."""
        self._door.close()
        self._worker.close()
        self._sender.close()

    def handle(self, request: Request) -> str | None:
        """One request to its end; a returned sentence is for the person who asked."""
        self._door.forms.own.must_be_ours(request)
        check(request, self._services.store)
        with read_at(self._services.clock.now()):
            handled = self._dispatch(request)
        self._sender.wake()
        return handled

    def _dispatch(self, request: Request) -> str | None:
        match request:
            case Command():
                return self._commands.handle(request)
            case Clicked():
                return self._clicks.handle(request)
            case Submitted():
                return self._submits.handle(request)
            case MessageChosen():
                self._opening.fill_from(request)
                return None
            case HomeOpened():
                services = self._services
                facts = home_facts(
                    [each for each in services.store.all() if shown_in(each, "")],
                    services.trust.all(),
                    services.observer.tables,
                    request.user,
                    self._shown_members.members,
                    services.clock.now(),
                )
                self._views.home(request.user, home_view(facts))
                return None

    def _changed(self, incident_id: IncidentId) -> None:
        self._projection.catch_up(incident_id)
        self._sender.wake()

    def _progressed(self, incident_id: IncidentId) -> None:
        self._projection.progressed(incident_id)
        self._sender.wake()

    def _overtaken(self, post: Post) -> str | None:
        """Why a notice or a finding that has waited is not posted any more; None for whatever is to be posted."""
        if post.incident is None:
            return self._long_over(post)
        notice = notice_key(post)
        if notice is None:
            return None
        with suppress(UnknownIncident):
            return self._services.deliveries.overtaken(post.incident, notice)
        return None

    def _long_over(self, post: Post) -> str | None:
        """Why a finding, or that it is over, is not told any more after its channel was shut for so long."""
        watched = self._services.finding_store
        if watched is None or not post.key.startswith("watch/"):
            return None
        status = watched.status(post.key.split("/")[1])
        if status is None or not status.has_long_been_over(self._services.clock.now()):
            return None
        return "not posted: the finding had already been over for a day"

    def _delivered(self, post: Post, problem: str | None) -> None:
        """Slack took a post for the first time, or refuses it: notices are accounted for in the journal."""
        notice = notice_key(post)
        if post.incident is None or notice is None:
            return
        how: Literal["failed", "delivered"] = "failed" if problem else "delivered"
        with suppress(UnknownIncident):
            self._services.deliveries.ended(post.incident, notice, how=how, detail=problem or f"in {post.channel}")
