"""Pages for people: all tables, one table, one incident's record, also as a file. No script runs on them."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.incident.incident import Incident
from bot.notices.template import moment
from bot.observation.errors import WaterlineError
from bot.observation.ids import IncidentId, SnapshotId, TableName, short, short_job
from bot.observation.ledger import recent_ledger
from bot.observation.sentences import counted, users_in
from bot.observation.table import TableState
from bot.service.ledger_picture import Picture, picture
from bot.service.record import Records
from bot.service.trust import TrustService
from bot.web.responses import file, page

Names = Callable[[Iterable[str]], Mapping[str, str]]
"""Slack user ids -> the names to show instead; whoever is not in the answer keeps the id."""
_INCIDENTS_SHOWN = 50
_FORMS = {"html": "text/html", "md": "text/markdown", "json": "application/json"}
"""Of the record as a file."""


class Pages:
    """Handlers; each runs in a thread of the server's pool. What they raise is answered by `web_app`."""

    def __init__(self, trusts: TrustService, records: Records, content: Path, names: Names) -> None:
        """`content` is the folder of the record's templates, whose style and picture the pages share."""
        self._trusts = trusts
        self._records = records
        self._names = names
        self._templates = environment(content)
        self._write = {"html": records.html, "md": records.markdown, "json": records.json}

    @property
    def routes(self) -> list[Route]:
        return [
            Route("/", self._overview),
            Route("/tables/{table}", self._table),
            Route("/incidents/{incident}", self._incident),
            *(Route(f"/incidents/{{incident}}/record.{form}", self._export, name=form) for form in _FORMS),
        ]

    def refusal(self, status: int, error: WaterlineError) -> Response:
        """Why there is no page, and where to go on."""
        return self._page("refusal.html.j2", status, error=error)

    def _overview(self, _request: Request) -> Response:
        incidents = self._trusts.incidents()
        return self._page(
            "overview.html.j2",
            trusts=self._trusts.all(),
            open_ones=[i for i in incidents if i.is_open],
            closed_ones=[i for i in incidents if not i.is_open][:_INCIDENTS_SHOWN],
        )

    def _table(self, request: Request) -> Response:
        name = TableName(request.path_params["table"])
        trust, table, history = self._trusts.trust(name), self._trusts.table(name), self._trusts.history(name)
        setup = self._trusts.setups[name]
        return self._page(
            "table.html.j2",
            trust=trust,
            picture=_drawn(table, trust.snapshot) if isinstance(table, TableState) else None,
            history=history,
            setup=setup,
            owned_by=setup.team.in_words(trust.checked_at.date()) if setup.team is not None else "",
        )

    def _incident(self, request: Request) -> Response:
        incident = self._trusts.incident(IncidentId(request.path_params["incident"]))
        later = self._trusts.later_doubt(incident)
        return page(self._records.html(incident, names=self._names(people_in(incident)), later=later))

    def _export(self, request: Request) -> Response:
        """The record as a file, with every entry as it was stored and its proof."""
        form = request.url.path.rpartition(".")[2]
        incident = self._trusts.incident(IncidentId(request.path_params["incident"]))
        lines = self._trusts.lines(incident)
        return file(self._write[form](incident, lines=lines), f"{incident.id}.{form}", _FORMS[form])

    def _page(self, template: str, status: int = 200, **values: object) -> Response:
        return page(self._templates.get_template(template).render(**values), status)


def _drawn(table: TableState, snapshot: SnapshotId | None) -> Picture:
    """The newest commits with the waterline across; below them all where its snapshot is older."""
    ledger = recent_ledger(table)
    is_drawn = any(row.snapshot_id == snapshot for row in ledger.rows)
    label = f"waterline {short(snapshot)}" if snapshot is not None else ""
    return picture(ledger, line_at=snapshot if is_drawn else None, label=label, taken_back=frozenset())


def people_in(incident: Incident) -> tuple[str, ...]:
    """Whom its record names, by Slack user id."""
    return users_in(entry.model_dump_json() for entry in incident.entries)


def environment(content: Path) -> Environment:
    """Templates of pages. `content`: the folder of the record's templates, whose style they share."""
    found = Environment(
        loader=FileSystemLoader((Path(__file__).parent / "templates", content)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    found.filters |= {
        "moment": moment,
        "exactly": lambda value: value.astimezone(UTC).isoformat(timespec="seconds"),
        "short": short,
        "job": short_job,
        "begun": lambda text: text[:1].upper() + text[1:],
        "words": lambda value: str(value).replace("-", " "),
        "count": counted,
    }
    return found
