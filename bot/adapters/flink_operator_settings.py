"""`flinkConfiguration` as the operator reads it, whichever way people have written it; pure."""

from collections.abc import Mapping


def flattened(told: object) -> object:
    """One setting a key, `a.b.c`, also where it is written as nested YAML, which operators since 1.13 take
    (`ConfigObjectNode.asFlatMap`). What is flat stays as it is. What is no mapping is left to whoever checks it."""
    return dict(_flat(told, "")) if isinstance(told, Mapping) else told


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
