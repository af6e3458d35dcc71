"""One world, some stories, many kills: damage, people, kills, quiet, rules; and again."""

import json
import os
import random
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, text

from tests.chaos.cluster import DAMAGES, Damage
from tests.chaos.invariants import violations
from tests.chaos.people import Crowd
from tests.chaos.seen import Seen
from tests.chaos.spoiling import hold_catalog
from tests.chaos.world import Bots, Stuck, World, chaos_world

LIMIT_S = 5.0
"""From the start of the process to its connection. It is looked at on an idle machine only: elsewhere it tells of the
others' work. For a fork it is a rule; a cold start, which imports everything anew, is a figure and no rule."""


@dataclass(frozen=True)
class Resume:
    """One start after a kill."""

    took_s: float
    is_cold: bool
    """A new interpreter, as an operator's; else a fork of one that has imported everything."""
    is_idle: bool
    """Whether no more than the machine's processors were wanted when it began and when it ended."""


@dataclass
class Resumes:
    """All of an experiment."""

    all: list[Resume] = field(default_factory=list)

    def add(self, took_s: float, *, is_cold: bool, is_idle: bool) -> None:
        self.all.append(Resume(took_s, is_cold, is_idle))

    @property
    def late(self) -> int:
        """Those that took longer than `LIMIT_S` on an idle machine."""
        return sum(each.is_idle and each.took_s > LIMIT_S for each in self.all)

    def violations(self) -> list[str]:
        """The rule: a fork is back within `LIMIT_S`, where the machine had nothing else to do."""
        late = (each for each in self.all if not each.is_cold and each.is_idle and each.took_s > LIMIT_S)
        return [f"resumes: connected again only after {each.took_s:.1f} s, on an idle machine" for each in late]

    def told(self) -> str:
        idle = sum(each.is_idle for each in self.all)
        late = f"{self.late} of {idle}" if idle else "none was tried"
        return (
            f"connected again after a cold start: {self._span(is_cold=True)}; after a fork: "
            f"{self._span(is_cold=False)}; later than {LIMIT_S:g} s on an idle machine: {late}"
        )

    def _span(self, *, is_cold: bool) -> str:
        took = [each.took_s for each in self.all if each.is_cold is is_cold]
        return f"median {statistics.median(took):.2f} s, longest {max(took):.2f} s" if took else "none"


def is_idle() -> bool:
    """Whether, over the last minute, no more was to be done at once than there are processors."""
    return os.getloadavg()[0] <= (os.cpu_count() or 1)


_STORY_LIMIT_S = 900.0
_QUIET_LIMIT_S = 180.0
_CALM_S = 1.0
"""So long nothing is under way, on an idle machine, where everything is done."""
_COLD_EVERY = 25
"""Every so many starts one is cold: its time is what an operator sees."""
_ONE_OF_THEM = 0.8
"""How often only one of several bots is killed: another one takes over what it had begun, or it stood by."""
_UNDER_WAY = """
SELECT (SELECT count(*) FROM inbox WHERE state <> 'done')
     + (SELECT count(*) FROM outbox WHERE state IN ('queued', 'sending'))
     + (SELECT count(*) FROM journal WHERE kind IN ('evidence-requested', 'diagnosis-requested'))
     - (SELECT count(*) FROM journal WHERE kind IN ('evidence-recorded', 'evidence-ended', 'diagnosis-ended'))
"""


_HEALS = frozenset({"roll_back_table_and_restore_job", "publish_repair"})
"""Actions whose proof ends a story: the table is right and the job runs."""


@dataclass
class Figures:
    """What an experiment counts."""

    kills: int = 0
    stories: Counter[Damage] = field(default_factory=Counter)
    clicks: int = 0
    approvals: Counter[str] = field(default_factory=Counter)
    """How the proposals ended whose approval was complete: only `applied` and `refused` were carried out."""
    carried_out: Counter[str] = field(default_factory=Counter)
    """Action -> proposals that were carried out whole."""
    commits: int = 0
    resumes: Resumes = field(default_factory=Resumes)
    violations: list[str] = field(default_factory=list)

    def told(self) -> str:
        return (
            f"{self.kills} kills, {self.stories.total()} recoveries ({_each(self.stories)}; carried out: "
            f"{_each(self.carried_out)}), {self.clicks} clicks, {self.approvals.total()} approvals "
            f"({_each(self.approvals)}) raced against {self.commits} commits, {len(self.violations)} violations; "
            f"{self.resumes.told()}"
        )


def _each(counted: Counter[Any]) -> str:
    return ", ".join(f"{times} {what}" for what, times in sorted(counted.items())) or "none"


class Experiment:
    """One world until its kills are done and its last story has ended."""

    def __init__(
        self,
        folder: Path,
        record: str,
        bots: Bots,
        *,
        seed: int,
        kills: int,
        figures: Figures,
        together: int = 1,
        damages: Sequence[Damage] = DAMAGES,
    ) -> None:
        """`together`: how many bots there are, more than one only on PostgreSQL; `damages`: one of these by chance for
        each story."""
        self._together = together
        self._damages = damages
        self._folder = folder
        self._record = record
        self._bots = bots
        self._seed = seed
        self._random = random.Random(seed)  # noqa: S311 - a seed that can be given again
        self._left = kills
        self._figures = figures
        self._starts = 0
        self._slowness = 1.0
        """A machine that has other work to do gets as far as an idle one between two kills."""
        self._seen: Seen | None = None

    def run(self) -> None:
        """To its end; what is found is in the figures."""
        figures, resumes = self._figures, Resumes()
        with chaos_world(self._folder, self._record, self._bots, self._together) as world:
            crowd = Crowd(world.slack, self._random, partial(hold_catalog, self._folder))
            try:
                while self._left > 0:
                    self._story(world, crowd, self._random.choice(self._damages), resumes)
            except Stuck as stuck:
                self._violated(f"stuck: {stuck}", *self._defects())
            finally:
                crowd.rest()
                figures.clicks += crowd.clicks
                self._violated(*(f"{act} was tried again and again, and never done" for act in crowd.never_done()))
                self._violated(*resumes.violations())
                figures.resumes.all += resumes.all
                if self._seen is not None:
                    figures.commits += self._seen.table.commits
                    figures.approvals += self._seen.approvals
                    figures.carried_out += self._seen.recoveries

    def _violated(self, *sentences: str) -> None:
        self._figures.violations += [f"seed {self._seed}: {each}" for each in sentences]

    def _story(self, world: World, crowd: Crowd, damage: Damage, resumes: Resumes) -> None:
        """From damage to proof, under kills; then quiet, then the rules, then the incident is closed."""
        world.asks_flink("break", kind=damage)
        world.asks_flink("go")
        self._start(world, resumes)
        self._open(world, crowd)
        healed = self._healed()
        crowd.act()
        ends = time.monotonic() + _STORY_LIMIT_S
        while self._healed() == healed:
            if time.monotonic() > ends:
                raise Stuck(f"no recovery of {damage} was proven within {_STORY_LIMIT_S:g} s")
            self._kill_after_a_while(world, resumes)
        crowd.rest()
        world.slack.faults.disarms()
        self._quiet()
        checkpoints = world.asks_flink("hold")
        self._seen = Seen(self._folder, world.slack, self._record, tuple(crowd.notes), tuple(checkpoints))
        self._violated(*violations(self._seen))
        self._figures.stories[damage] += 1
        crowd.ana.types("/waterline close anyway, proven")
        self._wait(lambda: self._count("incident-closed") == self._count("incident-opened"), "the incident to close")
        world.kills()

    def _kill_after_a_while(self, world: World, resumes: Resumes) -> None:
        """After nothing much, or after long enough for something to be in the middle."""
        a_while = self._random.choice([0.2, 0.8, 2.5]) * self._slowness
        time.sleep(self._random.expovariate(1 / a_while))
        if self._left <= 0:
            time.sleep(0.5)
            return
        self._left -= 1
        self._figures.kills += 1
        world.kills(self._random if self._random.random() < _ONE_OF_THEM else None)
        if self._random.random() < 0.15 and self._left:  # in the middle of a start
            world.starts()
            time.sleep(self._random.uniform(0, 0.6))
            self._left -= 1
            self._figures.kills += 1
            world.kills()
        self._start(world, resumes)

    def _start(self, world: World, resumes: Resumes) -> None:
        is_cold, idle = False, is_idle()
        began = time.monotonic()
        while world.missing:
            self._starts += 1
            is_cold |= self._starts % _COLD_EVERY == 0
            world.starts(cold=self._starts % _COLD_EVERY == 0)
        world.waits_until_connected()
        took = time.monotonic() - began
        resumes.add(took, is_cold=is_cold, is_idle=idle and is_idle())
        if not is_cold:
            self._slowness = max(1.0, took)

    def _open(self, world: World, crowd: Crowd) -> None:
        known = self._count("incident-opened")
        ends = time.monotonic() + _STORY_LIMIT_S
        while self._count("incident-opened") == known:
            if time.monotonic() > ends:
                raise Stuck("no incident could be opened")
            try:
                crowd.opens()
            except AssertionError:
                continue
            time.sleep(1)

    def _quiet(self) -> None:
        """The bot has done what it was asked. On a busy machine the next piece of work is begun late: between recorded
        evidence and the notices that follow from it lay 1.4 s where a start took 3."""
        needed_s, calm_since = _CALM_S * self._slowness, time.monotonic()
        ends = calm_since + _QUIET_LIMIT_S
        while time.monotonic() < min(ends, calm_since + needed_s):
            if self._scalar(_UNDER_WAY):
                calm_since = time.monotonic()
            time.sleep(0.1)

    def _wait(self, holds, what: str) -> None:  # type: ignore[no-untyped-def]
        ends = time.monotonic() + _QUIET_LIMIT_S
        while not holds():
            if time.monotonic() > ends:
                raise Stuck(f"waited {_QUIET_LIMIT_S:g} s for {what}")
            time.sleep(0.1)

    def _defects(self) -> list[str]:
        """What the bot met in deliveries and messages, each once: why it is stuck."""
        met = "SELECT problem FROM inbox WHERE problem <> '' UNION SELECT problem FROM outbox WHERE problem <> ''"
        said = Counter(str(problem).partition(": ")[2] or str(problem) for (problem,) in self._rows(met))
        return [f"{times} deliveries or messages met: {what}" for what, times in said.most_common(5)]

    def _healed(self) -> int:
        """How many recoveries that heal are proven."""
        wanted = (
            "SELECT kind, body FROM journal WHERE kind IN ('proposal-made', 'verified') ORDER BY at, incident_id, seq"
        )
        entries = [(kind, json.loads(body)) for kind, body in self._rows(wanted)]
        made = (body["proposal"] for kind, body in entries if kind == "proposal-made")
        healing = {proposal["id"] for proposal in made if proposal["action"] in _HEALS}
        return sum(kind == "verified" and body["passed"] and body["proposal"] in healing for kind, body in entries)

    def _count(self, kind: str) -> int:
        return self._scalar(f"SELECT count(*) FROM journal WHERE kind = '{kind}'")  # noqa: S608

    def _scalar(self, query: str) -> int:
        return int(self._rows(query)[0][0] or 0)

    def _rows(self, query: str) -> Sequence[Any]:
        engine = create_engine(self._record)
        with engine.connect() as connection:
            found = connection.execute(text(query)).all()
        engine.dispose()
        return found
