"""Damage that is newer than what an incident left is told once more; what it left is not."""

from datetime import timedelta
from pathlib import Path

import pytest

from bot.adapters.journal_sql import Store
from bot.incident.diagnosis import Diagnosis, Matches, ModeResult, Remedy
from bot.incident.entries import Diagnosed, IncidentClosed, IncidentOpened, Verified, WaterlineMoved
from bot.incident.journal import WATERLINE
from bot.incident.watch import ReportedFinding, WatchFinding, goes_on, open_findings, recall
from bot.observation.evidence import Verdict
from bot.observation.ids import IncidentId, SnapshotId
from bot.observation.table import Window
from bot.service.watching.finding_store import post_key
from tests import orders_table as orders
from tests.adapters.flink_wire import Wire
from tests.cases import Tale
from tests.decisions import ANA, CHANNEL, F2, HEAD_AFTER, PROPOSAL, RUNBOOK
from tests.incidents import Story
from tests.slack.people import Responder
from tests.tables import ORDERS, job
from tests.watch.conftest import OverRecorded
from tests.watch.recorded import Recorded
from tests.watch.signs import finding, reported
from tests.watch.watched import Watched
from tests.watch.watching_bot import WatchingBot


@pytest.fixture
def story(record: Store) -> Story:
    """An incident is open, on a head that these tables do not list."""
    return Story(record.journal).opens()


def ending_at(newest: SnapshotId | None, *rows: SnapshotId) -> WatchFinding:
    """A fault whose newest commit is that one."""
    return finding("F2").model_copy(update={"newest_wrong": newest, "rows": rows})


def closes(story: Story, proven: SnapshotId) -> Story:
    """The incident has proven that commit."""
    return story.says(WaterlineMoved(snapshot=proven, status="trusted"), IncidentClosed(reason="done"))


def named(newest: SnapshotId) -> Diagnosed:
    """The incident's own diagnosis of the same fault."""
    match = Matches(headline="", reasons=(), remedy=Remedy.NOTHING, newest_wrong=newest)
    return Diagnosed(diagnosis=Diagnosis(results=(ModeResult(mode=F2, examined=match),)))


def rewound() -> Tale:
    """Main was taken back from 5 to 3 while an incident was open, which proved 3."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).rolls_back_to("a", 3)


def is_new(tale: Tale, checkpoint: int, told: int, story: Story) -> bool:
    """Whether a fault that ends there is told, after one that ended at `told`."""
    memory = recall([reported(ending_at(tale.at("a", told)), at=orders.NINE)])
    return not goes_on(ending_at(tale.at("a", checkpoint)), memory, [story.incident], tale.table)


@pytest.mark.parametrize("is_named", [True, False])
def test_what_the_incident_named_itself_is_not_new_to_it(is_named: bool, story: Story) -> None:
    """Though it lies above the commit that was proven: that is where main was taken back to."""
    tale = rewound()
    if is_named:
        story.says(named(tale.at("a", 5)))
    closes(story, tale.at("a", 3))

    assert is_new(tale, 5, 2, story) is not is_named


@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize("is_told", [True, False])
def test_what_another_incident_named_and_left_is_not_told(is_told: bool, is_named: bool, story: Story) -> None:
    """Whether or not the watch has told of the fault before that: people have looked at it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5)
    memory = recall([reported(ending_at(tale.at("a", 1)), at=story.now)] if is_told else [])
    first = closes(story, tale.at("a", 2)).incident
    second = Story(story.journal, start=story.now + timedelta(hours=1)).opens()
    if is_named:
        second.says(named(tale.at("a", 3)))

    def is_known(checkpoint: int) -> bool:
        return goes_on(ending_at(tale.at("a", checkpoint)), memory, [first, second.incident], tale.table)

    while_open = is_known(3)
    closes(second, tale.at("a", 4))

    assert not while_open
    assert [is_known(each) for each in (3, 4, 5)] == [is_named, is_named, False]
    assert not goes_on(ending_at(None), recall([]), [first, second.incident], tale.table)


def test_what_main_lost_after_an_incident_that_proved_nothing_is_new(story: Story) -> None:
    """Its head at the close is lost itself; what was told and left stays told."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    story.now = tale.now - timedelta(seconds=55)
    story.says(IncidentClosed(reason="accepted"))
    before = [is_new(tale, each, 1, story) for each in (1, 2, 3)]
    tale.rolls_back_to("a", 2)

    assert before == [False, False, False]
    assert [is_new(tale, each, 1, story) for each in (1, 3)] == [False, True]


def test_a_fault_that_concerns_something_else_now_is_told_if_it_has_grown(story: Story) -> None:
    """A run that ends, or a window that begins elsewhere, changes what a fault concerns."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    memory = recall([reported(ending_at(tale.at("a", 2)), at=story.now)])

    def is_known(checkpoint: int) -> bool:
        elsewhere = ending_at(tale.at("a", checkpoint)).model_copy(update={"subject": "another run"})
        return goes_on(elsewhere, memory, [story.incident], tale.table)

    assert [is_known(each) for each in (1, 2, 3)] == [True, True, False]
    closes(story, tale.at("a", 3))
    assert [is_known(each) for each in (1, 2, 3)] == [True, True, True]


def test_an_old_sign_stays_as_it_was_written() -> None:
    """Notes are compared as text: a field that says nothing is not written."""
    assert "newest_wrong" not in ending_at(None).model_dump(mode="json")
    assert 7 == ending_at(SnapshotId(7)).model_dump(mode="json")["newest_wrong"]


def again_sighted(bot: WatchingBot) -> tuple[ReportedFinding, ...]:
    """All that was ever seen."""
    return tuple(bot.finding_store.memory(ORDERS).reported.values())


def codes(bot: WatchingBot) -> list[str]:
    """Of all that was ever seen."""
    return [each.finding.code for each in again_sighted(bot)]


def looks_into_it(bot: WatchingBot, *, proves: bool = True, names: bool = False) -> None:
    """An incident on the table as it is, which trusts what it finds, or proves nothing, and is closed. `names`: it has
    diagnosed the fault."""
    state = bot.services.observer.table(ORDERS)
    opened = IncidentOpened(
        table=ORDERS, job="orders-to-iceberg", runbook=RUNBOOK, severity="sev2", channel=CHANNEL,
        window=Window(since=None, until=state.head), trusted=state.head, metadata_location=state.metadata_location,
        summary="A rollback",
    )  # fmt: skip
    incident = bot.services.store.open(opened, by=ANA).id
    found = Diagnosed(diagnosis=bot.services.examiner.examine(ORDERS, without_rows=True).diagnosis)
    proven = [WaterlineMoved(snapshot=state.head, status="trusted")] if proves else []
    for each in (*([found] if names else []), *proven, IncidentClosed(reason="The loss is accepted.")):
        bot.services.store.write(incident, by=ANA, decide=lambda _now, entry=each: [entry])
    bot.looks(2)


def test_the_same_run_rolled_back_once_more_is_told_once_more(ana: Responder, bot: WatchingBot) -> None:
    """Same fault, same run: only the commits that were lost tell the second rollback from the first."""
    bot.looks()
    bot.rolls_back(commits=2)
    bot.commits(count=2)
    bot.looks(3)
    first = again_sighted(bot)
    looks_into_it(bot)
    bot.clock.advances(timedelta(hours=5))
    bot.commits(count=10)
    bot.looks(4)
    left_alone = again_sighted(bot)

    bot.rolls_back(commits=3)
    bot.commits(count=2)
    bot.looks(6)

    assert left_alone == first
    assert [each.finding.code for each in again_sighted(bot)] == ["F6", "F6"]
    second = again_sighted(bot)[-1]
    post = bot.store.outbox.find(post_key(second.id))
    assert post.thread_of is None
    assert any("rolled back once more" in reason and "lost 3 commits" in reason for reason in second.finding.reasons)
    assert open_findings(bot.finding_store.memory(ORDERS), bot.services.store.all()) == (second,)
    assert not set(first[0].finding.rows) & set(second.finding.rows)
    bot.looks(4)
    assert again_sighted(bot)[-1] == second


def set_back(bot: WatchingBot, *, lost: int, then: int) -> None:
    """Main loses so many commits, the job commits so many on top, and the watch has told of it."""
    bot.looks()
    bot.rolls_back(commits=lost)
    bot.commits(count=then)
    bot.looks(3)


@pytest.mark.parametrize("looks_in", ["proven", "not proven", "nobody"])
@pytest.mark.parametrize("before", [0, 1], ids=["before the next commit", "after it"])
def test_one_lost_commit_is_not_told_again(before: int, looks_in: str, ana: Responder, bot: WatchingBot) -> None:
    """Neither as the run goes on over the hole, nor when it ends and nobody is to be stopped any more."""
    set_back(bot, lost=1, then=before)
    if looks_in != "nobody":
        looks_into_it(bot, proves=looks_in == "proven")

    for _ in range(3):
        bot.commits(count=2)
        bot.looks(3)
    bot.flink.ends(job("a"), "CANCELED")
    bot.looks(8)

    assert [code for code in codes(bot) if code.startswith("F")] == ["F6"]


@pytest.mark.parametrize(
    ("after", "lost", "commits"),
    [
        pytest.param(0, 1, 1, id="the proven commit"),
        pytest.param(0, 4, 1, id="with the hole that was left"),
        pytest.param(2, 3, 1, id="the proven commit, after further ones"),
        pytest.param(2, 6, 1, id="all of them, with the hole that was left"),
        pytest.param(1, 1, 1, id="to the proven commit, which the log names once more"),
        pytest.param(0, 1, 0, id="a hole that is about to come: the job can still be stopped"),
    ],
)
def test_main_that_is_set_back_once_more_is_told_once_more(
    after: int, lost: int, commits: int, ana: Responder, bot: WatchingBot
) -> None:
    """And once: when the job has gone on, it is the same hole."""
    set_back(bot, lost=2, then=3)
    looks_into_it(bot)
    bot.commits(count=after)
    bot.looks(3)

    bot.rolls_back(commits=lost)
    bot.commits(count=commits)
    bot.looks(6)
    told = codes(bot)
    bot.commits(count=3)
    bot.looks(6)

    assert ["F6", "F6"] == told == codes(bot)


def test_what_came_again_is_told_when_two_looks_in_a_row_agree(ana: Responder, bot: WatchingBot) -> None:
    """Damage that was left is seen by every look: that is no first look at what came since."""
    set_back(bot, lost=2, then=2)
    looks_into_it(bot)
    bot.looks(3)

    bot.rolls_back(commits=1)
    bot.commits()
    bot.looks()
    once = codes(bot)
    bot.looks()

    assert (["F6"], ["F6", "F6"]) == (once, codes(bot))


def test_a_writer_that_changes_rows_once_more_is_told_once_more(ana: Responder, bot: WatchingBot) -> None:
    """However many of its changes the incident had left: only the first three are named."""
    bot.looks()
    bot.others_delete(3, 4, 5, 6)
    bot.looks(3)
    looks_into_it(bot)
    bot.commits(count=2)
    bot.looks(6)
    left_alone = codes(bot)

    bot.others_delete(7)
    bot.looks(4)
    again = codes(bot)
    bot.commits(count=2)
    bot.looks(6)

    assert left_alone == ["F21"]
    assert ["F21", "F21"] == again == codes(bot)


def test_what_an_incident_named_before_the_watch_saw_it_is_not_told(ana: Responder, bot: WatchingBot) -> None:
    """People have looked at it and left it; what comes after that is told."""
    bot.rolls_back(commits=2)
    bot.commits(count=2)
    looks_into_it(bot, names=True)
    bot.commits(count=2)
    bot.looks(4)
    left = codes(bot)

    bot.rolls_back(commits=1)
    bot.commits()
    bot.looks(4)

    assert ([], ["F6"]) == (left, codes(bot))


@pytest.fixture
def proven_story(record: Store) -> Story:
    """The incident is open, and has proven its table."""
    return Story(record.journal).opens().answers().diagnoses().proposes().approves().rewinds().verifies()


def proves(proven_story: Story, *, passed: bool = True) -> Story:
    """The newest answer is what the proof is made of."""
    run = next(reversed(proven_story.incident.runs))
    return proven_story.says(Verified(proposal=PROPOSAL, passed=passed, checks=(), evidence=(run,), head=HEAD_AFTER))


def counting(proven_story: Story, found: ReportedFinding) -> bool:
    """Whether the table is not called trusted for it."""
    return open_findings(recall([found]), [proven_story.incident]) == (found,)


def test_a_finding_after_the_proof_counts_until_the_next_one(proven_story: Story) -> None:
    """A false alarm of something that lasts would otherwise keep the table untrusted, and the all-clear back."""
    found = reported(finding(), at=proven_story.now)
    before = counting(proven_story, found)
    proves(proven_story.answers(verdict=Verdict.RULED_OUT))

    assert before
    assert not counting(proven_story, found)


def test_a_proof_that_looked_before_it_or_failed_ends_nothing(proven_story: Story) -> None:
    """It says nothing of what was found."""
    proven_story.answers(verdict=Verdict.RULED_OUT)
    found = reported(finding(), at=proven_story.now)

    assert counting(proves(proven_story), found)
    assert counting(proves(proven_story.answers(), passed=False), found)


SECOND = timedelta(seconds=1)
FORKED = "forked-from-a-savepoint-v2"


def before_the_fork(over_recorded: OverRecorded) -> tuple[Recorded, Watched]:
    """One run writes the table."""
    world = Recorded(FORKED)
    world.until(world.runs[0].started_at - SECOND)
    return world, over_recorded(world)


def forks(world: Recorded, watched: Watched, wire: Wire, folder: Path) -> None:
    """A second run writes beside it, and the watch has looked often enough."""
    world.goes_on().told_by(wire)
    world.catalog_in(folder / FORKED)
    watched.clock.at = max(world.now, watched.clock.at + SECOND)
    watched.looks(6, apart=SECOND)


def beside_proves(watched: Watched, incident: IncidentId) -> None:
    """Its table is trusted; the review is left."""
    head = watched.observer.table(watched.table).head
    watched.clock.at += SECOND
    moved = [WaterlineMoved(snapshot=head, status=status) for status in ("under-review", "trusted")]
    watched.incidents.write(incident, by=WATERLINE, decide=lambda _now: moved)
    watched.clock.at += SECOND


@pytest.mark.parametrize("is_planned", [False, True])
def test_a_new_fork_is_told_though_an_incident_is_open(
    is_planned: bool, over_recorded: OverRecorded, wire: Wire, tmp_path: Path
) -> None:
    """In the table's channel, naming the incident; the button comes when that has ended."""
    world, watched = before_the_fork(over_recorded)
    incident = watched.opens_incident(is_planned=is_planned)
    if not is_planned:
        beside_proves(watched, incident)
    forks(world, watched, wire, tmp_path)

    [told] = watched.told
    watched.clock.at += SECOND
    watched.incidents.write(incident, by=ANA, decide=lambda _now: [IncidentClosed(reason="done")])
    [after] = watched.told

    assert told.code == "F13"
    assert f"Incident {incident} is open on this table" in told.text
    assert told.buttons == ("Mute table for 4 hours",)
    assert after.buttons == ("Open incident", "Mute table for 4 hours")


def test_while_an_incident_has_the_table_in_doubt_people_look(
    over_recorded: OverRecorded, wire: Wire, tmp_path: Path
) -> None:
    """Nothing is told; once the table is trusted again, it is."""
    world, watched = before_the_fork(over_recorded)
    incident = watched.opens_incident()
    forks(world, watched, wire, tmp_path)
    meanwhile = watched.seen
    beside_proves(watched, incident)

    watched.looks(6, apart=SECOND)

    assert meanwhile == ()
    assert watched.seen == ("F13",)


def test_what_a_planned_stop_looks_like_is_said_where_it_was_planned(over_recorded: OverRecorded) -> None:
    """The channel has not to be called together for it."""
    watched = over_recorded(Recorded("notification-lost-v2"))
    incident = watched.opens_incident(is_planned=True)

    watched.looks(8, apart=SECOND)

    threads = {}
    for each in watched.finding_store.memory(watched.table).lasting:
        post = watched.store.outbox.find(post_key(each.id))
        threads[each.finding.code] = post.thread_of if post is not None else None
    assert threads["no-commit"] == f"{incident}/card"
