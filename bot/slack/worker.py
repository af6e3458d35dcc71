"""Works through the inbox: parse, one service call, and an answer for every click.

What is done again after a crash although it had written already: acts of several entries that see by themselves how
far they came. Everything else is one entry of a person, and is done when that is written.
"""

import secrets
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import structlog
from opentelemetry import trace

from bot.observation.errors import CouldNotKeep, WaterlineError
from bot.ports import Clock, Delivery, Inbox, Outbox
from bot.slack.form_opener import MAY_BE_LOST
from bot.slack.forms import form_for
from bot.slack.gateway import Arrivals
from bot.slack.requests import Command, Request, parse
from bot.slack.text import answer_post, answer_unread


def goes_on(request: Request | None) -> bool:
    """Whether a second try goes on where the first was cut off, and does nothing twice."""
    match request:
        case Command(verb="freeze"):
            return True
        case _:
            return False


log = structlog.get_logger(__name__)
_tracer = trace.get_tracer("waterline")
Handle = Callable[[Request], str | None]
"""Does what is asked; returns a sentence for the person who asked, or None when the card answers."""

_ON_RECORD = (
    "I was restarted during this. Your request is on record and is not run twice. The incident's newest card "
    "shows the state."
)
"""Where the bot was stopped between writing down what was asked and answering."""
_MOST_ATTEMPTS = 50
_STOPPED = (
    "This request crashed me {times} times, so I stopped trying. Nothing is on record. Ask whoever runs Waterline to "
    "read the log."
)
"""What kills the process is not tried for ever. A bot that is killed by something else has many starts, too: so many
that they are no chance."""


class InboxWorker:
    """Claims deliveries and works on each in a thread of its own; each ends with `done`, also when it failed."""

    def __init__(
        self,
        inbox: Inbox,
        outbox: Outbox,
        clock: Clock,
        handle: Handle,
        arrivals: Arrivals,
        *,
        on_answer: Callable[[], None],
        may_be_lost: Callable[[Delivery], bool],
        threads: int = 24,
    ) -> None:
        """`threads`: a proposal that looks at evidence takes one for as long as Spark does, and beside these a veto
        must still be heard."""
        self._inbox = inbox
        self._outbox = outbox
        self._clock = clock
        self._handle = handle
        self._arrivals = arrivals
        self._on_answer = on_answer
        self._may_be_lost = may_be_lost
        """Whether perhaps nobody has opened a click's form."""
        self._wake = threading.Event()
        self._stopped = False
        self._kept_waiting: deque[tuple[Delivery, bool]] = deque()
        """What is to be given back, and whether what stopped it was no fault of the record's."""
        self._is_away = False
        """Whether the record was away at the last look: said once, not at each."""
        self._claiming = threading.Thread(target=self._loop, name="inbox")
        self._free = threading.Semaphore(threads)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="inbox")

    def start(self) -> None:
        self._claiming.start()

    def wake(self) -> None:
        self._arrivals.arrived()
        self._wake.set()

    def close(self) -> None:
        """End after the deliveries that are being worked on."""
        self._stopped = True
        self._wake.set()
        self._claiming.join()
        self._threads.shutdown()

    def _loop(self) -> None:
        while not self._stopped:
            self._arrivals.give_way()
            self._wake.clear()
            try:
                self._give_back()
                if self._begins_one():
                    continue
                self._is_away = False
            except CouldNotKeep as away:
                if not self._is_away:
                    log.warning("inbox waits for the record", problem=str(away))
                self._is_away = True
            except Exception:
                log.exception("inbox cannot be worked on")  # the database is away: a dead thread would be silence
            self._wake.wait(timeout=1.0)

    def _begins_one(self) -> bool:
        """Whether a delivery waited, and a thread is free for it now."""
        if not self._free.acquire(timeout=1.0):
            return True  # look again
        try:
            delivery = self._inbox.claim(self._clock.now())
        except Exception:
            self._free.release()
            raise
        if delivery is None:
            self._free.release()
            return False
        self._threads.submit(self._worked_on, delivery)
        return True

    def _worked_on(self, delivery: Delivery) -> None:
        try:
            self.work(delivery)
        except CouldNotKeep:
            pass  # said already; it is given back
        except Exception:
            log.exception("a delivery could not be worked on", key=delivery.key)
        finally:
            self._free.release()

    def _give_back(self) -> None:
        """What was begun while the record could not be written is claimed anew; its row tells if it had written."""
        while self._kept_waiting:
            delivery, was_tried = self._kept_waiting[0]
            self._inbox.give_back(delivery, was_tried=was_tried)
            self._kept_waiting.popleft()

    def work(self, delivery: Delivery) -> None:
        """One delivery to its end, or back into the inbox when the record cannot be written now."""
        try:
            self._work(delivery)
        except CouldNotKeep as away:
            log.warning("a delivery waits for the record", key=delivery.key, problem=str(away))
            self._kept_waiting.append((delivery, False))
            raise
        except Exception:
            self._kept_waiting.append((delivery, True))
            raise

    def _answered(self, delivery: Delivery) -> None:
        request: Request | None = None
        is_read = False
        answer: str | None = None
        problem: str | None = None
        try:
            request, is_read = parse(delivery), True
            is_done = delivery.written > 0 and not goes_on(request)
            if delivery.attempts > _MOST_ATTEMPTS and not is_done:
                problem = answer = _STOPPED.format(times=delivery.attempts - 1)
            else:
                answer = _ON_RECORD if is_done else self._do(request, delivery)
            if answer is None and request is not None and form_for(request) is not None:
                answer = MAY_BE_LOST if self._may_be_lost(delivery) else None
        except CouldNotKeep:
            raise
        except WaterlineError as error:
            answer = str(error)
        except Exception as error:
            reference = secrets.token_hex(4)
            log.exception("request failed", reference=reference, key=delivery.key)
            problem = f"{reference}: {error!r}"
            answer = f"Something went wrong on our side (reference {reference}). Nothing more was done. Try again."
        if answer is not None and (request is not None or not is_read):
            self._answer(delivery, request, answer)
        self._inbox.done(delivery, problem)

    def _work(self, delivery: Delivery) -> None:
        """Its span begins with the moment at which the gateway took it, so the time in the inbox is in it."""
        received_ns = int(delivery.received_at.timestamp() * 1_000_000_000)
        told: dict[str, str | int] = {"waterline.delivery": delivery.key, "waterline.attempt": delivery.attempts}
        with _tracer.start_as_current_span(f"slack {delivery.kind}", start_time=received_ns, attributes=told) as span:
            span.add_event("taken from the inbox")
            self._answered(delivery)

    def _do(self, request: Request | None, delivery: Delivery) -> str | None:
        with self._inbox.tied(delivery):
            return None if request is None else self._handle(request)

    def _answer(self, delivery: Delivery, request: Request | None, text: str) -> None:
        post = answer_unread(delivery, text) if request is None else answer_post(delivery, request, text)
        if post is not None:
            self._outbox.put(post)
            self._on_answer()
