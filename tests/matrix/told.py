"""What the bot said of each run, kept in one file, and the page that is written from it."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter

import bot.diagnosis
from bot.diagnosis._support.examine import scan as find_modes
from bot.lab.home import Stack
from tests.matrix.plan import NOT_PRODUCED, RUNS, Run

KEPT = Path(__file__).parent.parent / "data" / "matrix.json"
PAGE = Path(__file__).parents[2] / "docs" / "matrix.md"
VERSIONS = {"2.1": "Flink 2.1.1, Iceberg 1.11.0", "1.20": "Flink 1.20.3, Iceberg 1.11.0"}
OF_STACK: dict[Stack, tuple[str, ...]] = {"small": (), "kafka": ("Kafka 4.3.1", "REST catalog", "S3")}


CODES = tuple(find_modes(bot.diagnosis))
"""Every mode, in the order of the catalogue."""

FEW = 6
"""So many excluded codes are listed; where all others were excluded, their number says so."""


class Told(BaseModel):
    """The bot's answer for one run, and what the lab itself counted."""

    model_config = ConfigDict(frozen=True)

    name: str
    codes: tuple[str, ...]
    headline: str
    """Of the first match in the order in which to act; what went wrong when there was no answer."""
    excluded: tuple[str, ...]
    undecided: tuple[str, ...]
    proof: str
    """Counted from outside the bot: `rows 321, duplicates 40, missing none`."""

    def agrees_with(self, run: Run) -> bool:
        """Every expected code matches, and no other than those and `besides`."""
        return set(run.expected) <= set(self.codes) <= {*run.expected, *run.besides}


_LIST = TypeAdapter(tuple[Told, ...])


def kept() -> dict[str, Told]:
    """Name of the run -> what was said when it was run last."""
    if not KEPT.exists():
        return {}
    return {told.name: told for told in _LIST.validate_json(KEPT.read_bytes())}


def keep(told: Told) -> None:
    """Replaces what was said of this run, and writes the page anew."""
    order = [run.name for run in RUNS]
    all_told = {**kept(), told.name: told}
    in_order = tuple(all_told[name] for name in order if name in all_told)
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_bytes(_LIST.dump_json(in_order, indent=1) + b"\n")
    write_page(all_told)


def write_page(all_told: dict[str, Told]) -> None:
    """Writes the page anew."""
    PAGE.write_text(page(all_told), encoding="utf-8")


def page(all_told: dict[str, Told]) -> str:
    """`docs/matrix.md`."""
    runs = [(run, all_told[run.name]) for run in RUNS if run.name in all_told]
    waiting = [run.name for run in RUNS if run.name not in all_told]
    agreeing = sum(told.agrees_with(run) for run, told in runs)
    lines = [
        "# What the bot said of each story",
        "",
        "Each line is a run on this machine: a real Flink job writes a real Iceberg table, a story damages it",
        "or does not (`bot/lab/stories`), and the bot is asked: `waterline case save`, then",
        f"`waterline diagnose --case FILE`. The cases are in `tests/data/cases`{_but_for(runs)},",
        "and a test has each of them diagnosed anew.",
        "*constructed*: one thing was done by hand that no program of the lab does.",
        "Tables are append-only in format 2 unless the line says otherwise. `waterline lab stories` says what happens",
        "in each. The page is written by `python -m tests.matrix`; a test keeps it in step with the kept answers.",
        "`--again` has the saved cases diagnosed anew, and `--page` writes the page from the kept answers; both run no",
        "Flink.",
        "*agrees*: every expected code matches, and no other but those that `tests/matrix/plan.py` allows beside it:",
        "what is only worth knowing (F19, F20, F22, F24), and what the same mistake also is (an id used twice: F14).",
        "Where – is expected, no mode is about it, and the bot must not say `healthy`.",
        "The count is made after the answer, while the job goes on, so it can hold rows that came later.",
        "",
        f"{agreeing} of {len(runs)} answers agree with what was expected.",
        *([f"Planned and not run yet: {', '.join(waiting)}."] if waiting else []),
        "",
        "| story | made with | expected | the bot said | agrees | cannot tell | excluded | counted from outside |",
        "|---|---|---|---|---|---|---|---|",
        *(_line(run, told) for run, told in runs),
        "",
        "## By failure mode",
        "",
        "The stories of which the bot said it: first, in bold, those that are about it. * is a constructed one.",
        "",
        "| mode | stories |",
        "|---|---|",
        *(_mode(code, runs) for code in CODES),
        "",
        "## In its own words",
        "",
        *(f"- **{run.name}**: {_safe(told.headline)}" for run, told in runs),
        "",
        "## Not produced, and why",
        "",
        *(f"- **{code}** {why}" for code, why in NOT_PRODUCED),
    ]
    return "\n".join(lines) + "\n"


def _but_for(runs: Sequence[tuple[Run, Told]]) -> str:
    """Cases that are too large to be kept."""
    left_out = [f"`{run.name}`" for run, _ in runs if not (KEPT.parent / "cases" / f"{run.name}.json.gz").exists()]
    return f" (but for {', '.join(left_out)}: too large)" if left_out else ""


def _line(run: Run, told: Told) -> str:
    with_ = [VERSIONS[run.flink], *OF_STACK[run.stack], f"{run.sink.upper()} sink", run.made]
    if run.format_version != 2:
        with_.append(f"format {run.format_version}")
    if run.upsert:
        with_.append("upsert")
    if run.backend == "rocksdb":
        with_.append("RocksDB")
    cells = (
        run.story,
        ", ".join(with_),
        _codes(run.expected),
        _codes(told.codes),
        "yes" if told.agrees_with(run) else "**no**",
        _codes(told.undecided),
        _codes(told.excluded) if len(told.excluded) < FEW else f"{len(told.excluded)} others",
        told.proof,
    )
    return f"| {' | '.join(cells)} |"


def _mode(code: str, runs: Sequence[tuple[Run, Told]]) -> str:
    """The runs that showed one mode, those first that were made for it."""
    shown = [(run, code in run.expected) for run, told in runs if code in told.codes]
    named = [_story(run, is_its_own=own) for run, own in sorted(shown, key=lambda each: not each[1])]
    why = [f"{what} {why}" for what, why in NOT_PRODUCED if what == code]
    waiting = [run.name for run in RUNS if code in run.expected and all(run != done for done, _ in runs)]
    return f"| {code} | {', '.join(named) or _none(waiting, why)} |"


def _story(run: Run, *, is_its_own: bool) -> str:
    name = f"**{run.name}**" if is_its_own else run.name
    return name if run.made == "real" else f"{name}\\*"


def _none(waiting: Sequence[str], why: Sequence[str]) -> str:
    """What stands where no run showed a mode."""
    if waiting:
        return f"planned and not run yet: {', '.join(waiting)}"
    return "none, see below" if why else "none"


def _codes(codes: Iterable[str]) -> str:
    return ", ".join(codes) or "–"


def _safe(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
