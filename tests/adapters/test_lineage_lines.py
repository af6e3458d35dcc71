"""A long file of events is not held, and nobody is told anything else of it than who holds all of it would tell."""

import json
import tempfile
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.adapters.lineage import EventLines, OpenLineageFile
from bot.adapters.lineage_reading import MOST_STEPS
from bot.domain.errors import CouldNotLook
from bot.domain.looked import unread_in
from tests.adapters.conftest import NOON
from tests.adapters.test_lineage import AGES_AGO, ANOTHER, BY_LOCATION, BY_NAME, BY_SYMLINK, TABLE, event, scanned
from tests.adapters.whole_lineage import WholeLineage

SINCE = NOON
STREET = TABLE.model_copy(update={"name": "sales.straße", "location": "s3://lake/warehouse/sales/straße"})
_MARTS = tuple({"namespace": "s3://lake", "name": f"warehouse/mart/m{number}"} for number in range(4))
_INPUTS = (
    *_MARTS, ANOTHER, BY_LOCATION, BY_SYMLINK, BY_NAME, scanned(BY_NAME, 7), scanned(BY_LOCATION, 8),
    {"namespace": "trino://host", "name": "iceberg.sales.orders"},
    {"namespace": "arn:aws:glue:eu:1", "name": "table/sales/orders"},
    {"namespace": "trino://host", "name": "lake.sales.straße"},
    {"namespace": "file", "name": "/tmp", "facets": {"symlinks": {"identifiers": [BY_NAME, _MARTS[0]]}}},
)  # fmt: skip
_ODD: st.SearchStrategy[Any] = st.sampled_from((None, True, 1, 2.5, "text", "", [], {}, [None], {"runId": 1}))
_TIMES = st.one_of(
    st.sampled_from([*range(-3, 4)]).map(lambda hours: (SINCE + timedelta(hours=hours)).isoformat()),
    st.sampled_from(
        (
            "2026-11-03T10:00:00Z", "2026-11-03T10:00:00.1234567Z", "2026-11-03 10:00:00+00:00", "2026-11-03",
            "2026-11-03T10:00:00", "2026-11-03T24:00:00Z", "20261103T100000Z", "2026-W45-2T10:00:00Z", 1_700_000_000,
            "1700000000", "2026-11-03T23:00:00+23:59", "2026-11-03T10:00:00+24:00", "0001-01-01T00:00:00+05:00",
        )
    ),
)  # fmt: skip
_BROKEN = st.sampled_from(
    (
        b"", b" \t", b"\x0b", b"\r", b"{broken", b"[]", b"{}{}", b"\xff", b'{"a": "\xff"}', b"\xef\xbb\xbf{}", b"NaN",
        b'{"eventTime": "2026-11-03T10:00:00Z", "a": "\\ud800"}', b'{"eventTime": "2026-11-03T10:00:00Z", "a": NaN}',
        b'{"eventTime": "2026-11-03T10:00:00Z", "a": ' + b"9" * 5000 + b"}",
        b'{"eventTime": "2026-11-03T10:00:00Z", "run": ' + b"[" * 300 + b"]" * 300 + b"}",
        b"[" * 5000,
    )
)  # fmt: skip


@st.composite
def _spelled(draw: st.DrawFn, value: object) -> str:
    """The value as JSON, with any spaces, escapes and keys that come twice."""
    space = st.sampled_from(("", "", " ", "\t", " \r "))
    if isinstance(value, dict):
        pairs = [(key, each) for key, each in value.items() for _ in range(draw(st.sampled_from((1, 1, 1, 1, 2))))]
        last = len(pairs) - 1
        told = [
            draw(_spelled(key)) + draw(space) + ":" + draw(space)
            + draw(_spelled(each if at == last or pairs[at + 1][0] != key else draw(_ODD)))
            for at, (key, each) in enumerate(pairs)
        ]  # fmt: skip
        return "{" + draw(space) + ",".join(told) + draw(space) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(draw(space) + draw(_spelled(each)) for each in value) + draw(space) + "]"
    if not isinstance(value, str):
        return json.dumps(value)
    plain = json.dumps(value, ensure_ascii=draw(st.booleans()))
    how = draw(st.integers(0, 5))
    if how == 0:
        return plain.replace("/", "\\/")
    return '"' + "".join(f"\\u{ord(each):04x}" for each in value) + '"' if how == 1 else plain


@st.composite
def _line(draw: st.DrawFn) -> bytes:
    if draw(st.integers(0, 9)) == 0:
        return draw(_BROKEN)
    facets: dict[str, Any] = draw(
        st.sampled_from(
            ({}, {"parent": {"job": {"name": "app"}, "run": {"runId": "a"}}}, {"sql": "a\nb \"runId\": 'r1'"})
        )
    )
    told: dict[str, Any] = {
        "eventTime": draw(_TIMES),
        "run": {"runId": draw(st.sampled_from(("r1", "r2", "r3", "r4", "ü/5"))), "facets": facets},
        "job": {"namespace": "n", "name": draw(st.sampled_from(("app", "app.node", "b")))},
        "inputs": draw(st.lists(st.sampled_from(_INPUTS), max_size=2)),
        "outputs": draw(st.lists(st.sampled_from(_MARTS), max_size=2)),
        "nested": {"inputs": [BY_NAME], "eventTime": "2020-01-01T00:00:00Z", "run": {"runId": "r1"}},
    }
    for key in draw(st.lists(st.sampled_from(sorted(told)), max_size=1)):
        if draw(st.booleans()):
            del told[key]
        elif key in ("run", "job") and draw(st.booleans()):
            told[key] = {**told[key], draw(st.sampled_from(("runId", "name", "facets"))): draw(_ODD)}
        else:
            told[key] = draw(_ODD)
    text = draw(_spelled(told)).encode()
    return text[: draw(st.integers(0, len(text)))] if draw(st.integers(0, 19)) == 0 else text


def _told(ask: Callable[[], tuple[Any, ...]]) -> object:
    """What is answered, and what beside it could not be read."""
    try:
        found = ask()
    except CouldNotLook as error:
        return error.happened
    return tuple(found), unread_in(found)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(_line(), max_size=8), st.sampled_from((b"", b"\n")), st.sampled_from((None, (), ("iceberg",))))
@example([b'{"eventTime": "2026-11-03T10:00:00Z", "run": {"runId": "r1"}, "inputs": 1}'], b"\n", None)
def test_what_is_told_is_what_the_whole_file_tells(
    lines: list[bytes], end: bytes, names: tuple[str, ...] | None
) -> None:
    """Whatever the lines are: near and far readers, lines that are none, and names that are not known."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "events.jsonl"
        file.write_bytes(b"\n".join(lines) + end)
        whole, ours = WholeLineage(file, "lake", names), OpenLineageFile(file, "lake", names)
        for table in (TABLE, STREET):
            near, unknown, bad = whole.reads(table, SINCE), whole.unknown(table, SINCE), whole.bad(SINCE)
            count = f"{len(bad)} line{'s' if len(bad) > 1 else ''} of events.jsonl"
            cut = f"{count} could not be read, the first is line {bad[0]}" if bad else None
            unread = "; ".join(each for each in (cut, unknown) if each) or None
            if bad and not near:
                expected: object = f"It is not known who read {table.name}: lineage events could not be read."
            elif unknown and not near:
                expected = f"It is not known who read {table.name}: it may have been read under another name."
            else:
                expected = (near, unread)

            assert expected == _told(lambda table=table: ours.reads(table, SINCE))
            assert (whole.downstream(table, SINCE), unread) == _told(lambda table=table: ours.downstream(table, SINCE))


def test_a_long_file_is_not_held(tmp_path: Path) -> None:
    """Of events of other tables only a few bytes each, whenever they came; the readers are found among them."""
    file = tmp_path / "events.jsonl"
    others = [event(ANOTHER, run=f"r{number}", minute=number % 60) for number in range(5000)]
    file.write_text("\n".join([event(scanned(BY_NAME, 7), run="mine"), *others]) + "\n")
    source = OpenLineageFile(file, "lake")
    source.reads(TABLE, AGES_AGO)

    for since in (NOON - timedelta(days=1), NOON + timedelta(days=1)):
        tracemalloc.start()
        near, far = source.reads(TABLE, since), source.downstream(TABLE, since)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert peak < 2_500_000
        assert (len(near), far) == (1 if since < NOON else 0, ())


def test_readers_are_followed_as_far_as_before_and_no_further(tmp_path: Path) -> None:
    """A chain that is longer than what is followed, its runs in the file in the wrong order; the first began early."""
    mart = [{"namespace": "s3://lake", "name": f"mart/m{number}"} for number in range(MOST_STEPS + 4)]
    lines = [
        {**json.loads(event(mart[number], run=f"r{number}", minute=number)), "outputs": [mart[number + 1]]}
        for number in range(MOST_STEPS + 3)
    ]
    origin = json.loads(event(BY_NAME, run="origin", minute=-1))
    early = {**origin, "inputs": [], "eventTime": (NOON - timedelta(days=9)).isoformat(), "outputs": [mart[0]]}
    old = json.loads(event(mart[0], run="old", minute=-3000))
    gone = json.loads(event(mart[0], run="gone", minute=-30_000))
    file = tmp_path / "events.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in [*reversed(lines), gone, old, early, origin]))
    since = NOON - timedelta(hours=1)

    far = OpenLineageFile(file, "lake").downstream(TABLE, since)

    assert WholeLineage(file, "lake").downstream(TABLE, since) == far
    assert {"old", *(f"r{number}" for number in range(MOST_STEPS))} == {each.run_id for each in far}


def test_events_of_a_run_count_whenever_they_came(tmp_path: Path) -> None:
    """Its consumer is the one of its first event, from long before the look; a wrong event of that time is left out."""
    file = tmp_path / "events.jsonl"
    first = event(job="as_it_began", minute=-3000)
    wrong = json.dumps({**json.loads(event(minute=-3001, job="wrong")), "inputs": 1})
    file.write_text("\n".join([event(scanned(BY_NAME, 7)), wrong, first]) + "\n")

    told = OpenLineageFile(file, "lake").reads(TABLE, NOON - timedelta(hours=1))

    assert [read.consumer for read in told] == ["as_it_began"]
    assert unread_in(told) is None


def test_a_file_that_becomes_shorter_meanwhile_could_not_be_looked_into(tmp_path: Path) -> None:
    """What was cut off may have told of readers."""
    file = tmp_path / "events.jsonl"
    file.write_text(event(BY_NAME) + "\n")

    with file.open("rb") as opened:
        lines = EventLines(opened, AGES_AGO, lambda _: True)
        file.write_text("")

        with pytest.raises(OSError, match="it became shorter"):
            list(lines.of(lines.asked))


@pytest.mark.parametrize("more", ["[" * 100_000, '{"eventTime": '])
def test_a_line_of_any_depth_is_a_line_that_cannot_be_read(tmp_path: Path, more: str) -> None:
    """Python's parser gives up with an error of its own."""
    file = tmp_path / "events.jsonl"
    file.write_text(more + "\n" + event(scanned(BY_NAME, 7)) + "\n")

    told = OpenLineageFile(file, "lake").reads(TABLE, AGES_AGO)

    assert unread_in(told) == "1 line of events.jsonl could not be read, the first is line 1"


def test_an_old_line_with_a_number_of_any_length_is_old(tmp_path: Path) -> None:
    """Python refuses to read the digits, which say nothing of the time."""
    file = tmp_path / "events.jsonl"
    file.write_text('{"eventTime": "2000-01-01 00:00:00Z", "run": ' + "9" * 5000 + "}\n")

    assert OpenLineageFile(file, "lake").reads(TABLE, datetime(2020, 1, 1, tzinfo=UTC)) == ()
