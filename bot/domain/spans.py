"""How long something took or lasts, in words."""

from datetime import timedelta


def span(took: timedelta) -> str:
    """The two largest units that count: `2 d 3 h`, `4 min 10 s`, `12 s`; below a second `0.5 s`."""
    if timedelta(0) < took < timedelta(seconds=1):
        return f"{took.total_seconds():.2g} s"
    seconds = round(took.total_seconds())
    parts: list[str] = []
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        count, seconds = divmod(seconds, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])
