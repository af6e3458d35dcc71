"""Plays a recording: ports that answer as recorded, and take only the effects that were recorded."""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Protocol, cast

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from bot.bootstrap.outside import Outside
from bot.observation.errors import CommitRefused, CouldNotLook, EvidenceCancelled, EvidenceFailed
from bot.observation.ids import short_job
from bot.ports import (
    CheckpointStore,
    Clock,
    EvidenceRunner,
    FlinkJobs,
    JobPorts,
    ReadEvents,
    TableCatalog,
    TableFiles,
)
from bot.settings import Settings
from bot.tour.recording import EFFECTS, PORTS, Answer, PlayedClock, Recording, key_of, signature_of

_LONGEST_S = 1.5
"""So long a played call takes at most."""
_FASTER = 4
_REMEDY = "Run `make demo` in a checkout: there the world is real, and answers whatever you ask."
_NAME = re.compile(r"wl-\d+-.+|.{16,}", re.DOTALL)
"""What the bot may choose anew, such as a run's id or a tag: it then stands wherever the recorded one stood."""


class Answering(Protocol):
    def answer(self, call: str, arguments: dict[str, Any]) -> Any:
        """`call` is `port.method`."""


class Replay:
    """The recorded world, at one of its moments."""

    def __init__(
        self, recording: Recording, clock: PlayedClock, *, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._recording = recording
        self._clock = clock
        self._pause = pause
        self._index = 0
        self._renamed: dict[str, str] = {}
        self._cancelled: set[str] = set()
        self._lock = threading.Lock()

    def outside(self, _settings: Settings, _clock: Clock, _stack: ExitStack) -> Outside:
        return ports_of(self, self._recording)

    def answer(self, call: str, arguments: dict[str, Any]) -> Any:
        """What the recorded port answered at this moment."""
        if call == "runner.cancel":
            self._cancelled.add(arguments["tag"])
            return True
        if call in EFFECTS:
            return self._play(call, arguments)
        with self._lock:
            recorded = self._recording.moments[self._index].answers.get(key_of(call, arguments, self._as_recorded))
            renamed = dict(self._renamed)
        if recorded is None:
            kind = EvidenceFailed if call.startswith("runner.") else CouldNotLook
            raise kind(
                "This is a recording, and nobody asked this when it was made.",
                f"Expected a recorded answer of {call}; found none for this question.",
                _REMEDY,
            )
        if call == "runner.run":
            self._takes(recorded.took_s)
            if arguments["tag"] in self._cancelled:
                raise EvidenceCancelled("The task was stopped.", "", "Run it again when you want its answer.")
        return _with_names(recorded, renamed).given(call)

    def _play(self, call: str, arguments: dict[str, Any]) -> Any:
        with self._lock:
            effect = self._recording.moments[self._index].effect
            asked = to_jsonable_python([call, *arguments.values()])
            try:
                if effect is None:
                    raise _AnotherEffect
                self._renamed |= dict(_pairs([effect.call, *cast(list[JsonValue], effect.arguments)], asked))
            except _AnotherEffect:
                raise CommitRefused(
                    "This is a recording, and this step is not part of it. Nothing was changed.",
                    f"Expected {effect.call if effect else 'no further step'}, as recorded; found another {call}.",
                    _REMEDY,
                ) from None
            renamed = dict(self._renamed)
        self._takes(effect.answer.took_s)
        with self._lock:
            self._index += 1
            self._clock.jumps_to(self._recording.moments[self._index].at)
        return _with_names(effect.answer, renamed).given(call)

    def _takes(self, took_s: float) -> None:
        self._pause(min(took_s / _FASTER, _LONGEST_S))
        self._clock.passes(took_s)

    def _as_recorded(self, text: str) -> str:
        """With the recorded names in place of those of now."""
        for old, new in self._renamed.items():
            text = text.replace(new, old)
        return text


class Port:
    """Every method of one port, answered by one function of a world."""

    def __init__(self, world: "Answering", name: str) -> None:
        self._world = world
        self._name = name

    def __getattr__(self, method: str) -> Callable[..., Any]:
        call = f"{self._name}.{method}"

        def answer(*args: Any, **named: Any) -> Any:
            bound = signature_of(call).bind(None, *args, **named)
            bound.apply_defaults()
            return self._world.answer(call, {key: value for key, value in bound.arguments.items() if key != "self"})

        return answer


def ports_of(world: Answering, recording: Recording) -> Outside:
    """Every port that a recording has, answered by this world."""
    port = {name: Port(world, name) for name in PORTS}
    job = JobPorts(
        flink=cast(FlinkJobs, port["flink"]),
        checkpoints=cast(CheckpointStore, port["checkpoints"]),
    )
    return Outside(
        catalog=cast(TableCatalog, port["catalog"]),
        runner=cast(EvidenceRunner, port["runner"]),
        jobs=dict.fromkeys(cast(dict[str, Any], recording.settings["jobs"]), job),
        reads=cast(ReadEvents, port["reads"]),
        files=cast(TableFiles, port["files"]),
    )


class _AnotherEffect(Exception):
    """Raised where an effect is not the recorded one."""


def _pairs(recorded: JsonValue, now: JsonValue) -> Iterator[tuple[str, str]]:
    """Names of the recorded effect -> those of the one that is played. Raises _AnotherEffect."""
    match recorded, now:
        case str(), str() if recorded != now and _NAME.fullmatch(recorded) and _NAME.fullmatch(now):
            yield recorded, now
        case list(), list() if len(recorded) == len(now):
            for one, other in zip(recorded, now, strict=True):
                yield from _pairs(one, other)
        case dict(), dict():
            yield from _pairs([[*each] for each in sorted(recorded.items())], [[*each] for each in sorted(now.items())])
        case _ if recorded != now:
            raise _AnotherEffect


def _with_names(answer: Answer, renamed: dict[str, str]) -> Answer:
    if not renamed:
        return answer
    text = json.dumps(answer.model_dump(mode="json"))
    for old, new in renamed.items():
        text = text.replace(old, new).replace(short_job(old), short_job(new))
    return Answer.model_validate_json(text)
