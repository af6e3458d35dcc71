"""Answers before anybody starts a job whether a restore point is right for what is on main now. Reads only."""

import threading

from bot.history.case import Case
from bot.history.prediction import RestoreCheck, RestoreVerdict, combined, predict, right_ones
from bot.incident.setup import TableSetup
from bot.observation.errors import CouldNotLook
from bot.observation.evidence import Observation
from bot.observation.ids import TableName
from bot.observation.looked import NotSeen
from bot.observation.table import Window
from bot.ports import Clock
from bot.service.observing import Observer

_AT_ONCE = 4
"""Checks that are made at the same time; others wait."""
_PATIENCE_S = 20.0
_TRIED = 30
"""So many other points are held against main, the newest first, where the one that was asked about is wrong."""


class RestoreService:
    """Looks at catalog, storage and Flink for whoever asks; many may ask at once."""

    def __init__(self, observer: Observer, clock: Clock) -> None:
        self._observer = observer
        self._clock = clock
        self._places = threading.Semaphore(_AT_ONCE)

    def check(self, table: TableName, path: str, *, anywhere: bool = False) -> RestoreCheck:
        """Whether a start of the table's job from `path`, a restore point's folder or its `_metadata`, is right for
        what is on main now. `anywhere`: also on storage that is none of the job's. Raises UnknownTable.

        Cost: each table of the job is read once from its catalog, the point once from storage.
        """
        setup = self._observer.setup(table)
        if not self._places.acquire(timeout=_PATIENCE_S):
            busy = "Waterline answers as many questions as it can at the same time."
            return self._not_told(setup, path, busy, "Ask again in a few seconds.")
        try:
            return self._checked(setup, path.strip(), anywhere=anywhere)
        except CouldNotLook as error:
            return self._not_told(setup, path, f"{error.happened} {error.found}".strip(), error.remedy)
        finally:
            self._places.release()

    def _checked(self, setup: TableSetup, path: str, *, anywhere: bool) -> RestoreCheck:
        stored, seen = self._observer.before_a_start(setup, path, anywhere=anywhere)
        cases = [self._case(setup, each) for each in seen]
        found = tuple(predict(stored, each) for each in cases)
        alive = tuple(run.job_id for run in cases[0].runs if not run.is_terminal)
        verdict, reason, would_decide = combined(found, alive)
        looked = (seen[0].jobs, seen[0].others, seen[0].kafka)
        return RestoreCheck(
            table=setup.name,
            job=setup.job,
            path=path,
            verdict=verdict,
            reason=reason,
            would_decide=would_decide,
            kind=stored.kind,
            checkpoint=stored.checkpoint_id,
            run=stored.job_id,
            written_at=stored.written_at,
            alive=alive,
            tables=found,
            not_seen=tuple(f"{each.source}: {each.reason}" for each in looked if isinstance(each, NotSeen)),
            instead=self._instead(setup, cases) if verdict is RestoreVerdict.WRONG else None,
            checked_at=self._clock.now(),
        )

    def _instead(self, setup: TableSetup, cases: list[Case]) -> str | None:
        points = self._observer.restore_points(setup, cases[0].observation.table, cases[0].observation.jobs)
        if isinstance(points, NotSeen):
            return None
        there = [
            case.model_copy(update={"observation": case.observation.model_copy(update={"checkpoints": points})})
            for case in cases
        ]
        return next((each.path for each in right_ones(points.values[:_TRIED], there)), None)

    def _case(self, setup: TableSetup, seen: Observation) -> Case:
        return Case(
            observation=seen,
            window=Window(since=None, until=seen.table.head),
            contract=self._observer.setup(seen.table.name).contract,
            job_name=setup.job,
        )

    def _not_told(self, setup: TableSetup, path: str, reason: str, would_decide: str) -> RestoreCheck:
        return RestoreCheck(
            table=setup.name,
            job=setup.job,
            path=path,
            verdict=RestoreVerdict.CANNOT_TELL,
            reason=reason,
            would_decide=would_decide,
            checked_at=self._clock.now(),
        )
