"""The window of commits under review: what opens an incident, and what evidence of it may speak of."""

from datetime import timedelta

import pytest

from bot.diagnosis import healthy, no_snapshot_advanced, restarted_from_empty, restored_from_older_savepoint
from bot.diagnosis._support.asked import answers
from bot.history.case import Case
from bot.history.suspicion import propose_window
from bot.incident.asked import asked_window
from bot.incident.diagnosis import Matches, Remedy
from bot.observation.ids import DRAINED, OperatorId, short
from bot.observation.table import Window
from tests.cases import Tale, placed
from tests.diagnosis.test_health import pinned
from tests.found import ledger_of, orphans, points


def rewound(*, v1: bool = False) -> Tale:
    """`a` reached 10; `b` was restored from 6."""
    tale = Tale().flink_runs("a", v1=v1).commits("a", *range(1, 11)).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=6, v1=v1)


def one_run(until: int) -> Tale:
    """Run a has committed this far."""
    return Tale().flink_runs("a").commits("a", *range(1, until + 1))


def back_together() -> Tale:
    """Main and job were rewound: run c goes on from what main was rolled back to."""
    tale = rewound().commits("b", 7, 8, 9).becomes("b", "CANCELED").rolls_back_to("a", 6)
    return tale.flink_runs("c", restored=6).commits("c", *range(7, 40))


OTHER_SINK = OperatorId("ee" * 16)


def ran(*, v1: bool = False) -> Tale:
    """`a` committed 1 to 5 and was cancelled."""
    return Tale().flink_runs("a", v1=v1).commits("a", *range(1, 6)).becomes("a", "CANCELED")


def started_empty(commits: int = 3) -> Tale:
    """`b` runs without state on top of what `a` committed."""
    return ran().flink_runs("b").commits("b", *range(1, commits + 1))


def guest_between() -> Tale:
    """A backfill under another name, which Flink does not list as the job's, wrote while `a` ran."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 6)).commits("c", 1, 2)
    return tale.commits("a", *range(6, 40))


def second_sink() -> Tale:
    """`b` of another sink begins beside `a`."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 6))
    for checkpoint in range(1, 30):
        tale.commits("c", checkpoint).by_sink(OTHER_SINK)
    return tale


def drained() -> Tale:
    """`a` ended on purpose before `b` began."""
    tale = Tale().flink_runs("a").commits("a", 1, DRAINED).becomes("a", "FINISHED")
    return tale.flink_runs("b").commits("b", *range(1, 30))


def ended() -> Tale:
    """`b` went on with the state of `a`; of it nothing but its end is known."""
    return ran().flink_runs("b").commits("b", *range(6, 30)).becomes("b", "FINISHED")


def silent() -> Tale:
    """`b` has committed nothing: the head is still right."""
    return ran().flink_runs("b")


def repeated() -> Tale:
    """Checkpoint 1 was committed twice."""
    return Tale().flink_runs("a").commits("a", 1, 1, *range(2, 30))


def rolled_back_and_rewound(restored: int, *, commits: int) -> Tale:
    """Main lost 6 to 10 under the running job; the rows above the hole were never proven. Then run b went back."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).rolls_back_to("a", 5).commits("a", *range(11, 17))
    tale.becomes("a", "FINISHED").flink_runs("b", restored=restored)
    return tale.commits("b", *range(restored + 1, restored + 1 + commits)) if commits else tale


def failed_over_above_it(commits: int) -> Tale:
    """Run b was restored from what main was rolled back to, was quiet at 4, and went on. Since it failed over nothing
    shows where it began: that opens no window over all that came since."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5, 6).becomes("a", "FINISHED").rolls_back_to("a", 3)
    return tale.flink_runs("b", restored=3).commits("b", *range(5, commits)).flink_runs("b", restored=commits - 1)


SILENT_V1 = rewound(v1=True).completes("b", 7, 8)
TRUSTED_SINCE = rewound().commits("b", *range(7, 20)).trusts("b", 12)
ALONE = one_run(5).rolls_back_to("a", 3).commits("b", 4).flink_is_down()
BELOW = one_run(7).rolls_back_to("a", 3).commits("a", 8, 9).trusts("a", 9)
ANYWHERE = ""


@pytest.mark.parametrize(
    ("tale", "since", "trusted", "because"),
    [
        pytest.param(
            rewound().commits("b", 7, 8), "a6", "a10",
            "Run bbbbbb was restored from checkpoint 6 although run aaaaaa had committed checkpoint 10",
            id="a rewind's window holds both copies",
        ),
        pytest.param(SILENT_V1, "a6", "a10", "has committed nothing since", id="V1 holds back what a rewind reads"),
        pytest.param(
            rewound().commits("b", 7, 8).flink_is_down(), "a6", "a10", "Flink was not asked", id="falling ids alone"
        ),
        pytest.param(back_together(), ANYWHERE, "a6", "Run cccccc was restored from checkpoint 6", id="back together"),
        pytest.param(ALONE, "a3", "a3", "", id="without Flink ids alone excuse no rollback"),
        pytest.param(
            one_run(30).flink_runs("a", restored=30).commits("a", 31, 32), "a10", "a30", "", id="a failover"
        ),
        pytest.param(one_run(30), "a10", "a30", "", id="nothing suspicious: twenty commits"),
        pytest.param(one_run(20), None, "a20", "", id="nothing suspicious: all that are listed"),
        pytest.param(one_run(3), None, "a3", "", id="nothing suspicious: three"),
        pytest.param(TRUSTED_SINCE, ANYWHERE, "b12", "was restored from checkpoint 6 at", id="a proven rewind"),
        pytest.param(
            one_run(7).trusts("a", 3).rolls_back_to("a", 3).commits("a", 8),
            ANYWHERE, "a3", "rolled back", id="a rollback above the waterline: what was lost there is a new fault",
        ),
        pytest.param(BELOW, ANYWHERE, "a9", "", id="a rollback below the waterline is over"),
        pytest.param(
            one_run(7).trusts("a", 6).rolls_back_to("a", 3).commits("a", 8),
            ANYWHERE, "a3", "", id="a rollback that takes the waterline off main",
        ),
        *(
            pytest.param(
                rolled_back_and_rewound(restored, commits=commits), "a5", "a5", "rolled back",
                id=f"a later rewind from {restored} hides no older rollback, {commits} commits",
            )
            for restored in (14, 11, 8) for commits in (0, 2)
        ),
        pytest.param(failed_over_above_it(300), ANYWHERE, "b299", "", id="a failover since a rollback of long ago"),
        pytest.param(failed_over_above_it(10), ANYWHERE, "a3", "", id="a failover since a rollback near the head"),
        *(
            pytest.param(
                started_empty(commits), "a5", "a5",
                "Run bbbbbb was started without state although run aaaaaa had committed checkpoint 5",
                id=f"a start without state {commits} commits ago",
            )
            for commits in (3, 40)
        ),
        pytest.param(
            started_empty(40).flink_is_down(), ANYWHERE, "a5", "Flink was not asked", id="ids that begin at one alone",
        ),
        pytest.param(started_empty(40).trusts("b", 30), ANYWHERE, "b40", "", id="below a trusted waterline it is over"),
        pytest.param(guest_between(), ANYWHERE, "a39", "", id="a guest"),
        pytest.param(guest_between().flink_is_down(), ANYWHERE, "a39", "", id="a guest, and no Flink"),
        pytest.param(guest_between().forgets("a"), ANYWHERE, "a39", "", id="a guest, and a forgotten run"),
        pytest.param(second_sink(), ANYWHERE, "c29", "", id="a second sink"),
        pytest.param(drained(), ANYWHERE, "b29", "", id="after a drain"),
        pytest.param(ended(), ANYWHERE, "b29", "", id="a run of which only its end is known"),
        pytest.param(silent(), ANYWHERE, "a5", "", id="a start without state that is silent"),
        pytest.param(repeated(), ANYWHERE, "a29", "", id="a checkpoint twice"),
    ],
)  # fmt: skip
def test_where_the_window_begins_and_what_is_trusted(tale: Tale, since: str | None, trusted: str, because: str) -> None:
    """By commits as the tale names them; the sentence says why."""
    found = propose_window(tale.table, tale.jobs)

    assert tale.at(trusted[0], int(trusted[1:])) == found.trusted
    assert because in found.because
    if since != ANYWHERE:
        assert (tale.at(since[0], int(since[1:])) if since else None) == found.window.since


def test_a_start_under_the_same_job_id_is_suspected() -> None:
    """The V1 sink commits what it brings."""
    tale = ran(v1=True)
    below = tale.head
    tale.starts_again("a", v1=True).commits("a", *range(1, 40))

    found = propose_window(tale.table, tale.jobs)

    assert below == found.trusted
    assert "although it had committed checkpoint 5" in found.because


def down(last: Tale) -> tuple[Remedy, str]:
    """(remedy, last reason) of a start without state whose rows are right."""
    found = restarted_from_empty.examine(last.looked_at())
    return found.remedy, found.reasons[-1]


def both_ended() -> Tale:
    """`b` had no state, its rows are right, and it has ended."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").flink_runs("b")
    return tale.commits("b", 1, 2, 3).becomes("b", "CANCELED")


def test_no_job_is_brought_back_beside_a_run_that_flink_does_not_list() -> None:
    """The newest commits are by a run that goes on from `b`'s state, on a cluster that nobody asks."""
    remedy, said = down(both_ended().commits("c", 4, 5, 6))

    assert remedy is Remedy.TELL_CONSUMERS
    assert "whether run cccccc still writes the table" in said
    assert "look for it on every cluster" in said


def test_no_job_is_brought_back_while_rows_may_be_in_doubt() -> None:
    """Flink completed what no commit carries, and files lie there that nothing names."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").flink_runs("b")
    tale.commits("b", 1, 2, 3).completes("b", 4, 5)
    tale.now += timedelta(minutes=1)
    tale.becomes("b", "FAILED")
    clean = restarted_from_empty.examine(placed(tale.looked_at(), b=30))
    left = restarted_from_empty.examine(placed(tale.looked_at(orphans=orphans(3)), b=30))

    assert (Remedy.RESTORE_JOB_ONLY, Remedy.TELL_CONSUMERS) == (clean.remedy, left.remedy)
    assert "3 orphan files" in left.reasons[-1]


def checkpoints(tale: Tale, since: int | None, run: str = "a") -> list[int | None]:
    assert tale.head is not None
    window = Window(since=None if since is None else tale.at(run, since), until=tale.head)
    return [s.checkpoint_id for s in window.of(tale.table)]


def test_a_window_begins_after_since_and_holds_its_head() -> None:
    """`since` is exclusive, `until` inclusive; None begins with the first commit that is listed."""
    tale = Tale().commits("a", 1, 2, 3, 4)

    assert checkpoints(tale, 2) == [3, 4]
    assert checkpoints(tale, None) == [1, 2, 3, 4]
    assert checkpoints(tale, 4) == []


def five() -> Tale:
    """A run that lives, and has committed five times."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5)


def seen_through(tale: Tale, window: Window) -> Case:
    """All evidence looked at this window, at the present head."""
    case = tale.looked_at(pairing=points(), ledger=ledger_of(tale.table, window))
    assert tale.head is not None
    found = tuple(each.model_copy(update={"window": window}) for each in pinned(case, tale.head).evidence)
    return case.model_copy(update={"window": window, "evidence": found})


@pytest.mark.parametrize("until", [1, 2, 4])
def test_healthy_reaches_to_the_windows_end(until: int) -> None:
    """The rows above it were not read, so the head is not named, and the reader is told."""
    tale = five()
    end = tale.at("a", until)

    found = healthy.examine(seen_through(tale, asked_window(f"..{end}", tale.table)))

    assert found.headline.endswith(f"the table is complete up to {short(end)}.")
    assert end == found.last_good
    assert f"The window ends at {short(end)}; {5 - until} commit" in found.reasons[-1]
    assert "not vouched for" in found.reasons[-1]


def test_a_window_up_to_the_head_is_as_it_was() -> None:
    """Its end told by its id or left out."""
    tale = five()

    for text in (f"{tale.at('a', 1)}", f"{tale.at('a', 1)}..{tale.head}"):
        found = healthy.examine(seen_through(tale, asked_window(text, tale.table)))

        assert tale.head == found.last_good


def test_no_advance_names_the_head_and_cannot_tell_from_a_window_below_it() -> None:
    """Whoever starts the job goes on from the head, whose rows were not read."""
    tale = five().becomes("a", "FAILED")
    whole = seen_through(tale, Window(since=None, until=tale.head))
    below = seen_through(tale, asked_window(f"..{tale.at('a', 4)}", tale.table))

    assert isinstance(no_snapshot_advanced.examine(whole), Matches)
    found = no_snapshot_advanced.examine(below)

    assert any(f"below the head {short(tale.head)}" in each for each in found.missing)


@pytest.mark.parametrize("turned", [True, False], ids=["ends turned round", "an end off main"])
def test_evidence_of_a_window_that_is_none_of_main_is_no_answer(turned: bool) -> None:
    """A recorded case may hold one from before such windows were refused."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4)
    if turned:
        window = Window(since=tale.at("a", 4), until=tale.at("a", 2))
    else:
        window = Window(since=tale.at("a", 1), until=tale.at("a", 4))
        tale.rolls_back_to("a", 2).commits("a", 5)
    case = seen_through(tale, window)

    assert not answers(case, "duplicate_rows")
    assert not isinstance(healthy.examine(case), Matches)


def test_a_replay_is_not_called_harmless_by_a_window_that_ends_within_it() -> None:
    """The copies may lie above its end: what the replay calls for is not put off."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 9)).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=4).commits("b", *range(5, 12)).completes("b", 11)
    below = asked_window(f"..{tale.at('b', 6)}", tale.table)

    whole, part = (
        restored_from_older_savepoint.examine(placed(seen_through(tale, window)))
        for window in (Window(since=None, until=tale.head), below)
    )

    assert Remedy.DEDUPLICATE_ROWS is not whole.remedy
    assert Remedy.DEDUPLICATE_ROWS is part.remedy
