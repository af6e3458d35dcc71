"""Which type of a column may become which: what Iceberg promotes, readers still read from older files."""

import re

_WIDER = {"int": "long", "float": "double"}
_DATES = ("timestamp", "timestamp_ns")
_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")


def may_become(before: str, now: str) -> bool:
    """Whether files with the type `before` are read as `now`; both in Iceberg's words. Nested types of one kind are
    not looked into. Source: the Iceberg specification, schema evolution, format 3."""
    if before in {now, "unknown"}:
        return True
    if "<" in before or "<" in now:
        return before.split("<")[0] == now.split("<")[0]
    if _WIDER.get(before) == now or (before == "date" and now in _DATES):
        return True
    one, other = _DECIMAL.fullmatch(before), _DECIMAL.fullmatch(now)
    if one is None or other is None:
        return False
    return one[2] == other[2] and int(one[1]) <= int(other[1])
