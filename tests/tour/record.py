"""Records an incident of the lab for `waterline tour`: `python -m tests.tour.record STORY NAME TITLE`.

The world stands still for the bot between two effects, here as in the tour: the first answer to a question counts.
"""

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python
from ruamel.yaml import YAML

from bot.adapters.clock import SystemClock
from bot.bootstrap.outside import Outside, outside_of
from bot.cli.demo import SYMPTOMS, write_config
from bot.cli.tour import CHANNEL, bot_in
from bot.cli.walk import Walk
from bot.lab.lab import Lab
from bot.observation.errors import WaterlineError
from bot.ports import Clock
from bot.settings import Settings
from bot.tour.recording import (
    EFFECTS,
    Answer,
    Effect,
    Moment,
    PlayedClock,
    Recording,
    error_parts,
    key_of,
    result_of,
    write_recording,
)
from bot.tour.replaying import ports_of
from bot.workspace import SeenMessage, Workspace

SETTLES_S = {"flink.start": 25.0, "flink.stop": 2.0}
"""So long the world goes on after an effect, before it stands still again."""


class Recorder:
    """The real world, of which every answer is written down."""

    def __init__(self, real: Settings, recording: Recording, clock: PlayedClock, stack: ExitStack) -> None:
        self._real = outside_of(real, SystemClock(), stack)
        self._clock = clock
        self._began = datetime.now(UTC)
        self._answers: dict[str, Answer] = {}
        self._gave: dict[str, Any] = {}
        self._asking: dict[str, threading.Lock] = {}
        self._are_asked = 0
        self._counting = threading.Lock()
        self.moments: list[Moment] = []
        self.recording = recording

    def begins(self) -> None:
        """With Spark warm, and from now on."""
        self._real.runner.warm()
        self._began = datetime.now(UTC)
        self._clock.jumps_to(self._began)

    def outside(self, _settings: Settings, _clock: Clock, _stack: ExitStack) -> Outside:
        return ports_of(self, self.recording)

    def answer(self, call: str, arguments: dict[str, Any]) -> Any:
        port, method = call.split(".")
        [job] = self._real.jobs.values()
        ask = getattr(getattr(job if hasattr(job, port) else self._real, port), method)
        if call in EFFECTS:
            return self._acts(call, ask, arguments)
        key, answers, gave = key_of(call, arguments), self._answers, self._gave
        with self._asking.setdefault(key, threading.Lock()):
            if key not in answers:
                answers[key], gave[key] = self._asked(call, ask, arguments)
        return _or_raised(gave[key])

    def waits_for_the_end(self, limit_s: float = 20) -> None:
        """Closing lets snapshot expiry go on, if the incident had stopped it: one more effect."""
        deadline, known = time.monotonic() + limit_s, len(self.moments)
        while known and len(self.moments) == known and time.monotonic() < deadline:
            time.sleep(0.2)

    def waits_until_quiet(self, for_s: float = 12) -> None:
        """Nothing is being asked, and nothing new has been."""
        since, known = time.monotonic(), -1
        while time.monotonic() - since < for_s:
            if known != (now := len(self._answers)) or self._are_asked:
                since, known = time.monotonic(), now
            time.sleep(0.2)

    def end(self, tables: Iterable[str], jobs: Iterable[str]) -> tuple[Moment, ...]:
        """All moments; in the last one, table and job can be asked."""
        for table in tables:
            self.answer("catalog.load", {"table": table})
        for job in jobs:
            self.answer("flink.runs", {"job": job})
        return (*self.moments, Moment(at=self._began, answers=self._answers))

    def _asked(self, call: str, ask: Any, arguments: dict[str, Any]) -> tuple[Answer, Any]:
        began = time.monotonic()
        with self._counting:
            self._are_asked += 1
        try:
            value = ask(**arguments)
        except WaterlineError as error:
            return Answer(error=error_parts(error), took_s=round(time.monotonic() - began, 2)), error
        finally:
            with self._counting:
                self._are_asked -= 1
        took_s = round(time.monotonic() - began, 2)
        if call == "runner.run":
            self._clock.passes(took_s)
        told = None if value is None else result_of(call).dump_python(value, mode="json")
        return Answer(value=told, took_s=took_s), value

    def _acts(self, call: str, ask: Any, arguments: dict[str, Any]) -> Any:
        answer, value = self._asked(call, ask, arguments)
        time.sleep(SETTLES_S.get(call, 0))
        effect = Effect(call=call, arguments=to_jsonable_python(list(arguments.values())), answer=answer)
        self.moments.append(Moment(at=self._began, answers=self._answers, effect=effect))
        self._began, self._answers, self._gave, self._asking = datetime.now(UTC), {}, {}, {}
        self._clock.jumps_to(self._began)
        return _or_raised(value)


class _CuriousWalk(Walk):
    """Also asks what a visitor may ask before the incident is closed."""

    def __init__(self, recorder: Recorder, workspace: Workspace, runbook: str) -> None:
        super().__init__(workspace, runbook, _say)
        self._recorder = recorder

    def _close(self, label: str, card: SeenMessage) -> None:
        for command in ("diagnose", "commits"):
            self._ana.types(f"/waterline {command}", CHANNEL)
            self._recorder.waits_until_quiet()
        super()._close(label, card)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _or_raised(value: Any) -> Any:
    if isinstance(value, WaterlineError):
        raise value
    return value


def record(story: str, name: str, title: str, sink: Any) -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        home = Path(folder).resolve()
        lab = stack.enter_context(Lab(home / "lab", sink=sink, checkpoint_every=timedelta(seconds=3)))
        state = lab.start()
        workspace = stack.enter_context(Workspace().serve())
        config = write_config(home, state, workspace.api_url, workspace.world.cast)
        told = YAML(typ="safe").load(config.read_text())
        clock = PlayedClock(datetime.now(UTC))
        [job] = told["jobs"].values()
        [table] = told["tables"].values()
        table.pop("replay")
        job.pop("start")
        settings = {"jobs": told["jobs"], "tables": told["tables"]}
        recording = Recording(
            title=title,
            runbook=SYMPTOMS.get(story, "job-restarted"),
            settings=settings,
            moments=(),
        )
        recorder = Recorder(Settings.load(config), recording, clock, stack)
        lab.tell(story)
        recorder.begins()
        with bot_in(workspace, settings, threading.Event(), recorder.outside, clock):
            _CuriousWalk(recorder, workspace, recording.runbook).run()
            recorder.waits_for_the_end()
        moments = recorder.end(told["tables"], told["jobs"])
        write_recording(
            name, recording.model_copy(update={"moments": moments}), {f"{home}/lab": "/lab", str(home): "/lab"}
        )


if __name__ == "__main__":
    asked = argparse.ArgumentParser()
    for argument in ("story", "name", "title"):
        asked.add_argument(argument)
    asked.add_argument("--sink", default="v2")
    told = asked.parse_args()
    record(told.story, told.name, told.title, told.sink)
