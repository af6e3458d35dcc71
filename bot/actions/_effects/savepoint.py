"""Prove that a stopped run's savepoint pairs with the head, and keep the snapshot that it pairs with."""

from bot.actions._effects.kind import Did, Hands, Kind, Looked, tag_check
from bot.actions._maintenance import commit_marks
from bot.actions._requirements import World
from bot.actions._restore_points import asked_before, newest_that_pairs
from bot.domain.effects import KeepSavepoint
from bot.domain.entries import Check, EffectStarted
from bot.domain.errors import CouldNotLook, Superseded
from bot.domain.findings import PairVerdict
from bot.domain.ids import SnapshotId, short, short_job
from bot.domain.looked import Seen
from bot.domain.requirements import Requirement
from bot.domain.table import TableState
from bot.history.restore import pairing
from bot.ports import TableChange


class KeepingSavepoint(Kind[KeepSavepoint]):
    """The tag outlives every expiry, and with it the one table state that this savepoint may be restored against."""

    uses_up = frozenset({"savepoint-name-free"})

    def asks(self, requirement: Requirement) -> Requirement:
        """See Kind: a commit that does not bind matters to no start."""
        return asked_before(requirement)

    def describe(self, effect: KeepSavepoint) -> str:
        return "Prove the savepoint and tag its snapshot"

    def prepare(
        self, effect: KeepSavepoint, intent: EffectStarted, world: World, earlier: EffectStarted | None
    ) -> EffectStarted:
        """Fixes savepoint and snapshot. Raises Superseded where nothing of the run pairs with the head."""
        point = newest_that_pairs(world, effect.job, effect.job_id)
        chosen = {"path": point.path, "checkpoint_id": point.checkpoint_id, "expected_head": point.snapshot_id}
        return intent.model_copy(update=chosen)

    def perform(self, effect: KeepSavepoint, intent: EffectStarted, hands: Hands) -> Did:
        """One commit. `result`: `savepoint`, `checkpoint`, `snapshot`, `tag`, `schema`, `code`. Raises Superseded
        where the tag's name is taken."""
        tag, snapshot = _tag(effect, intent)

        def change(table: TableState) -> TableChange | None:
            found = table.ref(tag)
            if found == snapshot:
                return None
            if found is not None:
                raise _taken(effect, intent, found)
            return TableChange(expected_uuid=table.uuid, expected_head=None, new_tags={tag: snapshot})

        commit_marks(hands.catalog, effect.table, change)
        return Did(sentence=_kept(effect, intent), result=_record(effect, intent, hands))

    def verify(self, effect: KeepSavepoint, intent: EffectStarted, hands: Hands) -> Looked:
        """By the tag."""
        tag, snapshot = _tag(effect, intent)
        if hands.catalog.load(effect.table).ref(tag) != snapshot:
            return Looked(happened="no", sentence=f"There is no tag {tag}.")
        return Looked(happened="yes", sentence=_kept(effect, intent), result=_record(effect, intent, hands))

    def checks(self, effect: KeepSavepoint, intent: EffectStarted, world: World) -> tuple[Check, ...]:
        tag, snapshot = _tag(effect, intent)
        return tag_check(tag, snapshot, world.table), _still_pairs(effect, intent, snapshot, world)


def _still_pairs(effect: KeepSavepoint, intent: EffectStarted, snapshot: SnapshotId, world: World) -> Check:
    name = f"Savepoint {intent.checkpoint_id} can be read and pairs with {short(snapshot)}"
    try:
        ports = world.jobs[effect.job]
        stored, runs = ports.checkpoints.read(intent.path or ""), ports.flink.runs(effect.job)
    except CouldNotLook as error:
        return Check(name=name, passed=None, sentence=str(error))
    found = pairing(stored, world.table, Seen(source="Flink", values=runs))
    passed = found.verdict is PairVerdict.PAIRED and found.snapshot_id == snapshot
    return Check(name=name, passed=passed, sentence=f"{found.path}: {found.verdict.value}. {found.reason}")


def _tag(effect: KeepSavepoint, intent: EffectStarted) -> tuple[str, SnapshotId]:
    assert intent.expected_head is not None
    return f"savepoint-{intent.checkpoint_id}-{effect.tagged}", intent.expected_head


def _taken(effect: KeepSavepoint, intent: EffectStarted, found: SnapshotId) -> Superseded:
    tag, snapshot = _tag(effect, intent)
    return Superseded(
        f"Run {short_job(effect.job_id)} is stopped, but its savepoint is not kept: the name of its tag is taken.",
        f"Expected no tag {tag}; it is on {short(found)}. {intent.path} pairs with {short(snapshot)}: no row is lost.",
        "`/waterline undo` starts the job again from exactly this savepoint. Then propose the savepoint again; it "
        "gets another name.",
    )


def _kept(effect: KeepSavepoint, intent: EffectStarted) -> str:
    tag, snapshot = _tag(effect, intent)
    return f"{intent.path} pairs with {short(snapshot)}, which tag {tag} keeps. It is the authoritative savepoint."


def _record(effect: KeepSavepoint, intent: EffectStarted, hands: Hands) -> dict[str, str]:
    tag, snapshot = _tag(effect, intent)
    table, run = hands.catalog.load(effect.table), hands.jobs[effect.job].flink.run(effect.job_id)
    kept = table.by_id.get(snapshot)
    return {
        "savepoint": intent.path or "",
        "checkpoint": str(intent.checkpoint_id),
        "snapshot": str(snapshot),
        "tag": tag,
        "schema": str(kept.schema_id) if kept and kept.schema_id is not None else "unknown",
        "code": (run.code_version if run else None) or "unknown",
    }
