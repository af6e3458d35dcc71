"""A courier in a process of its own, which is killed at an append to the record."""

import multiprocessing
from contextlib import nullcontext
from datetime import datetime

from bot.adapters.journal_sql import open_store
from bot.adapters.notice_files import NoticeFiles
from bot.adapters.smtp import Smtp
from bot.adapters.webhook import Webhook
from bot.domain.ids import IncidentId
from bot.service.courier import Courier
from bot.service.incident_store import IncidentStore
from bot.service.other_doubts import OtherDoubts
from tests.power_cut import PowerCut

SECRET = b"z" * 32


class _Still:
    def __init__(self, at: datetime) -> None:
        self._at = at

    def now(self) -> datetime:
        return self._at


def deliver_and_die(url: str, port: int, incident: str, at: datetime, cut: int) -> int | None:
    """Delivers what is due until the power is cut at append `cut`; returns how the process ended. `port`: of the mail
    server."""
    process = multiprocessing.get_context("spawn").Process(target=_deliver, args=(url, port, incident, at, cut))
    process.start()
    process.join(120)
    return process.exitcode


def _deliver(url: str, port: int, incident: str, at: datetime, cut: int) -> None:
    clock = _Still(at)
    store = IncidentStore(PowerCut(open_store(url).journal, cut), clock)  # type: ignore[arg-type]
    smtp = Smtp("127.0.0.1", port, "waterline@acme.example", security="none", limit_s=60)
    carriers = {"email": smtp, "webhook": Webhook((SECRET,)), "file": NoticeFiles()}
    courier = Courier(store, carriers, clock, lambda _name: nullcontext(True), OtherDoubts(store, None))
    courier.deliver_due(IncidentId(incident))
