"""Pictures of the ledger in an incident's thread.

The ledger's picture as PNG, for Slack shows no SVG. Drawn large and made smaller, so that edges are smooth.
"""

import io
from collections.abc import Sequence
from functools import cache
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from bot.incident.incident import Incident
from bot.observation.evidence import Evidence
from bot.observation.findings import LedgerFinding
from bot.observation.ids import EvidenceId
from bot.ports import Post
from bot.service.ledger_picture import Picture, Point, Stroke, ledger_view, not_drawn
from bot.service.services import Services
from bot.slack.sent_before import said_instead

_SHOWN, _DRAWN = 2, 4
"""Pixels for each unit: in the file (a phone's screen is dense), and while drawing."""
_PAPER, _WATER, _INK, _SOFT, _SEA, _BAD = "#ffffff", "#d8eef3", "#16242b", "#5a6b73", "#0b6e82", "#b3261e"
_LANES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe and Ito's colours, which people with any colour vision tell apart."""
_INKS = {"lane": _INK, "time": _SOFT, "checkpoint": _SOFT, "note": _INK, "fault": _BAD, "mark": _SEA}
_ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}
_LETTERS, _FONT = 11.5, "DejaVuSans.ttf"
_LINE, _DASH = 1.5, 3.0
_PLAIN = str.maketrans({"–": "-", "−": "-", "→": ">"})
"""What the font that Pillow brings lacks."""


def png(picture: Picture) -> bytes:
    """A PNG of twice the picture's units."""
    width, height = round(picture.width * _DRAWN), round(picture.height * _DRAWN)
    image = Image.new("RGB", (width, height), _PAPER)
    draw = ImageDraw.Draw(image)
    line = picture.waterline
    if line is not None:
        draw.rectangle((0, line * _DRAWN, width, height), fill=_WATER)
    for stroke in picture.strokes:
        _stroke(draw, stroke)
    for shape in picture.shapes:
        corners = _scaled(shape.points)
        colour = _LANES[shape.lane]
        draw.polygon(corners, fill=_PAPER if shape.is_hollow else colour)
        draw.line([*corners, *corners[:2]], fill=colour, width=2 * _DRAWN, joint="curve")
    if line is not None:
        draw.line((0, line * _DRAWN, width, line * _DRAWN), fill=_SEA, width=round(2.5 * _DRAWN))
    letters, is_whole = _font()
    for label in picture.labels:
        at = (label.x * _DRAWN, label.y * _DRAWN)
        text = label.text if is_whole else label.text.translate(_PLAIN)
        draw.text(at, text, fill=_INKS[label.style], font=letters, anchor=_ANCHORS[label.anchor])
    shown = image.resize((width * _SHOWN // _DRAWN, height * _SHOWN // _DRAWN), Image.Resampling.LANCZOS)
    written = io.BytesIO()
    shown.quantize(128, dither=Image.Dither.NONE).save(written, "PNG", optimize=True)
    return written.getvalue()


@cache
def _font() -> tuple[ImageFont.FreeTypeFont | ImageFont.ImageFont, bool]:
    """(a font, whether it has every sign that we write): the machine's if it has the usual one, else Pillow's."""
    size = _LETTERS * _DRAWN
    try:
        return ImageFont.truetype(_FONT, size * 0.92), True
    except OSError:
        return ImageFont.load_default(size), False


def _scaled(points: Sequence[Point]) -> list[Point]:
    return [(x * _DRAWN, y * _DRAWN) for x, y in points]


def _stroke(draw: ImageDraw.ImageDraw, stroke: Stroke) -> None:
    if stroke.style == "fault":
        draw.line(_scaled(stroke.points), fill=_BAD, width=round(2.5 * _DRAWN))
        return
    for start, end in zip(stroke.points, stroke.points[1:], strict=False):
        parts = _dashes(start, end) if stroke.style == "gone" else [(start, end)]
        for part in parts:
            draw.line(_scaled(part), fill=_SOFT, width=round(_LINE * _DRAWN))


def _dashes(start: Point, end: Point) -> list[tuple[Point, Point]]:
    """The line from `start` to `end` with as long gaps as dashes."""
    (x, y), (to_x, to_y) = start, end
    length = max(((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5, 1e-6)
    along = [min(n * _DASH, length) / length for n in range(int(length / _DASH) + 2)]
    places = [(x + (to_x - x) * part, y + (to_y - y) * part) for part in along]
    return list(zip(places[::2], places[1::2], strict=False))


KIND = "picture"
_COMMENT = (
    "Newest on top, times in UTC. One shape per writer; numbers are checkpoints. Hollow: no longer in the table. "
    "Cross: files may be missing."
)
_READERS_UNKNOWN = " Readers are unknown: no lineage source answered."


def has_picture(incident: Incident, run: EvidenceId) -> bool:
    """Whether this run answered with a ledger that has commits, and that shows something new."""
    evidence = incident.runs[run].evidence
    if evidence is None or not _shown(evidence):
        return False
    answered = [other.evidence for other in incident.runs.values() if other.run != run and other.evidence is not None]
    earlier = [other for other in answered if isinstance(other.finding, LedgerFinding) and other.at < evidence.at]
    before = max(earlier, key=lambda other: other.at, default=None)
    return before is None or _shown(before) != _shown(evidence)


def _shown(evidence: Evidence) -> list[object]:
    """What a picture of its ledger would show; empty for any other finding."""
    if not isinstance(evidence.finding, LedgerFinding) or not evidence.finding.ledger.rows:
        return []
    ledger = evidence.finding.ledger
    return [ledger.trailing, *((row.snapshot_id, row.on_main, row.readers, row.skipped) for row in ledger.rows)]


def instead_of(post: Post, problem: str) -> Post:
    """Says once in the incident's thread that pictures cannot be posted, and what would mend it."""
    what, otherwise = "The ledger could not be posted as a picture", "Type `/waterline commits` for the list."
    return said_instead(post, KIND, what, otherwise, problem)


def made(services: Services, post: Post) -> tuple[str, list[dict[str, Any]]]:
    """(comment, the picture of the post's run as a file to be uploaded)."""
    assert post.incident is not None
    incident = services.store.get(post.incident)
    view = ledger_view(incident, EvidenceId(post.key.rsplit("/", 1)[1]))
    assert view is not None
    return comment_on(view.picture), [
        {
            "file": png(view.picture),
            "filename": file_name(post),
            "title": f"Ledger of {incident.opened.table}",
            "alt_txt": view.picture.alt[:1000],
        }
    ]


def comment_on(picture: Picture) -> str:
    """How it is to be read, and what it does not show."""
    told = _COMMENT
    if picture.left_out:
        told += f" {not_drawn(picture.left_out)}."
    return told + ("" if picture.readers_known else _READERS_UNKNOWN)


def file_name(post: Post) -> str:
    """Tells this picture from every other of the incident."""
    run = post.key.rsplit("/", 1)[1]
    return f"{post.incident}-ledger-{run[-8:].lower()}.png"
