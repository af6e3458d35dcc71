"""Puts one case to every failure mode.

Nothing is called right while a mode by which rows are lost or doubled holds or cannot tell: one answer, not two
that a tired reader has to weigh against each other.

People declare what they have planned: such a match says so, and asks for no recovery while no wrong row is known. That
makes no mode hold and no row right: whether a match says that rows are right is the same with it and without it, and
what vouches for the table is left as it is.
"""

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType, ModuleType

from bot.diagnosis._support.asked import lacking
from bot.diagnosis._support.last_good import with_rows_told
from bot.diagnosis._support.rightness import may_answer
from bot.diagnosis._support.upsert import may_be_replaced
from bot.diagnosis._support.wrong_rows import copies_unexplained
from bot.history.case import Case, PlannedChange
from bot.history.counted import COUNTS
from bot.history.proof import Unproven, Wrong, exact
from bot.history.shorter_history import reaches_below, shortened
from bot.history.without_ids import why_untold, without_ids
from bot.incident.diagnosis import (
    HEALTHY,
    Act,
    CannotTell,
    Diagnosis,
    Examined,
    Excluded,
    Matches,
    Mode,
    ModeResult,
    Remedy,
)
from bot.incident.doubt import leaves_rows, rows_are_right
from bot.incident.entries import Diagnosed
from bot.incident.hidden_values import veiled_body
from bot.observation.errors import BadConfiguration
from bot.observation.record import Record
from bot.observation.sentences import counted, full_stop


class ModeModule(Record):
    """A failure mode as the application uses it."""

    mode: Mode
    examine: Callable[[Case], Examined]
    """Pure: the same case, the same answer."""


def scan(package: ModuleType) -> Mapping[str, ModeModule]:
    """Code -> module, frozen, in the order of the catalogue (F1, F2, …, then words). A module of several modes, whose
    names begin with its own, has `MODES`, each with its function. Raises BadConfiguration with what to write."""
    found: dict[str, ModeModule] = {}
    for info in pkgutil.iter_modules(package.__path__):
        if info.name.startswith("_"):
            continue
        name = f"{package.__name__}.{info.name}"
        module = importlib.import_module(name)
        only = (getattr(module, "MODE", None), getattr(module, "examine", None))
        for mode, examine in getattr(module, "MODES", (only,)):
            if not isinstance(mode, Mode) or not callable(examine) or not mode.name.startswith(info.name):
                raise BadConfiguration(
                    f"The diagnosis module {name} is not complete.",
                    f"Expected MODE = Mode(code=…, name={info.name!r}, …) and examine(case) -> Matches | Excluded | "
                    f"CannotTell; found MODE={type(mode).__name__}, "
                    f"examine={'a function' if callable(examine) else 'none'}.",
                    "Write both; CONTRIBUTING.md shows an example.",
                )
            if mode.code in found:
                raise BadConfiguration(
                    f"The diagnosis module {name} repeats a code.",
                    f"Expected a code of its own; found {mode.code}, which {found[mode.code].mode.name} has.",
                    "Give it the code of its line in the catalogue, or a word.",
                )
            found[mode.code] = ModeModule(mode=mode, examine=examine)
    return MappingProxyType({code: _with_neighbours(found, code) for code in sorted(found, key=_catalogue_order)})


_APART = re.compile(r"There (.+?)(?:\. Here|[,;] here) (.+)\.")


def _with_neighbours(found: Mapping[str, ModeModule], code: str) -> ModeModule:
    """With what other modes say of telling themselves from this one, turned round."""
    each = found[code]
    told = ((other, _APART.fullmatch(of.mode.neighbours.get(code, ""))) for other, of in found.items())
    turned = {other: f"There {said[2]}. Here {said[1]}." for other, said in told if said}
    neighbours = {**turned, **each.mode.neighbours}
    return ModeModule(mode=each.mode.model_copy(update={"neighbours": neighbours}), examine=each.examine)


def _catalogue_order(code: str) -> tuple[int, int, str]:
    number = re.fullmatch(r"F(\d+)", code)
    return (0, int(number[1]), code) if number else (1, 0, code)


VOUCHING = frozenset({HEALTHY, "no-advance"})
"""The modes that say that the rows are right."""
_OF_HISTORY = frozenset({"F1", "F2", "F3", "F4", "F5", "F6", "F12", "F13", "F15", "F18", "F27"})
"""Modes by which rows of a job are lost or doubled through what became of its states: what the proof is about."""
_BY_IDS = (_OF_HISTORY | {"F11", "F14"}) - {"F18"}
"""Modes that are told by which run and checkpoint made a commit."""
_BRING_AGAIN = frozenset({"F2", "F3", "F15"})
"""Modes by which a run reads again what main has."""
_OF_NOW = frozenset({Act.CONTAIN, Act.RECOVER, Act.REPAIR})


def agreeing(case: Case, results: Iterable[ModeResult]) -> tuple[ModeResult, ...]:
    """The same answers, but that none of `VOUCHING` holds beside a mode by which rows are wrong, or were: who read them
    must be told. Where rows of the job came twice and no mode names how, those by which a run reads again cannot be
    ruled out. Where the rows are proven right, a doubt of one that is about the same rows is settled; any other doubt
    of rows is a doubt of that answer too. Evidence that nobody asked for is no doubt: not all there is must be
    collected."""
    told = tuple(results)
    is_named = any(_is_of_history(each, Matches) for each in told)
    right = None if is_named else next((each for each in told if _vouches(each)), None)
    copies = copies_unexplained(case) if right is None and not is_named else None
    if copies is not None:
        told = tuple(
            each.model_copy(update={"examined": copies}) if _may_explain_copies(each) else each for each in told
        )
    wrong = next((each for each in told if _accuses(each) or _is_of_history(each, Matches)), None)
    if wrong is not None and isinstance(wrong.examined, Matches):
        out = Excluded(reason=f"{wrong.mode.code} holds: {wrong.examined.headline}")
        return tuple(each.model_copy(update={"examined": out}) if _vouches(each) else each for each in told)
    if right is not None:
        settled = Excluded(reason=f"Every row of the window is there once, and stays so: see `{right.mode.code}`.")
        told = tuple(
            each.model_copy(update={"examined": settled}) if _is_of_history(each, CannotTell) else each for each in told
        )
    doubts = tuple(_doubts_in(case, told))
    if not doubts:
        return told
    left = CannotTell(
        missing=tuple(dict.fromkeys(what for doubt in doubts for what in doubt.missing)),
        asks=tuple(dict.fromkeys(task for doubt in doubts for task in doubt.asks)),
    )
    return tuple(each.model_copy(update={"examined": left}) if _vouches(each) else each for each in told)


def _may_explain_copies(result: ModeResult) -> bool:
    return isinstance(result.examined, Excluded) and result.mode.code in _BRING_AGAIN


def _is_of_history(result: ModeResult, said: type[Matches | CannotTell]) -> bool:
    return isinstance(result.examined, said) and result.mode.code in _OF_HISTORY


def _doubts_in(case: Case, told: Iterable[ModeResult]) -> Iterator[CannotTell]:
    for each in told:
        if isinstance(each.examined, CannotTell) and _is_of_rows(each.mode):
            unasked = lacking(case, *each.mode.needs)
            if not {*each.examined.missing} <= {*unasked}:
                yield each.examined


def _accuses(result: ModeResult) -> bool:
    found = result.examined
    return isinstance(found, Matches) and _is_of_rows(result.mode) and not rows_are_right(found)


def _is_of_rows(mode: Mode) -> bool:
    """Whether rows are wrong where it holds: it may ask for more than to leave them alone."""
    return mode.code not in VOUCHING and mode.act in _OF_NOW and not all(leaves_rows(each) for each in mode.remedies)


def _vouches(result: ModeResult) -> bool:
    found = result.examined
    return result.mode.code in VOUCHING and isinstance(found, Matches) and rows_are_right(found)


def diagnose(case: Case, modes: Mapping[str, ModeModule]) -> Diagnosis:
    """Every mode's answer, in the mapping's order, which is the order in which to act; without values of hidden
    columns, wherever it is read. Each match says what is known of the rows up to the snapshot that it names, and
    whether people have declared it planned."""
    shorter = shortened(case)
    told = _diagnosed(shorter, modes)
    if shorter is case or not reaches_below(case, "\n".join(match.model_dump_json() for _, match in told.matches)):
        return told
    return _diagnosed(case, modes)


def _diagnosed(case: Case, modes: Mapping[str, ModeModule]) -> Diagnosis:
    results = (ModeResult(mode=module.mode, examined=_examined(case, module)) for module in modes.values())
    diagnosis = Diagnosis(results=with_plans(case, agreeing(case, results)))
    told = veiled_body(Diagnosed(diagnosis=diagnosis), case.contract)
    assert isinstance(told, Diagnosed)
    return told.diagnosis


def _examined(case: Case, module: ModeModule) -> Examined:
    """Where the job's commits carry no ids, no mode is excluded that ids tell."""
    found = module.examine(case)
    if isinstance(found, Excluded) and module.mode.code in _BY_IDS and (untold := without_ids(case)):
        return CannotTell(missing=(why_untold(untold),))
    return with_rows_told(case, found) if isinstance(found, Matches) else found


def with_plans(case: Case, results: Iterable[ModeResult]) -> tuple[ModeResult, ...]:
    """The same answers; each match that people have declared planned takes that into account."""
    plans = {plan.code: plan for plan in case.planned}
    return tuple(
        each.model_copy(update={"examined": _taken(case, each.mode, each.examined, plans[each.mode.code])})
        if isinstance(each.examined, Matches) and each.mode.code in plans
        else each
        for each in results
    )


def _taken(case: Case, mode: Mode, match: Matches, plan: PlannedChange) -> Matches:
    if not _covers(plan, match):
        return _saying(match, f"<@{plan.by}> declared an earlier change as planned ({plan.what}), not this one.")
    said = f"Planned by <@{plan.by}> ({plan.what}): {full_stop(plan.reason)}"
    if rows_are_right(match):
        return _saying(match, said)
    known = _known(case)
    if isinstance(known, Wrong):
        return _saying(match, said, f"A plan does not make rows right: {known.reason}")
    if isinstance(known, Unproven):
        open_still = f"Whether its rows are right is not known yet: {known.missing.rstrip('.')}."
        asks = (*match.asks, *may_answer(case, known.asks))
        return _saying(match, said, open_still).model_copy(update={"asks": tuple(dict.fromkeys(asks))})
    if Remedy.VERIFY_CURRENT_STATE in mode.remedies:
        told = _saying(match, said, "No wrong row was counted, so nothing is taken back.")
        return told.model_copy(update={"remedy": Remedy.VERIFY_CURRENT_STATE, "how": None})
    how = f"change nothing; count the rows again after the next commit, and only if they are wrong {match.what_to_do}"
    so_far = "No wrong row was counted so far. Rows that come twice, or are missing, must be repaired all the same."
    return _saying(match, said, so_far).model_copy(update={"how": how})


def _known(case: Case) -> Wrong | Unproven | None:
    """What speaks against the rows of main as it is now, or has to be known of them; None: each is there once."""
    if case.duplicates is not None and case.duplicates.keys:
        return Wrong(f"{counted(case.duplicates.extra_rows, 'row')} too many.")
    if case.gaps is not None and case.gaps.to_come:
        return Wrong(f"{counted(case.gaps.to_come, 'position')} that main has lost have not been written again yet.")
    if old := lacking(case, *COUNTS, whole=True):
        return Unproven("; ".join(old), COUNTS)
    replaced = may_be_replaced(case)
    return exact(case) if replaced is None else Unproven(replaced)


def _saying(match: Matches, *first: str) -> Matches:
    return match.model_copy(update={"reasons": (*first, *match.reasons)})


def _covers(plan: PlannedChange, match: Matches) -> bool:
    """Whether the match is of the same cause: of the same run, which may have committed on, or of no commit that was
    not there when it was declared."""
    if plan.newest_wrong != match.newest_wrong:
        return False
    if match.wrong_run is None:
        return set(match.rows) <= set(plan.commits)
    return (plan.run, plan.last_good) == (match.wrong_run, match.last_good)
