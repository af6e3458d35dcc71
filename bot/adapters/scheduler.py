"""Timers over APScheduler 3: late is better than lost, and one run at a time a key."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import structlog
from apscheduler.events import EVENT_JOB_ERROR, JobExecutionEvent
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.date import DateTrigger
from apscheduler.triggers.interval import IntervalTrigger

from bot.ports import Clock

_OVERLAPPING = 1000
_THREADS = 4
_log = structlog.get_logger(__name__)


class SchedulerTimers:
    """Runs things later on a few threads. Kept in memory: whoever starts the bot sets them anew."""

    def __init__(self, clock: Clock) -> None:
        """Timers may be set before `start`; `clock` decides what is past."""
        self._clock = clock
        self._pool = ThreadPoolExecutor(_THREADS)
        # APScheduler drops a job that is late by its grace time; None lets it run however late.
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={"default": self._pool},
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        self._scheduler.add_listener(_report, EVENT_JOB_ERROR)

    def start(self) -> None:
        self._scheduler.start()

    def close(self) -> None:
        """Stop; what is running now is awaited. Safe to repeat, and without effect if it never started.

        `shutdown(wait=True)` would wait for callbacks while it holds the lock that their `at` needs, and may
        empty the job store under its own loop. So: pause, let the loop finish its turn, stop, then wait.
        """
        if self._scheduler.running:
            self._scheduler.pause()
            self._scheduler.get_jobs()  # takes the loop's lock, and so returns when its turn is over
            self._scheduler.shutdown(wait=False)
        self._pool.shutdown(wait=True)

    def at(self, key: str, when: datetime, do: Callable[[], None]) -> None:
        due_in = max(when - self._clock.now(), timedelta(0))
        trigger = DateTrigger(run_date=datetime.now(UTC) + due_in, timezone=UTC)
        # A timer that sets itself again may be due before its first run has ended; with the default of one
        # instance APScheduler would skip that second run, and a date never comes back.
        self._scheduler.add_job(do, trigger, id=key, name=key, replace_existing=True, max_instances=_OVERLAPPING)

    def every(self, key: str, seconds: float, do: Callable[[], None]) -> None:
        """See the port; the first time after `seconds`. A run that takes longer makes the next one late."""
        trigger = IntervalTrigger(seconds=seconds, timezone=UTC)
        self._scheduler.add_job(do, trigger, id=key, name=key, replace_existing=True)


def _report(event: JobExecutionEvent) -> None:
    """A timer that failed must not end the others; the service journals what concerns an incident."""
    _log.error("timer failed", key=event.job_id, error=repr(event.exception), trace=event.traceback)
