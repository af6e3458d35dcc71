"""What a picture is made of: outlines, lines and labels, in the units of the picture."""

from typing import Literal

from bot.domain.record import Record

Point = tuple[float, float]
OUTLINES: tuple[tuple[Point, ...], ...] = (
    ((1, 0), (0.92, 0.38), (0.71, 0.71), (0.38, 0.92), (0, 1), (-0.38, 0.92), (-0.71, 0.71), (-0.92, 0.38),
     (-1, 0), (-0.92, -0.38), (-0.71, -0.71), (-0.38, -0.92), (0, -1), (0.38, -0.92), (0.71, -0.71), (0.92, -0.38)),
    ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
    ((0, 1.2), (1.15, -0.9), (-1.15, -0.9)),
    ((-0.4, -1.2), (0.4, -1.2), (0.4, -0.4), (1.2, -0.4), (1.2, 0.4), (0.4, 0.4), (0.4, 1.2), (-0.4, 1.2),
     (-0.4, 0.4), (-1.2, 0.4), (-1.2, -0.4), (-0.4, -0.4)),
)  # fmt: skip
"""Circle, square, diamond, triangle up, triangle down, plus, each of radius 1: so that colour is never the only
sign of a writer."""


class Shape(Record):
    """A closed outline in a lane's colour."""

    points: tuple[Point, ...]
    lane: int
    is_hollow: bool
    title: str
    """What a pointer resting on it reads."""


class Stroke(Record):
    """An open line."""

    points: tuple[Point, ...]
    style: Literal["link", "gone", "fault"]
    """`gone` and `fault` are dashed."""


class Label(Record):
    """One line of text; `y` is its baseline."""

    x: float
    y: float
    text: str
    style: Literal["lane", "time", "checkpoint", "note", "fault", "mark"]
    anchor: Literal["start", "middle", "end"] = "start"
