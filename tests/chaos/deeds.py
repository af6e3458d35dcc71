"""Rules of what was done to table and job: each deed once, as many as the record says, and the table right after all.

Deeds are counted where they happened: stops and starts by Flink, everything else in the table's own metadata.
"""

from collections import Counter
from collections.abc import Callable, Iterator

from tests.chaos.seen import Seen
from tests.little_flink import ROWS_A_CHECKPOINT

_CALLS = {"stop": ("stop-job", "stop-fork"), "start": ("start-job", "start-from-stop")}
"""What Flink notes -> the effects that ask for it."""


def _effects(seen: Seen) -> Iterator[str]:
    """Done once, and all of them where a proposal was applied."""
    done = Counter((b["proposal"], b["index"]) for b in seen.bodies("effect-ended") if b["how"] == "done")
    yield from (f"effect {which} ended as done {times} times" for which, times in done.items() if times > 1)
    for proposal in seen.applied:
        for index, effect in enumerate(seen.proposals[proposal]["effects"]):
            if not done[proposal, index]:
                yield f"{proposal} was applied, and its effect {index} ({effect['kind']}) is not done"


def _runs(seen: Seen) -> Iterator[str]:
    """Each run is stopped and started once, and as many as there were recoveries that do so."""
    for what, kinds in _CALLS.items():
        of_run = Counter(run for kind, run in seen.calls if kind == what)
        yield from (f"{what} of run {run} was done {times} times" for run, times in of_run.items() if times > 1)
        recorded = len(seen.done_of(*kinds))
        if of_run.total() != recorded:
            yield f"the record tells of {recorded} {what}s, and Flink carried out {of_run.total()}"


def _moves(seen: Seen) -> Iterator[str]:
    """Main goes back once for each rewind, and to a repair once for each publication; never otherwise."""
    rewinds, published = len(seen.done_of("move-table")), len(seen.done_of("publish-branch"))
    if seen.table.went_back != rewinds:
        yield f"{rewinds} rewinds were carried out, and main went back {seen.table.went_back} times"
    if seen.table.published != published:
        yield f"{published} repairs were published, and main went to {seen.table.published}"


def _repairs(seen: Seen) -> Iterator[str]:
    """Files are changed once for each repair."""
    marks = Counter(seen.table.repairs.values())
    yield from (f"repair {mark} was made {times} times" for mark, times in marks.items() if times > 1)
    changed = len(seen.done_of("change-files"))
    if marks.total() != changed:
        yield f"the record tells of {changed} changes of files, and the table has {marks.total()}"


def _branches(seen: Seen) -> Iterator[str]:
    """Each is begun once, for a repair, and is gone after its end unless it is kept by policy."""
    begun, recorded = seen.table.made, Counter(effect["branch"] for effect in seen.done_of("make-branch"))
    yield from (f"branch {branch} was begun {times} times" for branch, times in begun.items() if times > 1)
    if set(begun) != set(recorded):
        yield f"the record tells of branches {sorted(recorded)}, and the table has had {sorted(begun)}"
    kept = {effect["branch"] for effect in seen.done_of("publish-branch") if not effect["drop_branch"]}
    yield from (f"branch {branch} is left" for branch in sorted(seen.table.left - kept))


def _proofs(seen: Seen) -> Iterator[str]:
    """What was applied is proven in the end, but for a repair that was given up; and no proof has failed."""
    passed = {body["proposal"] for body in seen.bodies("verified") if body["passed"]}
    given_up = {effect["branch"] for effect in seen.done_of("drop-branch")}
    for proposal in seen.applied:
        begun = {e["branch"] for e in seen.proposals[proposal]["effects"] if e["kind"] == "make-branch"}
        if proposal not in passed and not begun & given_up:
            yield f"{proposal} was applied and never proven"
    for body in seen.bodies("verified"):
        for check in body["checks"]:
            if check["passed"] is False:
                yield f"the proof of {body['proposal']} failed: {check['name']}: {check['sentence']}"


def _positions(seen: Seen) -> Iterator[str]:
    """Each source position is there once, and one run is alive."""
    if len(seen.checkpoints) != 1:
        yield f"{len(seen.checkpoints)} runs are alive"
        return
    found = seen.table.positions
    expected = set(range(seen.checkpoints[0] * ROWS_A_CHECKPOINT))
    missing, more = expected - set(found), {p for p, times in found.items() if times > 1} | (set(found) - expected)
    if missing or more:
        yield f"{len(missing)} positions are missing, {len(more)} are there more than once or too many"


RULES: tuple[Callable[[Seen], Iterator[str]], ...] = (
    _effects, _runs, _moves, _repairs, _branches, _proofs, _positions,
)  # fmt: skip
"""All of them."""
