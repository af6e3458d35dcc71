"""Who reads the table, beside those who were told: declared, seen, not known, and channels that cannot be told."""

from collections.abc import Sequence

from bot.domain.findings import LedgerFinding
from bot.domain.incident import Incident
from bot.domain.notice_entries import ObservedReader
from bot.domain.reads import Untold
from bot.domain.sentences import counted
from bot.domain.setup import TableSetup
from bot.slack.text import clipped, code, mrkdwn

_NAMED = 8
_UNTOLD = 5


def reader_lines(incident: Incident, setup: TableSetup | None) -> list[str]:
    """Declared and seen kept apart, each as far as one can take it in. `setup` None: the table is configured no more.

    Before anybody previewed a notice, what was seen is what the ledger says of its commits.
    """
    untold = setup.untold if setup is not None else untold_of(incident)
    return [*_declared(incident, setup), *_seen(incident, setup), *([untold_line(untold)] if untold else [])]


def untold_of(incident: Incident) -> tuple[Untold, ...]:
    """As the newest preview has put them on record."""
    return incident.readers.untold if incident.readers is not None else ()


def untold_line(untold: Sequence[Untold]) -> str:
    """Escaped; there is at least one."""
    named = ", ".join(f"{code(each.name)} ({mrkdwn(clipped(each.why, 200))})" for each in untold[:_UNTOLD])
    many = counted(len(untold), "channel")
    return f":warning: {many} of the data contract cannot be notified: {named}{_more(untold, _UNTOLD)}"


def _declared(incident: Incident, setup: TableSetup | None) -> list[str]:
    if setup is None:
        return [":grey_question: The table is no longer configured, so its declared consumers are unknown"]
    if not setup.consumers:
        return ["No declared consumers"]
    told = {view.notice.consumer for view in incident.notices.values()}
    left = [each.name for each in setup.consumers if each.name not in told]
    return [f"Declared, not notified{' yet' if incident.is_open else ''}: {_names(left)}"] if left else []


def _seen(incident: Incident, setup: TableSetup | None) -> list[str]:
    noted = incident.readers
    if noted is None:
        return _in_the_ledger(incident, setup)
    declared = [_reader(each) for each in noted.observed if each.is_declared]
    strangers = [_reader(each) for each in noted.observed if not each.is_declared]
    lines = _by_declaration(declared, strangers)
    if noted.unknown:
        lines.append(f":grey_question: Others may have read it unobserved. {mrkdwn(clipped(noted.unknown, 300))}")
    return lines


def _in_the_ledger(incident: Incident, setup: TableSetup | None) -> list[str]:
    run = incident.latest.get("ledger")
    finding = run.evidence.finding if run is not None and run.evidence is not None else None
    if not isinstance(finding, LedgerFinding):
        return [":grey_question: Readers not checked yet"]
    if not finding.ledger.readers_known:
        return [":grey_question: Readers unknown: the lineage source did not answer"]
    seen = dict.fromkeys(run.consumer for row in finding.ledger.rows for run in row.readers)
    known = {each.name for each in setup.consumers} if setup is not None else set()
    declared, strangers = [n for n in seen if n in known], [n for n in seen if n not in known]
    return _by_declaration([code(name) for name in declared], [code(name) for name in strangers]) or [
        "Lineage shows no reader of the newest commits"
    ]


def _by_declaration(declared: Sequence[str], strangers: Sequence[str]) -> list[str]:
    lines = []
    if declared:
        lines.append(f"Seen reading and declared: {', '.join(declared[:_NAMED])}{_more(declared, _NAMED)}")
    if strangers:
        names = f"{', '.join(strangers[:_NAMED])}{_more(strangers, _NAMED)}"
        lines.append(f":warning: Seen reading but not declared, so not notified: {names}")
    return lines


def _names(names: Sequence[str]) -> str:
    return ", ".join(code(name) for name in names[:_NAMED]) + _more(names, _NAMED)


def _more(all_of: Sequence[object], shown: int) -> str:
    return f" and {len(all_of) - shown} more" if len(all_of) > shown else ""


def _reader(each: ObservedReader) -> str:
    return code(each.consumer) if each.distance == 1 else f"{code(each.consumer)} ({each.distance} runs away)"
