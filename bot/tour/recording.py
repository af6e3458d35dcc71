"""A recorded incident: what each outermost port answered, at each moment between two effects."""

import gzip
import json
import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from inspect import Signature, signature
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import JsonValue, TypeAdapter

from bot.observation import errors
from bot.observation.errors import BadConfiguration, WaterlineError
from bot.observation.evidence import Ask, Task
from bot.observation.record import Record, Utc
from bot.observation.written import WriterSource
from bot.ports import CheckpointStore, EvidenceRunner, FlinkJobs, ReadEvents, TableCatalog, TableFiles

FOLDER = Path(__file__).parent / "recordings"
_SUFFIX = ".json.gz"
PORTS: Mapping[str, type] = {
    "catalog": TableCatalog,
    "runner": EvidenceRunner,
    "flink": FlinkJobs,
    "checkpoints": CheckpointStore,
    "reads": ReadEvents,
    "files": TableFiles,
}
EFFECTS = frozenset({"catalog.commit", "catalog.change_files", "catalog.delete_rows", "flink.stop", "flink.start"})
"""Calls that change the world. A recording has one between each two of its moments."""


class Answer(Record):
    value: JsonValue = None
    error: tuple[str, str, str, str] | None = None
    """Class and three parts of the error that was raised in place of a value."""
    took_s: float = 0.0

    def given(self, call: str) -> Any:
        if self.error is not None:
            kind, *parts = self.error
            raise getattr(errors, kind)(*parts)
        return result_of(call).validate_python(self.value, strict=False) if self.value is not None else None


class Effect(Record):
    call: str
    arguments: JsonValue
    answer: Answer


class Moment(Record):
    at: Utc
    answers: dict[str, Answer]
    """By call and what was asked."""
    effect: Effect | None = None
    """What ends the moment; None for the last one."""


class Recording(Record):
    title: str
    """What happened, a line for the list."""
    runbook: str
    settings: dict[str, JsonValue]
    """Jobs and tables, as in the file that configures a bot."""
    moments: tuple[Moment, ...]


def recordings() -> dict[str, Path]:
    """Name -> file of each that the package has."""
    return {path.name.removesuffix(_SUFFIX): path for path in sorted(FOLDER.glob(f"*{_SUFFIX}"))}


def find_recording(name: str) -> Recording:
    """Raises BadConfiguration, naming those that exist, where there is none of this name."""
    found = recordings()
    if name not in found:
        raise BadConfiguration(
            f"There is no recorded incident {name}.",
            f"Expected one of {', '.join(found)}; found no such name.",
            "Choose one of these; `waterline tour --list` says what each is about.",
        )
    return Recording.model_validate_json(gzip.decompress(found[name].read_bytes()))


def write_recording(name: str, recording: Recording, instead: Mapping[str, str]) -> None:
    """Into the package. `instead`: folders of this machine -> what is written in their place."""
    text = recording.model_dump_json(exclude_defaults=True)
    for path, shown in instead.items():
        text = text.replace(path, shown)
    (FOLDER / f"{name}{_SUFFIX}").write_bytes(gzip.compress(text.encode(), mtime=0))


def signature_of(call: str) -> Signature:
    port, method = call.split(".")
    return signature(getattr(PORTS[port], method))


def result_of(call: str) -> TypeAdapter[Any]:
    """How the answer of a call is read and written."""
    port, method = call.split(".")
    return TypeAdapter(get_type_hints(getattr(PORTS[port], method))["return"])


def key_of(call: str, arguments: Mapping[str, Any], as_recorded: Callable[[str], str] = str) -> str:
    """A call with what tells its question from others: not the table, the time and the name of a run, which follow
    from the moment. `as_recorded`: puts recorded names in the place of those of now."""
    asked: list[Any] = []
    for name, value in arguments.items():
        match value:
            case _ if name == "tag":
                pass
            case Task():
                asked.append(value.name)
            case Ask():
                asked += [value.branch, value.window.model_dump(mode="json")]
            case WriterSource():
                asked.append(as_recorded(value.model_dump_json(exclude={"commit"})))
            case str():
                asked.append(as_recorded(value))
            case int() | None:
                asked.append(value)
            case tuple() | list() | frozenset():
                asked.append(sorted(as_recorded(str(each)) for each in value))
            case _:
                pass
    return f"{call} {json.dumps(asked)}"


def error_parts(error: WaterlineError) -> tuple[str, str, str, str]:
    return type(error).__name__, error.happened, error.found, error.remedy


_PACE = 0.05


class PlayedClock:
    """The time of a recorded world, which stands still between its moments.

    It goes on by what played calls had taken, and else so slowly that nobody takes the job for one that has stopped."""

    def __init__(self, at: datetime, on_jump: Callable[[timedelta], None] = lambda _: None) -> None:
        self._at = at
        self._since = time.monotonic()
        self._on_jump = on_jump
        self._lock = threading.Lock()

    def now(self) -> datetime:
        with self._lock:
            return self._now()

    def passes(self, took_s: float) -> None:
        with self._lock:
            self._at += timedelta(seconds=took_s)

    def jumps_to(self, at: datetime) -> None:
        """The next moment has come; never backwards."""
        with self._lock:
            by = at - self._now()
            if by > timedelta():
                self._at += by
                self._on_jump(by)

    def _now(self) -> datetime:
        return self._at + timedelta(seconds=(time.monotonic() - self._since) * _PACE)
