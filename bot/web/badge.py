"""A badge for a wiki or a README: the table's state in one small picture, in words as well as in colour. Pure."""

from html import escape

from bot.domain.trust import Trust, TrustState

_COLOURS = {TrustState.TRUSTED: "#1b7342", TrustState.UNDER_REVIEW: "#8f5b00", TrustState.UNKNOWN: "#5a6b73"}
"""White on each has a contrast of more than 4.5."""
_CHARACTER, _EDGE, _HEIGHT = 6.9, 8.0, 22


def badge(trust: Trust) -> str:
    """An SVG that needs nothing else; its width follows its words."""
    left, right = trust.table, trust.state.value.replace("-", " ")
    split, rest = _width(left), _width(right)
    title = f"{left}: {right}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{split + rest:g}" height="{_HEIGHT}" role="img" '
        f'aria-label="{escape(title)}"><title>{escape(title)}</title>'
        f'<rect width="{split + rest:g}" height="{_HEIGHT}" rx="4" fill="{_COLOURS[trust.state]}"/>'
        f'<path d="M4 0H{split:g}V{_HEIGHT}H4a4 4 0 0 1-4-4V4a4 4 0 0 1 4-4z" fill="#16242b"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f"{_label(left, 0, split)}{_label(right, split, rest)}</g></svg>\n"
    )


def _width(text: str) -> float:
    return round(len(text) * _CHARACTER + 2 * _EDGE, 1)


def _label(text: str, x: float, width: float) -> str:
    """Squeezed into its place whatever font there is."""
    return (
        f'<text x="{x + width / 2:g}" y="15" textLength="{width - 2 * _EDGE:g}" '
        f'lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
    )
