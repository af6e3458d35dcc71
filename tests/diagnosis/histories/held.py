"""Which answers to a history are wrong, held against the truth; and how a failing one is told to a developer."""

from collections.abc import Iterator

import bot.diagnosis
from bot.diagnosis._support.examine import diagnose, scan
from bot.history.case import Case, PlannedChange
from bot.incident.diagnosis import HEALTHY, Act, Diagnosis, LastGoodRows, Matches, Mode
from bot.incident.doubt import faults_in, rows_are_right
from bot.observation.ids import UserId, short
from tests.diagnosis.histories import by_task
from tests.diagnosis.histories.drawn import Drawn, Plan, played
from tests.diagnosis.histories.looked import TASKS, case_of, look_again
from tests.diagnosis.histories.source import has_passed
from tests.diagnosis.histories.told import positions_in_words, standing_in_words
from tests.diagnosis.histories.truth import Truth, truth_of, truth_since, wrong_up_to

MODES = scan(bot.diagnosis)
OF_ROWS = frozenset({"F1", "F2", "F3", "F4", "F5", "F6", "F7", "F12", "F13", "F15", "F18"})
"""Modes by which the rows of a job are lost or doubled."""
IDLE = "no-advance"


def case_for(drawn: Drawn) -> Case:
    """The case as the bot would build it."""
    return case_of(drawn.history, drawn.looked, by_task.judged)


def answered(drawn: Drawn) -> Diagnosis:
    """What the bot says of it."""
    return diagnose(case_for(drawn), MODES)


def truth_for(drawn: Drawn) -> Truth:
    """What is true of the rows of the window."""
    looked = drawn.looked
    counted = looked.moments["missing_positions"].head
    is_counted = "missing_positions" not in looked.failed | looked.unasked
    return truth_since(drawn.history, looked.begins, looked.below, counted if is_counted else None)


def asked_again(drawn: Drawn) -> Drawn:
    """What the modes ask for looks once more, each task once, as the bot has it do by itself."""
    tried = set[str]()
    while asked := [task for task in answered(drawn).asks if task in TASKS and task not in tried]:
        tried.update(asked)
        drawn = drawn._replace(looked=look_again(drawn.history, drawn.looked, asked))
    return drawn


def wrongly_safe(drawn: Drawn) -> tuple[str, ...]:
    """Answers after which nobody would look at the rows any more, although they are lost or doubled, or will be; before
    and after what is asked for has looked."""
    first, then = _wrongly_safe(drawn), asked_again(drawn)
    return first or (_wrongly_safe(then) if then is not drawn else ())


def _wrongly_safe(drawn: Drawn) -> tuple[str, ...]:
    told = answered(drawn)
    truth = truth_for(drawn)
    return (*_healthy(drawn, told, truth), *_leaves_rows(told, truth))


def wrongly_excused(drawn: Drawn) -> tuple[str, ...]:
    """What changes for the better once people have declared planned whatever can be: nothing may. No answer is safe
    that was not, no fault is gone, and wrong rows that were counted ask for what they asked for."""
    case, before = case_for(drawn), answered(drawn)
    plans = tuple(_plan_for(mode, match) for mode, match in before.matches if mode.planned_as)
    if not plans:
        return ()
    after, truth = diagnose(case.model_copy(update={"planned": plans}), MODES), truth_for(drawn)
    was, now = (
        [(r.mode.code, r.examined.verdict, isinstance(r.examined, Matches) and rows_are_right(r.examined))
         for r in told.results] for told in (before, after)
    )  # fmt: skip
    told = [f"With a plan {one} became {other}." for one, other in zip(was, now, strict=True) if one != other]
    if case.duplicates is not None and case.duplicates.keys:
        asked = [[match.what_to_do for _, match in each.matches] for each in (before, after)]
        told += ["Rows are doubled, and a plan changes what is asked for."] if asked[0] != asked[1] else []
    return (*told, *_healthy(drawn, after, truth), *_leaves_rows(after, truth))


def _plan_for(mode: Mode, match: Matches) -> PlannedChange:
    return PlannedChange(
        code=mode.code, what=mode.planned_as[0], reason="Announced.", by=UserId("U0ANA"), run=match.wrong_run,
        last_good=match.last_good, newest_wrong=match.newest_wrong, commits=match.rows,
    )  # fmt: skip


def wrongly_clean(drawn: Drawn) -> tuple[str, ...]:
    """Snapshots that are called good, and are not."""
    named = [(mode.code, match.last_good, match.last_good_rows) for mode, match in answered(drawn).matches]
    wrong = [
        (code, snapshot, wrong_up_to(drawn.history, snapshot) & _asked_for(drawn))
        for code, snapshot, rows in named
        if rows is LastGoodRows.CLEAN and snapshot is not None
    ]
    return tuple(
        f"{code} calls rows clean up to {short(snapshot)}, where {positions_in_words(rows)} is wrong."
        for code, snapshot, rows in wrong
        if rows
    )


def _asked_for(drawn: Drawn) -> frozenset[int]:
    """Positions of which the window tells."""
    history, looked = drawn.history, drawn.looked
    newer = {position for position, commit in history.table.live_by_commit(history.head) if commit not in looked.below}
    ever = history.source.below(tuple(each + 1 for each in history.source.furthest))
    return frozenset(newer | {position for position in ever if not has_passed(looked.begins, position)})


def wrongly_acquitted(drawn: Drawn) -> tuple[str, ...]:
    """Rows of the window are lost or doubled, or will be, and every mode by which that comes is excluded, without a
    doubt in whether the table is right either. What another writer took off is named by F21."""
    told, truth = answered(drawn), truth_for(drawn)
    excluded = {mode.code for mode, _ in told.excluded}
    if "F21" in told.codes and not truth.doubled and not truth.to_come_again:
        return ()
    is_open = IDLE in {mode.code for mode, _ in told.undecided}
    if not truth.is_wrong or not excluded >= OF_ROWS | {HEALTHY} or is_open or _puts_off(told):
        return ()
    return ("The table is not healthy, and every mode by which rows are lost or doubled is excluded.",)


def false_alarms(drawn: Drawn) -> tuple[str, ...]:
    """What the bot says against a history in which nothing is wrong, a sentence each. A job that cannot be restored any
    more, because expiry has taken its last commit (F8), is not well though nobody made a mistake."""
    if drawn.history.job.is_stuck:
        return ()
    if truth_of(drawn.history).is_wrong:
        return ("The history is not a good one: the test's own model is wrong.",)
    accusing = [(mode, match) for mode, match in faults_in(answered(drawn)) if mode.act is not Act.NOTE]
    wrote = {"F21"} if drawn.history.others_wrote else set()
    return tuple(f"{mode.code} accuses: {match.headline}" for mode, match in accusing if mode.code not in wrote)


def in_words(plan: Plan, wrong: tuple[str, ...]) -> str:
    """The whole story, for whoever is to find out."""
    drawn = played(plan)
    truth, told = truth_of(drawn.history), answered(drawn)
    kept = {
        name: value for name, value in plan.setting._asdict().items() if value != plan.setting._field_defaults[name]
    }
    circumstances = [
        f"seed {plan.seed}",
        *(f"{name.replace('_', ' ')}: {value}" for name, value in kept.items()),
        "the window begins where the incident would begin it" if plan.opens_where_suspicious else "",
        "Flink is down" if plan.flink_is_down else "",
    ]
    lines = (
        "; ".join(filter(None, circumstances)),
        *drawn.steps,
        "",
        *standing_in_words(drawn.history),
        "",
        f"true: lost {positions_in_words(truth.lost)}; doubled {positions_in_words(truth.doubled)}; "
        f"to come again {positions_in_words(truth.to_come_again)}",
        *(f"said: {mode.code}: {match.headline} ({match.remedy.name})" for mode, match in told.matches),
        *(f"open: {mode.code}: {cannot.missing[0]}" for mode, cannot in told.undecided),
        *(f"no:   {mode.code}: {ex.reason}" for mode, ex in told.excluded if mode.code in OF_ROWS | {HEALTHY}),
        *(f"WRONG: {each}" for each in wrong),
    )
    return "\n".join(lines)


def _healthy(drawn: Drawn, told: Diagnosis, truth: Truth) -> Iterator[str]:
    matches = {mode.code: match for mode, match in told.matches}
    if (healthy := matches.get(HEALTHY)) is not None:
        if truth.lost or truth.to_come_again:
            yield "The table is called healthy."
        elif healthy.last_good is not None and wrong_up_to(drawn.history, healthy.last_good) & truth.doubled:
            yield "The table is called healthy up to a commit at which rows are doubled."
    if IDLE in matches and (truth.lost or truth.doubled):
        yield "It is said that only no snapshot advances."


def _puts_off(told: Diagnosis) -> bool:
    """Whether Flink restores the run this very moment, and nothing is said before that is over."""
    return any(mode.code == "wait" and "is recovering" in match.headline for mode, match in told.matches)


def _leaves_rows(told: Diagnosis, truth: Truth) -> Iterator[str]:
    """What is to be done first leaves the rows alone, no other match says otherwise, and nothing is in doubt."""
    decisive = told.decisive
    if decisive is None or not truth.is_wrong or told.asks or told.undecided or faults_in(told):
        return
    if _puts_off(told):
        return
    mode, match = decisive
    if mode.code not in {HEALTHY, IDLE} and mode.act is not Act.NOTE and rows_are_right(match):
        yield f"What is to be done, {match.remedy.name} of {mode.code}, leaves the rows as they are."
