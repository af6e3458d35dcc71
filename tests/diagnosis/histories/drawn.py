"""One history of a seed: what it is about, what happens in it, and when somebody looks.

Each event draws from a source of its own, so that a history from which others are left out is otherwise the same.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from random import Random
from typing import NamedTuple

from bot.observation.ids import SnapshotId, short
from tests.diagnosis.histories import accidents, neighbours, operators
from tests.diagnosis.histories.history import History, Setting
from tests.diagnosis.histories.looked import TASKS, Looked, look, look_again, looks_at_a_part
from tests.diagnosis.histories.source import STRIDE, has_passed
from tests.diagnosis.histories.told import Marks, step_in_words
from tests.diagnosis.histories.truth import truth_of

Act = Callable[[History], object]

OF_THE_JOB: dict[str, tuple[int, Act]] = {
    "a checkpoint": (8, lambda history: history.job.reads()),
    "a quiet time": (1, lambda history: _is_quiet(history)),
    "an intermediate savepoint": (1, operators.takes_savepoint),
    "a failed checkpoint": (1, lambda history: history.job.reads(status="FAILED")),
    "a checkpoint whose commit is late": (1, lambda history: history.job.reads(is_committed=False)),
    "a failover": (1, lambda history: history.job.fails_over()),
    "a standby JobManager takes over": (1, lambda history: history.job.is_taken_over()),
    "an upgrade with a savepoint": (1, operators.upgrades),
    "cancelled and started again": (1, operators.cancels_and_starts),
    "redeployed under its job id": (1, operators.redeploys),
    "table and job rewound together": (1, operators.rewinds),
}
"""What needs a job that can go on: its weight, and the act."""
MISTAKES: dict[str, tuple[int, Act]] = {
    "started from an older point": (2, operators.starts_from_older),
    "started from an older point under its job id": (2, partial(operators.starts_from_older, keeps_id=True)),
    "started from another run's point": (1, operators.starts_from_another_run),
    "started without state": (2, operators.starts_empty),
    "started without state under its job id": (1, partial(operators.starts_empty, keeps_id=True)),
    "rolled back while the job runs": (4, operators.rolls_back_while_it_runs),
}
ACCIDENTS: dict[str, tuple[int, Act]] = {
    "a commit is made twice": (1, accidents.commits_twice),
    "the job runs twice": (1, accidents.runs_twice),
    "main is set to a commit beside it": (3, accidents.sets_main_aside),
    "lost commits are picked again": (3, accidents.picks_what_was_lost),
    "Spark takes copies out": (2, accidents.deletes_copies),
    "drained and started": (1, accidents.drains),
    "the sink's uid is changed": (1, accidents.changes_uid),
    "started from an older point with another uid": (2, accidents.changes_uid_and_goes_back),
}
BESIDE_IT: dict[str, tuple[int, Act]] = {
    "a compaction": (2, neighbours.compacts),
    "an expiry of snapshots": (2, neighbours.expires),
    "Flink forgets runs that ended": (1, neighbours.forgets_runs),
    "a pause": (1, lambda history: history.job.passes(history.draw.choice([15, 40]))),
}
OF_SPARK: dict[str, tuple[int, Act]] = {
    "Spark overwrites rows": (1, neighbours.overwrites_by_spark),
    "Spark appends rows": (1, neighbours.appends_by_spark),
    "write, audit, publish": (1, neighbours.publishes_after_audit),
}
OF_RETENTION: dict[str, tuple[int, Act]] = {
    "the topic deletes its oldest records": (1, lambda history: history.source.deletes_oldest()),
    "the topic deletes records that nobody has read": (
        1,
        lambda history: history.source.deletes_unread(history.stand),
    ),
}
SPLIT: dict[str, tuple[int, Act]] = {"the job is split in two": (1, operators.splits)}
OF_A_GUEST: dict[str, tuple[int, Act]] = {"another job commits": (5, neighbours.commits_of_a_guest)}
ALL = {**OF_THE_JOB, **MISTAKES, **ACCIDENTS, **BESIDE_IT, **OF_SPARK, **OF_A_GUEST, **OF_RETENTION, **SPLIT}


_OF_WIDE = 200
"""The number of the first event that only wide histories have."""


class Event(NamedTuple):
    """Something that happens; the number alone is what it draws from, besides the seed."""

    number: int
    name: str


@dataclass(frozen=True)
class Plan:
    """A history before it is played: `then` is what happens after evidence was collected, `meanwhile` what happens
    while it is."""

    seed: int
    setting: Setting
    events: tuple[Event, ...]
    then: tuple[Event, ...] = ()
    opens_where_suspicious: bool = False
    """Whether the window begins where main or the job first went back; else it is the whole table."""
    job_fails_for_good: bool = False
    pause_s: int = 0
    flink_is_down: bool = False
    opens_at: float | None = None
    """Of the heads at which nothing was wrong: how far along the window begins. None: as the other says."""
    meanwhile: tuple[Event, ...] = ()
    """After each of them some of the tasks have looked once more, or for the first time."""
    fails: tuple[str, ...] = ()
    """Tasks that could not answer when evidence was collected."""
    unasked: tuple[str, ...] = ()
    """Tasks that did not run then."""
    in_part: tuple[str, ...] = ()
    """Tasks that were asked of the newer half of the window only."""


class Drawn(NamedTuple):
    """A history that was played."""

    plan: Plan
    history: History
    looked: Looked
    steps: tuple[str, ...]
    """What happened, in words."""


def plan_of(seed: int, *, with_mistakes: bool, wide: bool = False, has_positions: bool = True) -> Plan:
    """What the seed says; `has_positions`: whether rows carry theirs. Wide: the same history, of a source with more to
    it, perhaps with retention, a job that is split, rows by key, and evidence that fails."""
    draw = Random(seed)  # noqa: S311 - a seed that can be given again
    setting = _setting_of(draw)._replace(
        clock_s=[3.0, -3.0, 0.0, 0.0][int(_draws(seed, "clock") * 4)],
        shows_points=_draws(seed, "points") < 0.5,
        has_positions=has_positions,
    )
    kinds = OF_THE_JOB | BESIDE_IT | (MISTAKES if with_mistakes else {})
    kinds |= ACCIDENTS if with_mistakes and _draws(seed, "accidents") < 0.3 else {}
    kinds |= OF_SPARK if draw.random() < 0.25 else {}
    kinds |= OF_A_GUEST if draw.random() < 0.2 else {}
    names = [name for name, (weight, _) in kinds.items() for _ in range(weight)]
    number = draw.randint(2, 11)
    later = draw.choice([0, 0, 0, 0, 1, 2])
    events = [Event(index, draw.choice(names)) for index in range(number + later)]
    plan = Plan(
        seed,
        setting,
        tuple(event for event in events if event.number < number),
        tuple(event for event in events if event.number >= number),
        opens_where_suspicious=draw.random() < 0.3,
        job_fails_for_good=not later and draw.random() < 0.15,
        pause_s=draw.choice([0, 0, 0, 5, 25, 90]),
        flink_is_down=draw.random() < 0.1,
        opens_at=_draws(seed, "where") if _draws(seed, "opens") < 0.3 else None,
        meanwhile=_meanwhile(seed, names),
    )
    return _widened(plan) if wide else plan


def _widened(plan: Plan) -> Plan:
    """All that is drawn here has a stream of its own."""
    draw = Random(f"{plan.seed} wide")  # noqa: S311 - a seed that can be given again
    partitions = draw.choice([1, 2, 2, 3])
    setting = plan.setting._replace(
        partitions=partitions, has_holes=draw.random() < 0.15, mixes_files=partitions > 1 and draw.random() < 0.3
    )
    setting = setting._replace(tells_of_holes=setting.has_holes and _draws(plan.seed, "tells of holes") < 0.7)
    setting = setting._replace(shows_broker=setting.tells_of_holes and _draws(plan.seed, "broker") < 0.5)
    if draw.random() < 0.25:
        setting = setting._replace(keys=draw.choice([3, 5, STRIDE]), keeps_keys=True)
    more = [
        Event(_OF_WIDE + number, draw.choice(list(OF_RETENTION))) for number in range(draw.choice([0, 0, 0, 1, 1, 2]))
    ]
    if partitions > 1 and draw.random() < 0.15:
        more.append(Event(_OF_WIDE + len(more), *SPLIT))
    events = list(plan.events)
    for event in more:
        events.insert(draw.randint(0, len(events)), event)
    return replace(
        plan,
        setting=setting,
        events=tuple(events),
        fails=tuple(draw.sample(TASKS, draw.choice([1, 1, 2]))) if draw.random() < 0.15 else (),
        unasked=tuple(draw.sample(TASKS, 1)) if draw.random() < 0.1 else (),
        in_part=tuple(draw.sample(TASKS, draw.choice([1, 2, 3]))) if draw.random() < 0.15 else (),
    )


def played(plan: Plan) -> Drawn:
    """The history that the plan leads to."""
    draw = Random()  # noqa: S311 - seeded before each event
    draw.seed(f"{plan.seed} begins")
    history = History(plan.setting, draw, f"{plan.seed}")
    steps = list[str]()
    history.source.draw.seed(f"{plan.seed} begins at the source")
    for rows in (2, 2):
        steps.append(_step(history, "a checkpoint", partial(history.job.reads, rows)))
    right, went_back = list[SnapshotId](), set[SnapshotId]()
    for event in plan.events:
        before = Marks.of(history)
        steps.append(_happens(history, plan.seed, event))
        went_back |= _went_back_to(history, before)
        if not truth_of(history).is_wrong and history.head not in right:
            right.append(history.head)
    if plan.job_fails_for_good and history.job.can_go_on:
        steps.append(_step(history, "the job fails for good", history.job.fails_for_good))
    since = None
    if plan.opens_where_suspicious:
        since = next((s.snapshot_id for s in history.table.chain if s.snapshot_id in went_back), None)
    if plan.opens_at is not None:
        listed = {s.snapshot_id for s in history.tale.snapshots}
        right = [each for each in right if each in listed]
        since = right[int(plan.opens_at * len(right))] if right else None
    looked = looks_at_a_part(history, look(history, since), plan.in_part)
    looked = looked._replace(failed=frozenset(plan.fails), unasked=frozenset(plan.unasked))
    for event in plan.meanwhile:
        steps.append(f"{_happens(history, plan.seed, event)} (meanwhile)")
        late = [task for task in TASKS if _draws(plan.seed, f"{event.number} {task}") < 0.5]
        looked = look_again(history, looked, late)
        steps.append(f"{history.tale.now:%T} these look once more: {', '.join(late) or 'none'}")
    gone = [f"; {name}: {', '.join(each)}" for name, each in _unanswered(plan).items() if each]
    begins = f", from {short(since)} on" if since is not None else ""
    steps.append(f"{history.tale.now:%T} evidence is collected{begins}{''.join(gone)}")
    for event in plan.then:
        steps.append(_happens(history, plan.seed, event))
    history.job.passes(plan.pause_s)
    if plan.flink_is_down:
        history.tale.flink_is_down()
    return Drawn(plan, history, looked, tuple(steps))


def _unanswered(plan: Plan) -> dict[str, tuple[str, ...]]:
    return {"these fail": plan.fails, "never asked": plan.unasked, "of the newer half only": plan.in_part}


def reduced(plan: Plan, fails: Callable[[Plan], bool]) -> Plan:
    """The smallest plan found that still fails: events and circumstances are left out one by one."""
    while (smaller := next((each for each in _smaller(plan) if fails(each)), None)) is not None:
        plan = smaller
    return plan


def _smaller(plan: Plan) -> list[Plan]:
    plain = Setting(sink=plan.setting.sink)._asdict()
    fewer = [replace(plan, events=tuple(e for e in plan.events if e != gone)) for gone in plan.events]
    later = [replace(plan, then=tuple(e for e in plan.then if e != gone)) for gone in plan.then]
    beside = [replace(plan, meanwhile=tuple(e for e in plan.meanwhile if e != gone)) for gone in plan.meanwhile]
    bare = [replace(plan, setting=plan.setting._replace(**{field: value})) for field, value in plain.items()]
    calm = [
        replace(plan, opens_where_suspicious=False),
        replace(plan, job_fails_for_good=False),
        replace(plan, opens_at=None),
        replace(plan, pause_s=0),
        replace(plan, flink_is_down=False),
        replace(plan, fails=()),
        replace(plan, unasked=()),
        replace(plan, in_part=()),
    ]
    return [each for each in (*fewer, *later, *beside, *bare, *calm) if each != plan]


def _draws(seed: int, what: str) -> float:
    """By itself, so that it changes nothing else of what the seed says."""
    return Random(f"{seed} {what}").random()  # noqa: S311 - a seed that can be given again


def _meanwhile(seed: int, names: list[str]) -> tuple[Event, ...]:
    """Mostly the job commits; the numbers are such as no other event has."""
    if _draws(seed, "meanwhile") >= 0.4:
        return ()
    draw = Random(f"{seed} happens meanwhile")  # noqa: S311 - as above
    number = draw.choice([1, 1, 2, 3])
    return tuple(
        Event(100 + each, "a checkpoint" if draw.random() < 0.8 else draw.choice(names)) for each in range(number)
    )


def _setting_of(draw: Random) -> Setting:
    return Setting(
        sink=draw.choice(["V1", "V1", "V1", "V2", "V2", "dynamic"]),
        keeps_keys=draw.random() < 0.7,
        commits_empty_after=draw.choice([10, 10, 3]),
        interval_s=draw.choice([10, 60]),
        lists=draw.choice(["all runs", "all runs", "the living run", "ended runs without details"]),
        shows_paths=draw.random() < 0.9,
        lists_guest=draw.random() < 0.5,
    )


def _happens(history: History, seed: int, event: Event) -> str:
    history.draw.seed(f"{seed} {event.number} {event.name}")
    history.source.draw.seed(f"{seed} {event.number} of the source")
    if event.name in OF_THE_JOB | MISTAKES | ACCIDENTS | SPLIT and not history.job.can_go_on:
        return f"{history.tale.now:%T} ({event.name}: the job is down)"
    return _step(history, event.name, partial(_goes_on, history, event))


def _goes_on(history: History, event: Event) -> None:
    """The half of a job that was split goes on whenever the job does."""
    ALL[event.name][1](history)
    if history.half is not None and event.name in OF_THE_JOB:
        history.half.reads(history.table, history.source)


def _step(history: History, name: str, act: Callable[[], object]) -> str:
    before = Marks.of(history)
    act()
    return step_in_words(history, name, before)


def _went_back_to(history: History, before: Marks) -> set[SnapshotId]:
    """Where main was set to a commit that was there already, or has rows that the source has still before it: the
    newest commit of main whose rows the source has all behind it."""
    made = {commit.snapshot_id for commit in history.table.commits[before.commits :]}
    stands, chain = history.stand, (s.snapshot_id for s in reversed(history.table.chain))
    if history.head in {before.head, *made} and all(has_passed(stands, each) for each in history.table.live_now):
        return set()
    passed = (each for each in chain if all(has_passed(stands, record) for record in history.table.live(each)))
    return {*islice(passed, 1)}


def _is_quiet(history: History) -> None:
    for _ in range(history.draw.choice([2, 5, 12])):
        history.job.reads(0)
