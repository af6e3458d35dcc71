"""How well one colour is told from another, as WCAG counts it."""

import re


def contrast(one: str, other: str) -> float:
    """Of two colours, `#1d7a46`, `#fff` or `rgb(r, g, b)`: 1 to 21."""
    brighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in _parts(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _parts(colour: str) -> list[float]:
    if colour.startswith("#"):
        digits = colour[1:] if len(colour) == 7 else "".join(each * 2 for each in colour[1:])
        return [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    return [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
