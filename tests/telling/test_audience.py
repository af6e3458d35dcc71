"""Who is told, and in which form: declared, named by the contract, or seen reading."""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from bot.adapters.contracts import announced_to, once_each
from bot.adapters.journal_sql import Store, open_store
from bot.adapters.lineage import OpenLineageFile
from bot.incident.approval import ApprovalPolicy
from bot.incident.entries import NoticeEnded, NoticeQueued, NoticesHeld, NoticesPreviewed, ReadersNoted, WaterlineMoved
from bot.incident.incident import Incident
from bot.incident.notice import Notice, NoticeData, ObservedReader, RerunData
from bot.notices import render, scan
from bot.notices.affecting import affected_commits
from bot.notices.forms import as_fragment, as_html, as_markdown, as_plain
from bot.notices.lint import MOST_CHARACTERS
from bot.notices.reading import ReadThrough, observed_readers, reading_of
from bot.notices.samples import samples
from bot.observation.errors import Refused
from bot.observation.looked import Seen
from bot.observation.readers import Address, Consumer, FarRead, ReadRun, Untold
from bot.observation.sentences import clock_time
from bot.service.notices.late_readers import runs_told
from bot.service.notices.policy import cleared as told_that_all_is_well
from bot.service.notices.policy import is_said_already, queued
from bot.slack.limits import SECTION_TEXT, pages
from tests import orders_table as orders
from tests.decisions import BEN
from tests.incidents import Story
from tests.telling.conftest import Scene


def _event(run: str, job: str, *, reads: str, writes: str | None, minute: int, snapshot: int | None = None) -> str:
    facets = {"icebergScanReport": {"snapshotId": snapshot}} if snapshot else {}
    return json.dumps(
        {
            "eventType": "COMPLETE", "eventTime": (orders.NINE + timedelta(minutes=minute)).isoformat(),
            "run": {"runId": run}, "job": {"namespace": "spark", "name": job},
            "inputs": [{"namespace": "lake", "name": reads, "inputFacets": facets}],
            "outputs": [{"namespace": "lake", "name": writes}] if writes else [],
        }
    )  # fmt: skip


def _lineage(folder: Path, *events: str) -> OpenLineageFile:
    (folder / "events.jsonl").write_text("\n".join(events) + "\n", encoding="utf-8")
    return OpenLineageFile(folder / "events.jsonl", "lake")


def test_readers_of_readers_are_found_with_their_distance(tmp_path: Path) -> None:
    """Over two datasets; what ran before its input was written is not among them, and a circle ends."""
    lineage = _lineage(
        tmp_path,
        _event("r1", "revenue_daily", reads=orders.TABLE, writes="marts.revenue", minute=1, snapshot=orders.HEAD),
        _event("r2", "kpi_hourly", reads="marts.revenue", writes="marts.kpi", minute=2),
        _event("r3", "board_report", reads="marts.kpi", writes="marts.revenue", minute=3),
        _event("r4", "too_early", reads="marts.revenue", writes=None, minute=0),
        _event("r5", "elsewhere", reads="marts.other", writes=None, minute=4),
    )

    far = lineage.downstream(orders.table_state(), orders.NINE - timedelta(days=1))

    assert [(f.consumer, f.distance, f.origin, f.snapshot_id) for f in far] == [
        ("kpi_hourly", 2, "r1", orders.HEAD),
        ("board_report", 3, "r1", orders.HEAD),
    ]
    assert far[1].path == ("revenue_daily", "marts.revenue", "kpi_hourly", "marts.kpi")


def test_who_read_through_others_is_told_so_and_strangers_are_named(scene: Scene) -> None:
    """Not 'you did not read it'; and who is seen without being declared is kept apart."""
    doubted = scene.story.says(WaterlineMoved(snapshot=orders.GOOD, status="under-review"))
    affected = affected_commits(doubted.incident, orders.table_state())
    reads = Seen[ReadRun](
        source="lineage", values=(ReadRun(consumer="notebook", run_id="r1", at=orders.NINE, snapshot_id=orders.HEAD),)
    )
    through = FarRead(
        consumer="kpi_hourly", run_id="r2", at=orders.NINE, origin="r1", snapshot_id=orders.HEAD, path=("notebook", "t")
    )
    far = Seen[FarRead](source="lineage", values=(through,))

    reading = reading_of(Consumer(name="kpi_hourly", channel="C0KPI0001"), affected, reads, far)
    seen = observed_readers(["kpi_hourly"], affected, reads, far)

    assert isinstance(reading, ReadThrough)
    assert [run.run_id for run in reading.runs] == ["r2"]
    assert [(each.consumer, each.distance, each.is_declared) for each in seen] == [
        ("notebook", 1, False),
        ("kpi_hourly", 2, True),
    ]


def test_a_contracts_announcement_channels_are_told(tmp_path: Path) -> None:
    """Slack and mail are told, other tools are named, and where people only ask nobody is told."""
    file = tmp_path / "orders.odcs.yaml"
    file.write_text(
        "apiVersion: v3.1.0\nkind: DataContract\nid: orders\nversion: 1.0.0\nstatus: active\n"
        "support:\n"
        "  - {channel: '#orders-news', tool: slack, scope: announcements, url: 'https://acme.slack.com/archives/C0NEWS0001'}\n"
        "  - {channel: orders-list, url: 'mailto:orders@acme.example'}\n"
        "  - {channel: Orders, tool: teams, scope: announcements, url: 'https://teams.example/x'}\n"
        "  - {channel: '#orders-help', tool: slack, scope: interactive, url: 'https://acme.slack.com/archives/C0HELP0001'}\n",
        encoding="utf-8",
    )

    told, others = announced_to(file, has_mail=True)

    assert [(each.name, each.channel, each.email, each.kind) for each in told] == [
        ("#orders-news", "C0NEWS0001", (), "channel"),
        ("orders-list", None, ("orders@acme.example",), "channel"),
    ]
    assert others == (Untold(name="Orders", why="Waterline has no way to teams"),)


def test_a_place_that_is_declared_already_is_not_told_twice() -> None:
    """The settings may name the channel that the contract names, too."""
    declared = Consumer(name="revenue_daily", channel="C0NEWS0001")
    named = Consumer(name="#orders-news", kind="channel", channel="C0NEWS0001")

    assert once_each((declared, named, declared)) == (declared,)


@pytest.mark.parametrize("bad", [{}, {"email": ["nobody"]}, {"webhook": "ftp://x"}, {"channel": "C1", "name": "a/b"}])
def test_a_consumer_without_a_way_is_refused(bad: dict[str, object]) -> None:
    """Nobody is declared whom no notice could reach."""
    with pytest.raises(ValidationError):
        Consumer.model_validate({"name": "revenue_daily", **bad})


@pytest.fixture
def story(record: Store) -> Story:
    """The table is proven; nobody is told yet."""
    return Story(record.journal).opens().says(WaterlineMoved(snapshot=orders.GOOD, status="trusted"))


def notice(kind: str, *runs: str, reading: str = "read-above", needed: bool | None = True) -> Notice:
    data = NoticeData(
        stage="proven", affected_snapshots=(orders.HEAD,), reading=reading, affected_runs=runs,
        rerun=RerunData(needed=needed),
    )  # fmt: skip
    return Notice(kind=kind, revision=1, consumer="revenue_daily", channel="C0REVENUE2", text="x", data=data)


def seen(runs: int) -> ReadersNoted:
    """By the look that a preview made."""
    reader = ObservedReader(consumer="fraud_model", distance=1, runs=runs, is_declared=False)
    return ReadersNoted(observed=(reader,), unknown=None)


def test_whoever_was_asked_to_look_for_themselves_is_left_alone(story: Story) -> None:
    """Lineage could not tell: they were told so, and nothing of it was wrong."""
    story.says(NoticeQueued(notice=notice("recovered", reading="unknown", needed=None)))

    assert runs_told(story.incident) == {}


@pytest.mark.parametrize("reading", ["unknown", "not-observed", "many"])
def test_where_nothing_was_affected_nobody_is_looked_for(story: Story, reading: str) -> None:
    """No run can have read wrong rows, and where there is no lineage each look would be told as one that failed."""
    told = notice("recovered", reading=reading, needed=False)
    data = told.data.model_copy(update={"affected_snapshots": ()})
    story.says(seen(0)).says(NoticeQueued(notice=told.model_copy(update={"data": data})))

    assert runs_told(story.incident) == {}


def test_a_correction_that_waits_for_a_second_person_is_not_asked_for_twice(story: Story) -> None:
    """Its runs count as answered from then on, others do not."""
    correction = notice("correction", "late")
    story.says(NoticeQueued(notice=notice("recovered", reading="not-observed", needed=False)))
    story.says(NoticesPreviewed(name="9f31", notices=(correction,)))
    story.says(NoticesHeld(name="9f31", policy=ApprovalPolicy(users=(BEN,)), step=None))
    waiting = runs_told(story.incident)["revenue_daily"].runs
    story.says(NoticeQueued(notice=correction), by=BEN)

    assert waiting == runs_told(story.incident)["revenue_daily"].runs == {"late"}


def test_a_channel_was_told_what_was_seen_when_its_text_was_made(story: Story) -> None:
    """A look between its preview and its sending says nothing of what it was told."""
    told = notice("recovered", reading="many", needed=None)
    story.says(NoticesPreviewed(name="9f31", notices=(told,)), seen(1)).says(seen(2))
    story.says(NoticeQueued(notice=told))

    assert runs_told(story.incident)["revenue_daily"].readers == {"fraud_model": 1}


def test_a_text_that_was_previewed_again_tells_what_was_seen_then(story: Story) -> None:
    """Nobody had approved it the first time; word for word the same was previewed after a later look."""
    told = notice("recovered", reading="many", needed=None)
    preview = NoticesPreviewed(name="9f31", notices=(told,))
    story.says(preview, seen(1)).says(seen(2), preview).says(NoticeQueued(notice=told))

    assert runs_told(story.incident)["revenue_daily"].readers == {"fraud_model": 2}


def test_what_was_told_before_the_trust_was_withdrawn_is_over(story: Story) -> None:
    """The next closing message tells it anew."""
    story.says(NoticeQueued(notice=notice("recovered", "late")))
    before = set(runs_told(story.incident))
    story.says(WaterlineMoved(snapshot=orders.GOOD, status="under-review"))

    assert (before, runs_told(story.incident)) == ({"revenue_daily"}, {})


TEMPLATES = scan(Path(__file__).parents[2] / "messages")
SHAPES = [facts for _shape, facts in samples()]
WORDS = st.text(alphabet=st.sampled_from("ab <>&*_`~[](){}|\\#!@:\n\u202e\u200b'\"é漢"), max_size=120)


@settings(max_examples=60, deadline=None)
@given(kind=st.sampled_from(sorted(TEMPLATES)), facts=st.sampled_from(SHAPES), words=WORDS, name=WORDS)
def test_whatever_people_write_stays_text_in_every_form(kind: str, facts: object, words: str, name: str) -> None:
    """No tag, no link, no mention of theirs comes alive; no section is too long for Slack."""
    hostile = facts.model_copy(update={"words": words, "summary": words, "consumer": f"x{name}"})  # type: ignore[attr-defined]

    text = render(TEMPLATES[kind], hostile)

    page = as_html(text)
    assert len(text) <= MOST_CHARACTERS + 6 * 3 * len(words + name)
    assert all(len(part) <= SECTION_TEXT for part in pages(text))
    assert page.count("<a ") == text.count("<#") + text.count("<@")
    assert "<script" not in page
    assert "<img" not in page
    assert page.count("<pre") == text.count("```") // 2
    assert as_plain(text).strip()
    assert as_markdown(text).count("```") == text.count("```")


def test_what_is_to_be_copied_stays_as_it_is_in_every_form() -> None:
    """A query with two stars, and lines of a patch, are neither bold nor a list."""
    lines = "SELECT * FROM a.b /*+ OPTIONS('tag'='w') */\n- physicalType: long\n+ physicalType: &lt;any&gt;"
    shown = lines.replace("&lt;", "<").replace("&gt;", ">")
    text = f"*All* is well.\n\n```\n{lines}\n```\n• and *so* on"

    assert f"All is well.\n\n{shown}\n- and so on\n" == as_plain(text)
    assert f"```\n{shown}\n```\n" in as_markdown(text)


@pytest.mark.parametrize(
    "words",
    ["# of rows is wrong", "###", "1. first", "2026) was", "- item", "+ item", "-", "===", "---", "--- ---", "    x"],
)
@pytest.mark.parametrize("before", ["*Head.*\n", "*Head.*\n\n", "*Head.*\n• "])
def test_what_people_write_makes_no_heading_and_no_list(before: str, words: str) -> None:
    """Neither of itself nor of the line before it; a hash, a number and a sign are shown as they were written."""
    page = as_fragment(f"{before}{words}\nCause: x.")

    assert page.count("<li>") == before.count("•")
    assert all(f"<{tag}" not in page for tag in ("h1", "h2", "h3", "hr", "ol", "code"))
    assert words.strip() in page


def test_a_number_and_a_sign_within_a_line_stay_as_they_are() -> None:
    """No mark is put where none is needed: some read the Markdown itself."""
    text = "#4711 was -5 or +3; 1.5 times; --- so = it - is # there\n"

    assert as_markdown(text.rstrip("\n")) == text


NOW = datetime(2026, 11, 3, 0, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("at", "beside", "told"),
    [
        (NOW, NOW, "00:05 UTC"),
        (NOW - timedelta(minutes=10), NOW, "2 Nov, 23:55 UTC"),
        (NOW - timedelta(days=365), NOW, "3 Nov 2025, 00:05 UTC"),
        (NOW.astimezone(timezone(timedelta(hours=-5))), NOW, "00:05 UTC"),
        (NOW, None, "3 Nov 2026, 00:05 UTC"),
    ],
)
def test_the_day_is_told_where_it_is_another(at: datetime, beside: datetime | None, told: str) -> None:
    """Days are UTC's; where nobody knows when it is read, the day is always told."""
    assert told == clock_time(at, beside)


TRUSTED = WaterlineMoved(snapshot=orders.GOOD, status="trusted")
DOUBTED = WaterlineMoved(snapshot=orders.GOOD, status="under-review")


def withdrawing_notice(kind: str, revision: int = 1) -> Notice:
    return Notice(kind=kind, revision=revision, consumer="revenue_daily", channel="C0REVENUE2", text="x")


@pytest.fixture
def cleared(record: Store) -> Story:
    """The table is proven, and revenue_daily knows it."""
    return Story(record.journal).opens().says(TRUSTED).says(NoticeQueued(notice=withdrawing_notice("recovered")))


def is_cleared_already(incident: Incident) -> bool:
    """Whether revenue_daily was told that all is well, and nothing has changed."""
    told = [view for view in incident.notices.values() if view.notice.kind == "recovered"]
    return is_said_already("recovered", told, incident)


def test_the_next_proof_is_told_as_news_and_once(cleared: Story) -> None:
    """What was said of the first one says nothing of the second."""
    said = [is_cleared_already(cleared.incident)]
    cleared.says(DOUBTED).says(TRUSTED)
    said.append(is_cleared_already(cleared.incident))
    cleared.says(NoticeQueued(notice=withdrawing_notice("recovered", 2)))
    said.append(is_cleared_already(cleared.incident))

    assert said == [True, False, True]


def test_an_all_clear_that_was_previewed_before_is_not_sent_after(cleared: Story) -> None:
    """What was right in the preview is wrong by the time of the click, or of the last approval."""
    late = withdrawing_notice("recovered").model_copy(update={"consumer": "fraud_model"})
    before = queued(cleared.incident, "9f31", (late,), None)
    cleared.says(DOUBTED)

    assert [body.kind for body in before] == ["notice-queued"]
    with pytest.raises(Refused, match="until its new state is verified"):
        queued(cleared.incident, "9f31", (late,), None)
    assert queued(cleared.incident, "9f31", (withdrawing_notice("recovered"),), None) == []


def test_an_all_clear_of_the_proof_before_is_not_sent_after_the_next_one(cleared: Story) -> None:
    """It names a snapshot that is trusted no more."""
    old = withdrawing_notice("recovered").model_copy(update={"consumer": "fraud_model"})
    cleared.says(NoticesPreviewed(name="9f31", notices=(old,))).says(DOUBTED).says(TRUSTED)
    new = old.model_copy(update={"text": "y"})
    cleared.says(NoticesPreviewed(name="a207", notices=(new,)))

    with pytest.raises(Refused, match="Preview it again"):
        queued(cleared.incident, "9f31", (old,), None)
    assert [body.kind for body in queued(cleared.incident, "a207", (new,), None)] == ["notice-queued"]


def test_an_all_clear_that_was_overtaken_may_be_given_anew(cleared: Story) -> None:
    """They never had it: it was given up while it waited, and then it was right again."""
    [view] = cleared.incident.notices.values()
    cleared.says(NoticeEnded(key=view.key, how="overtaken", detail="Evidence said otherwise."))

    assert not is_cleared_already(cleared.incident)
    assert told_that_all_is_well(cleared.incident) == frozenset()


@pytest.fixture
def two_ways(tmp_path: Path) -> Iterator[Story]:
    """revenue_daily is told by Slack and by webhook; nothing has arrived yet."""
    hook = Address(by="webhook", to="https://hooks.acme.example/x")
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        told = withdrawing_notice("recovered").model_copy(update={"ways": (hook,)})
        yield Story(store.journal).opens().says(TRUSTED).says(NoticeQueued(notice=told))


def ends_webhook(story: Story, *, may_be_there: bool = False) -> None:
    """A correction was quicker than the webhook's next try."""
    [view] = story.incident.notices.values()
    to = list(view.deliveries)[1]
    story.says(NoticeEnded(key=view.key, how="overtaken", detail="x", to=to, may_be_there=may_be_there))


def test_one_way_that_was_overtaken_takes_back_nothing_that_arrived(two_ways: Story) -> None:
    """They had it in Slack: no severity is told to them, and it is not said twice."""
    [view] = two_ways.incident.notices.values()
    two_ways.says(NoticeEnded(key=view.key, how="delivered", detail="ts 1"))

    ends_webhook(two_ways)

    assert is_cleared_already(two_ways.incident)
    assert told_that_all_is_well(two_ways.incident) == {"revenue_daily"}


@pytest.mark.parametrize("may_be_there", [True, False])
def test_what_may_have_arrived_counts_as_said(two_ways: Story, may_be_there: bool) -> None:
    """Of two ways, one failed and the other was overtaken: whether its answer was lost makes the difference."""
    [view] = two_ways.incident.notices.values()
    two_ways.says(NoticeEnded(key=view.key, how="failed", detail="channel_not_found"))

    ends_webhook(two_ways, may_be_there=may_be_there)

    assert is_cleared_already(two_ways.incident) is may_be_there
