"""`flinkConfiguration` as the operator reads it, whichever way people have written it, and what it says; pure."""

from collections.abc import Mapping

from bot.adapters.flink_starting import CLAIM_MODE

DRAIN = "kubernetes.operator.job.drain-on-savepoint-deletion"
RESTART_FAILED = "kubernetes.operator.job.restart.failed"
SAVEPOINT_DIR = "execution.checkpointing.savepoint-dir"
_SAVEPOINT_DIRS = (SAVEPOINT_DIR, "state.savepoints.dir")
_HIGH_AVAILABILITY = ("high-availability.type", "high-availability")
_CHECKPOINT_AGE = "kubernetes.operator.job.upgrade.last-state.max.allowed.checkpoint.age"
_CLAIM_MODES = (CLAIM_MODE, "execution.savepoint-restore-mode")


def flattened(told: object) -> object:
    """One setting a key, `a.b.c`, also where it is written as nested YAML, which operators since 1.13 take
    (`ConfigObjectNode.asFlatMap`). What is flat stays as it is. What is no mapping is left to whoever checks it."""
    return dict(_flat(told, "")) if isinstance(told, Mapping) else told


def is_on(settings: Mapping[str, object], key: str) -> bool:
    """Whether it is set to true."""
    return str(settings.get(key)).lower() == "true"


def has_folder(settings: Mapping[str, object]) -> bool:
    """Whether there is a place for savepoints."""
    return any(each in settings for each in _SAVEPOINT_DIRS)


def claim_in(settings: Mapping[str, object]) -> str | None:
    """The setting by which a run takes its restore point over: Flink deletes it with the run. None: it does not."""
    return next((each for each in _CLAIM_MODES if str(settings.get(each, "")).upper() == "CLAIM"), None)


def why_taken(settings: Mapping[str, object]) -> str | None:
    """Why the operator may take a savepoint of a running job although `last-state` is asked for; None: it takes none.

    By its own rules it does so without high availability, and once the newest checkpoint is older than a bound.
    """
    if not any(str(settings.get(key, "NONE")).upper() != "NONE" for key in _HIGH_AVAILABILITY):
        return f"no `{_HIGH_AVAILABILITY[0]}` in its flinkConfiguration, without which a savepoint is taken"
    if _CHECKPOINT_AGE in settings:
        return f"`{_CHECKPOINT_AGE}` in its flinkConfiguration, by which a savepoint may be taken"
    return None


def _flat(told: Mapping[str, object], under: str) -> list[tuple[str, object]]:
    settings: list[tuple[str, object]] = []
    for name, value in told.items():
        key = f"{under}.{name}" if under else name
        if isinstance(value, Mapping):
            settings += _flat(value, key)
        elif not isinstance(value, list):
            settings.append((key, value))
        elif value:
            settings.append((key, ";".join(map(_item, value))))
    return settings


def _item(value: object) -> str:
    """Of a list. The operator drops what is nested in one."""
    if isinstance(value, Mapping | list):
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
