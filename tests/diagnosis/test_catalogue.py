"""The catalogue of failure modes: whole, found by one scan, in the order in which to act.

The stories that the failure modes must tell apart, and the codes that each must get.
"""

import random
import sys
from collections.abc import Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import MappingProxyType, ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bot.diagnosis
from bot.diagnosis import checkpoints_failed, event_time_stuck, healthy
from bot.diagnosis._support.asked import lacking
from bot.diagnosis._support.examine import ModeModule, diagnose, scan
from bot.history.case import Case
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
from bot.observation.errors import BadConfiguration
from bot.observation.findings import LeakStanding, RepeatedCommit, UnreadableFile
from bot.observation.flink import JobRun, Restored
from bot.observation.ids import DRAINED, CheckpointId
from bot.observation.looked import Seen
from bot.observation.table import TableState
from tests.cases import FLINK_DOWN, NOON, Tale, job_id
from tests.found import hole, leaks, repeats, twice, unreadable


def tale(last: int = 10, *, v1: bool = False) -> Tale:
    """Run a has committed 1 to this."""
    return Tale().flink_runs("a", v1=v1).commits("a", *range(1, last + 1))


def over(last: int = 10, *, v1: bool = False, state: str = "FINISHED") -> Tale:
    """And it is over."""
    return tale(last, v1=v1).becomes("a", state)


def drained() -> Tale:
    """The next run was restored and has completed 4 and 5."""
    told = Tale().flink_runs("a", v1=True).commits("a", 1, 2, DRAINED).becomes("a", "FINISHED")
    return told.flink_runs("b", restored=3, v1=True).completes("b", 4, 5)


def with_one_task_for_all(told: Tale) -> Case:
    """As run on Flink 2.1 at parallelism 1: source, writer and committer are one vertex with the source's id."""
    told.leaves_manifest("b", 4, 5)
    source = told.runs["b"].vertices[0]
    whole = source.model_copy(update={"name": "Source: orders[40] -> IcebergStreamWriter -> IcebergFilesCommitter"})
    return told.shows("b", vertices=(whole,)).looked_at(leaked=leaks(*told.manifests, standing=LeakStanding.DROPPED))


STORIES: dict[str, tuple[Case, str]] = {
    "healthy without failure": (tale(4).looked_at(), "healthy"),
    "recovered by failover": (
        tale(3).flink_runs("a", restored=3).completes("a", 4, 5).commits("a", 4, 5).looked_at(),
        "healthy",
    ),
    "redeployed from its stop savepoint": (
        over(3).flink_runs("b", restored=3).commits("b", 4, 5).looked_at(),
        "healthy",
    ),
    "rewound, V2": (over().flink_runs("b", restored=6).commits("b", 7, 8).looked_at(duplicates=22), "F2"),
    "rewound, V2, and silent": (over().flink_runs("b", restored=6).looked_at(), "F2"),
    "rewound, V1, and silent": (
        over(v1=True).flink_runs("b", restored=6, v1=True).completes("b", 7, 8).looked_at(),
        "F2 F3",
    ),
    "rewound, V1, and late": (
        over(v1=True)
        .flink_runs("b", restored=6, v1=True)
        .completes("b", *range(7, 12))
        .commits("b", 11)
        .looked_at(duplicates=40),
        "F2 F3",
    ),
    "restored below under the same id": (
        tale().flink_runs("a", restored=4).completes("a", 5, 6, 7).looked_at(),
        "F3",
    ),
    # As run on Flink 1.20.3: 3 committed, 4 to 21 rolled back, 22 to 24 on top of 3.
    "rolled back while running": (
        tale(21).rolls_back_to("a", 3).commits("a", 22, 23, 24).looked_at(missing=1056),
        "F6",
    ),
    "rolled back just now": (tale(7).rolls_back_to("a", 3).looked_at(), "F6"),
    # What the rewind itself leaves behind: nothing is wrong any more.
    "rewound together": (
        over()
        .flink_runs("b", restored=6)
        .commits("b", 7, 8, 9)
        .becomes("b", "CANCELED")
        .rolls_back_to("a", 6)
        .flink_runs("c", restored=6)
        .commits("c", 7, 8, 9, 10)
        .looked_at(),
        "healthy",
    ),
    "rewound together under one id": (
        tale(8).rolls_back_to("a", 5).flink_runs("a", restored=5).commits("a", 6, 7).looked_at(),
        "healthy",
    ),
    "rewound together and about to commit": (
        over(8).rolls_back_to("a", 5).flink_runs("b", restored=5).looked_at(),
        "healthy",
    ),
    "starting after a restore": (tale(3).flink_runs("a", restored=3, state="INITIALIZING").looked_at(), "wait"),
    "recovering now": (tale(3).fails("a").becomes("a", "RESTARTING").looked_at(), "wait"),
    "failed a moment ago": (tale(3).completes("a", 3).fails("a").looked_at(), "wait"),
    "in a restart loop": (
        tale(3).completes("a", 3).fails("a", times=4).becomes("a", "RESTARTING").looked_at(),
        "no-advance",
    ),
    "given up": (over(3, state="FAILED").looked_at(), "no-advance"),
    "started without state": (
        over(5, state="CANCELED").flink_runs("b").commits("b", 1, 2, 3).looked_at(duplicates=30),
        "F15",
    ),
    "two jobs at once": (
        tale(6).flink_runs("b", restored=4).commits("b", 5).commits("a", 7).commits("b", 6).looked_at(duplicates=10),
        "F13",
    ),
    "drained": (drained().looked_at(), "F5"),
    "drained with one task for all": (with_one_task_for_all(drained()), "F5"),
    "another engine deleted": (tale(2).commits(None, operation="delete").commits("a", 3).looked_at(), "F21"),
    "compacted": (
        tale(2).commits(None, operation="replace").counts(deleted_records=10).commits("a", 3).looked_at(),
        "healthy",
    ),
    "withheld without a known cause": (tale(2).completes("a", *range(3, 16)).looked_at(), ""),
}


MODES = scan(bot.diagnosis)
CODES = [*(f"F{number}" for number in range(1, 28)), "healthy", "no-advance", "wait"]
LONGEST = 220
"""Characters."""
WITHOUT_FALSE_POSITIVES: dict[str, str] = {}
"""Code -> why nothing else looks like it."""
codes = pytest.mark.parametrize("code", MODES)


@codes
def test_a_mode_says_what_to_do(code: str) -> None:
    """At least one remedy, none twice, each with words."""
    remedies = MODES[code].mode.remedies

    assert remedies
    assert len(set(remedies)) == len(remedies)
    assert [each for each in remedies if not each.words] == []


@codes
def test_a_mode_names_what_is_easily_taken_for_it(code: str) -> None:
    """Full sentences; or there is a reason why nothing is."""
    told = MODES[code].mode.false_positives

    assert told or code in WITHOUT_FALSE_POSITIVES
    assert [each for each in told if not each.endswith(".") or each[0].islower()] == []


@codes
def test_neighbours_are_other_modes(code: str) -> None:
    """Each names at least one mode that it is told apart from, and not itself."""
    neighbours = MODES[code].mode.neighbours

    assert neighbours
    assert set(neighbours) <= set(CODES) - {code}


@codes
def test_a_mode_says_how_it_is_told_from_each_neighbour(code: str) -> None:
    """Full sentences of its own, short enough to be read at night."""
    told = list(MODES[code].mode.neighbours.values())

    assert [how for how in told if not (how[:1].isupper() and how.endswith("."))] == []
    assert [how for how in told if len(how) > LONGEST] == []
    assert len(set(told)) == len(told)


@codes
def test_only_what_asks_for_something_comes_first(code: str) -> None:
    """What is only to be told changes neither table nor job; and what changes nothing is never acted on first."""
    mode = MODES[code].mode
    harmless = {Remedy.NOTHING, Remedy.TELL_CONSUMERS, Remedy.WAIT}

    asks = set(mode.remedies) - harmless

    assert not asks or mode.act < Act.TELL
    assert asks or mode.act >= Act.WAIT


def test_titles_are_their_own() -> None:
    """Two modes with one title could not be told apart in a message."""
    titles = [module.mode.title for module in MODES.values()]

    assert len(set(titles)) == len(titles)
    assert [title for title in titles if title.endswith(".")] == []


GOOD = """
from bot.incident.diagnosis import Mode
MODE = Mode(code={code!r}, name={name!r}, title="t", needs=(), false_positives=(), neighbours={{}})
def examine(case):
    raise NotImplementedError
"""


@pytest.fixture
def modes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An importable package `some_modes` to write modules into."""
    (tmp_path / "some_modes").mkdir()
    (tmp_path / "some_modes" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path / "some_modes"
    for name in [name for name in sys.modules if name.split(".")[0] == "some_modes"]:
        del sys.modules[name]


def package() -> ModuleType:
    invalidate_caches()
    return import_module("some_modes")


def test_the_catalogue_is_in_the_order_in_which_to_act() -> None:
    """Faults by their number first, then the words; frozen."""
    assert CODES == list(MODES)
    assert isinstance(MODES, MappingProxyType)


def test_numbers_count_as_numbers(modes: Path) -> None:
    """F10 comes after F2, and words come last."""
    for code, name in (("F10", "ten"), ("F2", "two"), ("asleep", "word")):
        (modes / f"{name}.py").write_text(GOOD.format(code=code, name=name))

    assert list(scan(package())) == ["F2", "F10", "asleep"]


@pytest.mark.parametrize(
    ("files", "match"),
    [
        ({"half": "MODE = 3\n"}, r"some_modes\.half is not complete.*MODE = Mode\(.*found MODE=int"),
        ({"one": GOOD.format(code="F1", name="other")}, "name='one'"),
        ({name: GOOD.format(code="F1", name=name) for name in ("one", "two")}, r"found F1, which one has"),
    ],
    ids=["no mode", "another name than the module's", "a code that another mode has"],
)
def test_what_is_no_whole_mode_is_refused(modes: Path, files: dict[str, str], match: str) -> None:
    """A code leads to one file, and a branch of a runbook to one mode; the message names the module."""
    for name, text in files.items():
        (modes / f"{name}.py").write_text(text)

    with pytest.raises(BadConfiguration, match=match):
        scan(package())


def test_support_modules_are_left_alone(modes: Path) -> None:
    """What begins with `_` is support."""
    (modes / "_support.py").write_text("x = 1\n")

    assert dict(scan(package())) == {}


def withheld_then_dropped() -> Case:
    """`b` (V1) was restored too far back and committed late; after the change to V2 under a fixed id, `c` was started
    without state."""
    tale = Tale().flink_runs("a", v1=True).commits("a", *range(1, 11)).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=6, v1=True).completes("b", *range(7, 12)).commits("b", 11).becomes("b", "FINISHED")
    tale.flink_runs("c", restored=11).commits("c", 12, 13).becomes("c", "CANCELED")
    tale.starts_again("c").completes("c", 1, 2).leaves_manifest("c", 1, 2)
    return tale.looked_at(duplicates=40, leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED))


def rolled_back_and_looping() -> Case:
    """The table was rolled back under the running job, which then failed over and looks for what it has committed."""
    tale = Tale().flink_runs("a", v1=True).commits("a", *range(1, 10)).rolls_back_to("a", 3)
    tale.flink_runs("a", restored=9, v1=True, state="RESTARTING")
    return tale.misses_manifest("a", "a", 9, times=3).looked_at()


def rewound_and_forked() -> Case:
    """`b` replaced `a` from an older savepoint; then `c` was started from `b`'s checkpoint while `b` ran on."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=6).commits("b", 7, 8).flink_runs("c", restored=8)
    return tale.commits("c", 9).commits("b", 9).commits("c", 10).looked_at(duplicates=30)


def rewound_with_lost_metadata() -> Case:
    """The newest metadata file is gone, and what older metadata shows is a rewind."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=6).commits("b", 7, 8)
    tale.lost_metadata = "s3://lake/sales/orders/metadata/00020.metadata.json"
    return tale.looked_at(duplicates=20)


def repeated_and_cleaned_up() -> Case:
    """A commit was made twice, and a cleanup took a data file."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 3)
    first, again = (s.snapshot_id for s in tale.snapshots if s.checkpoint_id == 3)
    repeated = RepeatedCommit(
        first=first, again=again, how="same-checkpoint", job_id=job_id("a"), checkpoint_id=CheckpointId(3), rows=10
    )
    file = UnreadableFile(
        path="s3://lake/sales/orders/data/1.parquet", what="data", snapshot_id=first, rows=10, problem="It is gone."
    )
    return tale.looked_at(duplicates=10, duplicate_commits=repeats(repeated), unreadable=unreadable(file))


@pytest.mark.parametrize(
    ("case", "codes"),
    [
        (withheld_then_dropped(), ["F2", "F3", "F4"]),
        (rolled_back_and_looping(), ["F7"]),
        (rewound_and_forked(), ["F13", "F2"]),
        (rewound_with_lost_metadata(), ["F10", "F2"]),
        (repeated_and_cleaned_up(), ["F9", "F1"]),
    ],
    ids=["F2+F3+F4", "F7", "F13+F2", "F10+F2", "F9+F1"],
)
def test_what_still_grows_worse_comes_first(case: Case, codes: list[str]) -> None:
    """Contain, make readable, recover, repair; within one of these by the catalogue's number."""
    faults = {f"F{number}" for number in range(1, 14)}

    diagnosis = diagnose(case, MODES)

    assert codes == [code for code in diagnosis.codes if code in faults]
    assert not {"healthy", "no-advance"} & set(diagnosis.codes)


def test_where_nothing_matches_the_table_is_not_acquitted() -> None:
    """Two rows of one key in one append fit no mode; that they are there is said all the same."""
    diagnosis = diagnose(Tale().flink_runs("a").commits("a", 1, 2).looked_at(duplicates=2), MODES)

    assert () == diagnosis.codes
    assert diagnosis.nothing_matches.startswith("No failure mode matches. The table is not healthy: ")
    assert "2 keys live more than once" in diagnosis.nothing_matches


def said(mode: Mode, remedy: Remedy) -> ModeResult:
    """The mode matches and asks for that."""
    matched = Matches(headline="It is so.", reasons=(), remedy=remedy)
    return ModeResult(mode=mode, examined=matched)


UNSURE = ModeResult(mode=healthy.MODE, examined=CannotTell(missing=("duplicate_rows",)))


WELL = said(healthy.MODE, Remedy.NOTHING)


@pytest.mark.parametrize(
    ("note", "beside", "decides"),
    [
        (said(checkpoints_failed.MODE, Remedy.NOTHING), UNSURE, None),
        (said(checkpoints_failed.MODE, Remedy.NOTHING), WELL, healthy.MODE),
        (said(event_time_stuck.MODE, Remedy.TELL_CONSUMERS), WELL, event_time_stuck.MODE),
        (said(checkpoints_failed.MODE, Remedy.TELL_CONSUMERS), UNSURE, checkpoints_failed.MODE),
    ],
    ids=["nobody can tell of the table", "its rows are right", "its rows are right, and late", "consumers wait"],
)
def test_a_note_decides_only_where_it_asks_for_something(
    note: ModeResult, beside: ModeResult, decides: Mode | None
) -> None:
    """A failed checkpoint beside a table of which nobody can tell must not become the all-clear; and right rows are
    none where consumers wait in vain."""
    decisive = Diagnosis(results=(note, beside)).decisive

    assert decides == (decisive[0] if decisive is not None else None)


def answer(case: Case, code: str, told: Examined) -> Examined:
    """What `healthy` says where this mode answers so."""
    said = ModeModule(mode=MODES[code].mode, examine=lambda _case: told)
    found = diagnose(case, {**MODES, code: said})
    return next(each.examined for each in found.results if each.mode.code == HEALTHY)


def well() -> Tale:
    return Tale().flink_runs("a").commits("a", 1, 2, 3)


DOUBT = CannotTell(missing=("whether the rows of checkpoint 2 come",), asks=("orphan_files",))


def test_a_doubt_of_a_mode_of_rows_is_the_tables() -> None:
    """With what is missing, and what would settle it; of one that the proof does not speak of."""
    found = answer(well().looked_at(), "F21", DOUBT)

    assert (DOUBT.missing, DOUBT.asks) == (found.missing, found.asks)


def holding(remedy: Remedy) -> Matches:
    """A mode holds, and asks for this."""
    return Matches(headline="Rows are lost.", reasons=(), remedy=remedy)


def test_beside_a_mode_by_which_rows_are_wrong_nothing_is_called_right() -> None:
    """Whichever of the two is mistaken: the answer names the other one."""
    found = answer(well().looked_at(), "F12", holding(Remedy.REPLAY_SOURCE_RANGE))

    assert found.reason == "F12 holds: Rows are lost."


UNLOOKED = well().looked_at(duplicate_files=None)


@pytest.mark.parametrize(
    ("case", "code", "told"),
    [
        (well().looked_at(), "F14", DOUBT),
        (well().looked_at(), "F25", DOUBT),
        (UNLOOKED, "F1", CannotTell(missing=lacking(UNLOOKED, "duplicate_files"))),
        (UNLOOKED, "F1", DOUBT),
        (well().looked_at(), "F1", DOUBT),
        (well().looked_at(), "F14", holding(Remedy.NOTHING)),
    ],
    ids=[
        "only worth knowing", "of the next restore", "evidence that nobody asked for", "the proof settles it",
        "the proof settles it with all evidence", "it holds, and leaves rows alone",
    ],
)  # fmt: skip
def test_beside_what_says_nothing_of_its_rows_a_table_is_healthy(case: Case, code: str, told: Examined) -> None:
    """Nobody is told to collect all there is, either, before a table may be called right."""
    assert isinstance(answer(case, code, told), Matches)


CASES = {name: case for name, (case, _) in STORIES.items()}
stories = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@pytest.mark.parametrize(("case", "codes"), STORIES.values(), ids=STORIES)
def test_a_story_gets_exactly_its_codes(case: Case, codes: str) -> None:
    """The neighbours of a story's mode do not match it, and matches come in the order in which to act."""
    assert codes.split() == list(diagnose(case, MODES).codes)


@stories
def test_every_answer_is_full_sentences(case: Case) -> None:
    """A responder reads sentences: each begins like one and ends with a full stop."""
    results = diagnose(case, MODES).results

    said = [text for result in results for text in _sentences(result)]
    assert said
    assert [text for text in said if not text.endswith((".", "`.")) or text[0].islower()] == []


@stories
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_order_of_what_was_seen_does_not_matter(case: Case, seed: int) -> None:
    """Flink and metadata may list runs, failures, checkpoints and snapshots in any order."""
    shuffled = diagnose(_shuffled(case, random.Random(seed)), MODES)  # noqa: S311 - a test's order, not a secret

    assert diagnose(case, MODES) == shuffled


@stories
def test_nothing_is_excluded_because_flink_was_not_asked(case: Case) -> None:
    """What is excluded without Flink stays excluded whatever Flink would have said: it was looked at elsewhere."""
    without, with_flink = diagnose(_with_jobs(case, FLINK_DOWN), MODES), diagnose(case, MODES)

    after = {r.mode.code: r.examined for r in with_flink.results}
    wrongly = [r.mode.code for r in without.results if isinstance(r.examined, Excluded) and _holds(after[r.mode.code])]
    assert wrongly == []
    asked = [r for r in without.results if r.mode.code in {"F2", "F3", "wait"}]
    assert [r.mode.code for r in asked if isinstance(r.examined, Excluded)] == []


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(list(CASES.values())), st.data())
def test_an_exclusion_does_not_depend_on_a_source_that_was_not_seen(case: Case, data: st.DataObject) -> None:
    """Excluded without Flink means excluded for every answer that Flink could have given."""
    excluded = {
        r.mode.code for r in diagnose(_with_jobs(case, FLINK_DOWN), MODES).results if isinstance(r.examined, Excluded)
    }
    jobs = Seen[JobRun](source="Flink REST", values=data.draw(_answers(case)))

    after = diagnose(_with_jobs(case, jobs), MODES)

    assert set() == excluded & set(after.codes)


@stories
def test_an_exclusion_does_not_depend_on_evidence_that_nobody_collected(case: Case) -> None:
    """Excluded before rows were counted means excluded whatever the count is."""
    bare = case.model_copy(update={"duplicates": None, "gaps": None})
    counted = [
        bare.model_copy(update={"duplicates": d, "gaps": g}) for d in (twice(0), twice(9)) for g in (hole(0), hole(9))
    ]

    before = {r.mode.code for r in diagnose(bare, MODES).results if isinstance(r.examined, Excluded)}

    assert set() == {code for one in counted for code in diagnose(one, MODES).codes} & before


@pytest.mark.parametrize("code", [code for code in MODES if "ledger" in MODES[code].mode.needs])
def test_a_mode_that_needs_the_ledger_says_so(code: str) -> None:
    """Without the ledger nobody is told that all is well, nor that something is wrong."""
    case = Tale().flink_runs("a").commits("a", 1, 2).case(ledger=False)

    examined = MODES[code].examine(case)

    assert not isinstance(examined, Matches)
    assert isinstance(examined, Excluded) or any("ledger" in each for each in examined.missing)


def _holds(examined: object) -> bool:
    return isinstance(examined, Matches)


def _sentences(result: ModeResult) -> list[str]:
    match result.examined:
        case Matches(headline=headline, reasons=reasons):
            return [headline, *reasons]
        case Excluded(reason=reason):
            return [reason]
        case CannotTell():
            return []


def _with_jobs(case: Case, jobs: object) -> Case:
    return case.model_copy(update={"observation": case.observation.model_copy(update={"jobs": jobs})})


def _shuffled(case: Case, order: random.Random) -> Case:
    def mixed(values: tuple[object, ...]) -> tuple[object, ...]:
        return tuple(order.sample(values, len(values)))

    runs = [
        run.model_copy(update={name: mixed(getattr(run, name)) for name in ("checkpoints", "failures", "vertices")})
        for run in case.observation.jobs.values
    ]
    table = case.observation.table
    fields = {name: getattr(table, name) for name in TableState.model_fields}
    seen = case.observation.model_copy(update={"table": TableState(**fields | {"snapshots": mixed(table.snapshots)})})
    jobs = case.observation.jobs.model_copy(update={"values": mixed(tuple(runs))})
    return _with_jobs(case.model_copy(update={"observation": seen}), jobs)


def _answers(case: Case) -> st.SearchStrategy[tuple[JobRun, ...]]:
    """Any runs of `a`, `b` and `c`, alive or not, restored from anywhere or not at all, with either sink."""
    model = Tale().flink_runs("a").runs["a"]

    def run(name: str) -> st.SearchStrategy[JobRun | None]:
        restored = st.none() | st.builds(
            lambda checkpoint, at: Restored(
                checkpoint_id=CheckpointId(checkpoint), at=at, is_savepoint=True, path=None
            ),
            st.integers(0, 24),
            st.sampled_from([s.committed_at for s in case.observation.table.snapshots] + [NOON]),
        )
        made = st.builds(
            lambda point, state, v1: model.model_copy(
                update={
                    "job_id": job_id(name),
                    "state": state,
                    "restored": point,
                    "restored_count": 0 if point is None else 1,
                    "vertices": Tale().flink_runs("a", v1=v1).runs["a"].vertices,
                }
            ),
            restored,
            st.sampled_from(["RUNNING", "RESTARTING", "FAILED", "CANCELED"]),
            st.booleans(),
        )
        return st.none() | made

    return st.tuples(run("a"), run("b"), run("c")).map(lambda runs: tuple(r for r in runs if r is not None))


def test_a_match_that_changes_the_world_names_the_snapshot_to_go_back_to() -> None:
    """A rewind without a trusted snapshot could not be proposed."""
    matches = [match for case in CASES.values() for _, match in diagnose(case, MODES).matches]

    rewinds = [match for match in matches if match.remedy is Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB]

    assert rewinds
    assert [match.headline for match in rewinds if match.last_good is None or match.wrong_run is None] == []
