"""A dispatcher in a process of its own, which is killed at an append to the record."""

from datetime import datetime

from bot.adapters.journal_sql import open_store
from bot.adapters.notify import NoticeFiles, Smtp, Webhook
from bot.observation.ids import IncidentId
from bot.service.background import Background
from bot.service.diagnosing import OtherDoubts
from bot.service.incident_store import IncidentStore
from bot.service.notices.dispatcher import NotificationDispatcher
from tests.power_cut import PowerCut, killed
from tests.telling.receivers import mail_server

SECRET = b"z" * 32


class _Still:
    def __init__(self, at: datetime) -> None:
        self._at = at

    def now(self) -> datetime:
        return self._at


def is_killed_while_it_delivers(url: str, port: int, incident: str, at: datetime, cut: int) -> bool:
    """Delivers what is due until the power is cut at append `cut`. `port`: of the mail server."""
    return killed(lambda: _deliver(url, port, incident, at, cut))


def _deliver(url: str, port: int, incident: str, at: datetime, cut: int) -> None:
    clock = _Still(at)
    store = IncidentStore(PowerCut(open_store(url).journal, cut), clock)  # type: ignore[arg-type]
    smtp = Smtp(mail_server(port))
    carriers = {"email": smtp, "webhook": Webhook((SECRET,)), "file": NoticeFiles()}
    background = Background(store, lambda: True, workers=1)
    NotificationDispatcher(store, carriers, clock, background, OtherDoubts(store, None)).deliver_due(
        IncidentId(incident)
    )
