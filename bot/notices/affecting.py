"""Which commits are not, or no longer, to be relied on, and what they brought. Pure."""

from collections.abc import Iterable

from bot.domain.contract import TableContract
from bot.domain.effects import PublishBranch
from bot.domain.ids import SnapshotId
from bot.domain.incident import Incident
from bot.domain.ledger import LedgerRow
from bot.domain.lowering import lower_of
from bot.domain.mended import mended_by_others
from bot.domain.table import Snapshot, TableState, Window
from bot.notices.as_proven import as_proven
from bot.notices.condensing import ranges_of
from bot.notices.facts import Affected
from bot.notices.parting import partitions_of
from bot.notices.whereabouts import events_of, ledger_rows


def affected_commits(incident: Incident, table: TableState) -> tuple[Snapshot, ...]:
    """Commits of this incident whose readers have read what is not, or was not, to be relied on; oldest first.

    While the table is under review that is everything above the waterline, what was rolled back since
    included. Once it is proven, it is what was taken back, and what a repair stands on: where the rows are mended on
    top, the wrong commits stay ancestors of main. What was committed, or taken back, after the proof is not this
    incident's: another one may have taken it back, and then tells its readers itself.
    """
    table = as_proven(incident, table)
    if table.head is None:
        return ()
    commits = Window(since=_since(incident, table), until=table.head).up_to_now(table)
    contained = {s.snapshot_id for s in table.ancestors(incident.trusted)}
    if incident.waterline is None or incident.waterline.status != "trusted":
        return tuple(s for s in commits if s.snapshot_id not in contained)
    mended = _mended_on_top(incident, table) | _mended_by_others(incident, table)
    return tuple(
        s
        for s in commits
        if s.snapshot_id in mended or (s.snapshot_id not in contained and s.snapshot_id not in table.chain_ids)
    )


def _since(incident: Incident, table: TableState) -> SnapshotId | None:
    """Where the window begins, or what is believed good if that lies below: what was found may reach further down than
    what was looked at first."""
    since, good = incident.window.since, incident.believed_good
    if since is None or good is None or since in {s.snapshot_id for s in table.ancestors(good)}:
        return since
    return lower_of(table, since, good)


def _mended_on_top(incident: Incident, table: TableState) -> frozenset[SnapshotId]:
    """What main held, above what is believed good, until a repair was published on top of it.

    A branch's head gets on main only by being published, and leaves it by an undo: main itself tells which repairs
    count, however their proposals have ended. An earlier repair below a later one counts too: it was not enough.
    """
    published = [
        effect
        for view in incident.proposals.values()
        for effect in view.proposal.effects
        if isinstance(effect, PublishBranch) and effect.head != effect.base and effect.head in table.chain_ids
    ]
    if not published:
        return frozenset()
    held = {s.snapshot_id for effect in published for s in table.ancestors(effect.base)}
    return frozenset(held - {s.snapshot_id for s in table.ancestors(incident.believed_good)})


def _mended_by_others(incident: Incident, table: TableState) -> frozenset[SnapshotId]:
    """What main held while evidence counted wrong rows, until it counted none.

    Between the last look that counted and the first that did not, nobody knows since when it is right: those are
    told, too.
    """
    held: set[SnapshotId] = set()
    for each in mended_by_others(incident):
        held |= {s.snapshot_id for s in table.ancestors(each.wrong.head)}
        held |= {s.snapshot_id for s in table.ancestors(each.right.head)} - {each.right.head}
    return frozenset(held - {s.snapshot_id for s in table.ancestors(incident.believed_good)})


def affected_of(
    incident: Incident,
    commits: tuple[Snapshot, ...],
    table: TableState,
    contract: TableContract,
    newer: Iterable[LedgerRow] = (),
) -> Affected | None:
    """What is told of these commits; None without any. `newer` as for `ledger_rows`."""
    if not commits:
        return None
    rows = ledger_rows(incident, commits, newer)
    events = events_of(commits, rows)
    partitions = partitions_of(table, commits, rows, contract, events)
    return Affected(
        snapshots=tuple(s.snapshot_id for s in commits),
        ranges=ranges_of(commits),
        first_at=min(s.committed_at for s in commits),
        last_at=max(s.committed_at for s in commits),
        rows=sum(s.counted("added-records") for s in commits if s.operation != "replace"),
        event_from=events.since,
        event_until=events.until,
        events_untold=events.untold,
        partitions=partitions.known,
        partitions_untold=partitions.untold,
        taken_back=not any(s.snapshot_id in table.chain_ids for s in commits),
    )
