"""A rewind that waits for a decision, on real parts, and people who come to its page through a sign-on proxy."""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import httpx

import spark_tasks
from bot.adapters.journal_sql.store import open_store
from bot.adapters.lineage import OpenLineageFile
from bot.adapters.table_files import FolderOfTable
from bot.bootstrap import assemble
from bot.domain.approval import ApprovalPolicy, GlassRule, VetoRule
from bot.domain.entries import IncidentOpened, ProposalMade
from bot.domain.errors import CouldNotLook
from bot.domain.execution import ProposalView
from bot.domain.ids import IncidentId, UserId
from bot.domain.proposal import AffectedRun, Proposal
from bot.domain.setup import TableSetup
from bot.domain.table import Window
from bot.evidence import Collector, find_tasks
from bot.ports import JobPorts
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer
from bot.service.record import Records
from bot.service.services import Services
from bot.settings import WebSettings
from bot.web.access import Access
from bot.web.app import web_app
from bot.web.decider import Decider
from bot.web.own_forms import OwnForms
from bot.web.pages import Names
from bot.web.proposal_pages import Decisions
from bot.web.server import serving
from tests.decisions import ANA, BEN, EVE, RUNBOOK
from tests.little_flink import JOB, open_catalog
from tests.rewound import PROPOSAL, Damaged
from tests.slack.little_bot import MovableClock
from tests.slack.looking import ArrowRunner
from tests.tables import CONTRACT, ORDERS, rows

CONTENT = Path(__file__).parents[3] / "messages" / "record"
CLEO, DANA = UserId("U0CLEO0003"), UserId("U0DANA0004")
NAMES = {ANA: "Ana Ribeiro", BEN: "Ben Okafor", CLEO: "Cleo Martin", DANA: "Dana Weiss", EVE: "Eve Lind"}
MAILS = {name.split()[0].lower() + "@acme.example": user for user, name in NAMES.items()}
POLICY = ApprovalPolicy(
    users=(BEN, CLEO),
    expires_after=timedelta(minutes=30),
    veto=VetoRule(users=(DANA,)),
    break_glass=GlassRule(users=(EVE,), pages=("C0OWNERS01",)),
)
WEB = WebSettings(identity_header="X-Forwarded-Email", proxies=("127.0.0.1",), people=MAILS)
TOKEN = "kept-by-those-who-may-read"
SIGNED_WITH = b"s" * 32
PATH = f"/incidents/wl-1/proposals/{PROPOSAL}"


class Groups:
    """`Directory`: user groups by their members; a group that is not there cannot be read."""

    def __init__(self) -> None:
        self.known: dict[str, frozenset[UserId]] = {}

    def members(self, groups: Sequence[str]) -> frozenset[UserId]:
        """See the port."""
        try:
            return frozenset(user for group in groups for user in self.known[group])
        except KeyError as error:
            raise CouldNotLook(f"The user group {error} could not be read.", "Slack is down.", "Wait.") from error


@dataclass
class Person:
    """Somebody's browser, behind the proxy; `identity` None: past it, with the token."""

    base: str
    identity: str | None
    headers: dict[str, str] = field(default_factory=dict)
    path: str = PATH

    @property
    def page(self) -> httpx.Response:
        """The proposal's, as it is now."""
        return self._asks("GET", {})

    @property
    def text(self) -> str:
        """What it says."""
        return said(self.page)

    @property
    def forms(self) -> dict[str, dict[str, str]]:
        """Of the page, by what they do."""
        return forms_of(self.page.text)

    def submits(self, form: Mapping[str, str], **more: str) -> httpx.Response:
        """Fills the form in and sends it, as a browser does from our own page."""
        return self._asks("POST", {"Origin": self.base, "Sec-Fetch-Site": "same-origin"}, {**form, **more})

    def does(self, act: str, reason: str = "", **more: str) -> httpx.Response:
        """Opens the page and uses a form of it."""
        sure = {"sure": "yes"} if act in {"approve", "begin"} else {"reason": reason}
        return self.submits(self.forms[act], **{**sure, **more})

    def sends(self, headers: Mapping[str, str], fields: Mapping[str, str]) -> httpx.Response:
        """Any request."""
        return self._asks("POST", headers, fields)

    def _asks(self, method: str, headers: Mapping[str, str], fields: Mapping[str, str] | None = None) -> httpx.Response:
        named = {"X-Forwarded-Email": self.identity} if self.identity is not None else {}
        auth = ("", TOKEN) if self.identity is None else None
        address = f"{self.base}{self.path}"
        return httpx.request(
            method, address, headers={**named, **self.headers, **headers}, data=fields, auth=auth, timeout=60
        )


def forms_of(text: str) -> dict[str, dict[str, str]]:
    """The hidden fields of each form of a page, by what the form does."""
    found = {}
    for form in re.findall(r"<form.*?</form>", text, re.DOTALL):
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))
        found[fields["act"]] = fields
    return found


def said(page: httpx.Response) -> str:
    """A page as it is read."""
    body = re.sub(r"<style>.*?</style>", "", page.text, flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", body)))


class World:
    """Ana has proposed the rewind of a table that was written twice; `serves` it, and people come."""

    def __init__(
        self, folder: Path, stack: ExitStack, policy: ApprovalPolicy = POLICY, *, is_private: bool = False
    ) -> None:
        self.folder = folder
        self.groups = Groups()
        self.clock = MovableClock()
        self.damaged = Damaged.made_in(folder)
        self.store = open_store(f"sqlite:///{folder}/journal.db")
        stack.callback(self.store.close)
        self.services = self._services(stack)
        self.id = self._proposed(policy, is_private)
        self.calls_before = len(self.damaged.flink.calls)

    @property
    def view(self) -> ProposalView:
        """The rewind, as the record tells."""
        return self.services.store.get(self.id).proposals[PROPOSAL]

    @property
    def calls(self) -> list[str]:
        """What Flink was told to do since it was proposed: `stop`, `start`."""
        return [call.split()[0] for call in self.damaged.flink.calls[self.calls_before :]]

    @property
    def timeline(self) -> str:
        """The record, as it is read."""
        return Records(CONTENT).markdown(self.services.store.get(self.id))

    def forgets(self) -> None:
        """What was read of the record, as by a restart."""
        self.services.store._read.clear()

    def backfill_commits(self) -> None:
        """Another engine appends three rows."""
        catalog = open_catalog(self.folder)
        summary = {"engine-name": "spark", "spark.app.id": "local-17"}
        catalog.load_table(ORDERS).append(rows(range(900, 903)), snapshot_properties=summary)
        catalog.close()

    @contextmanager
    def serves(
        self, web: WebSettings = WEB, *, decides: bool = True, names: Names = lambda _users: NAMES
    ) -> Iterator[str]:
        """Its pages, at the address that is returned."""
        decider = Decider(self.services, self.groups, web.people)
        decisions = Decisions(decider, OwnForms((SIGNED_WITH,), web.public_url)) if decides else None
        app = web_app(self.services.trust, Records(CONTENT), CONTENT, Access(web, TOKEN), names, decisions=decisions)
        with serving(app, "127.0.0.1", 0) as address:
            yield address

    def _services(self, stack: ExitStack) -> Services:
        setup = TableSetup(
            name=ORDERS, job=JOB, contract=CONTRACT, consumers=(), policies={"default": POLICY}, next_update_minutes=30
        )
        ports = JobPorts(self.damaged.flink, self.damaged.checkpoints)
        observer = Observer(
            self.damaged.catalog,
            {ORDERS: setup},
            {JOB: ports},
            OpenLineageFile(self.folder / "lineage.jsonl", "lake"),
            FolderOfTable(),
        )
        collector = Collector(find_tasks(spark_tasks), ArrowRunner(), self.clock)
        services = assemble(
            IncidentStore(self.store.journal, self.clock), observer, collector, self.groups, self.clock,
            self.store.presence.alone_with, look_first=False,
        )  # fmt: skip
        self.store.presence.join()
        stack.callback(services.background.close)
        stack.callback(services.desk.close)
        return services

    def _proposed(self, policy: ApprovalPolicy, is_private: bool) -> IncidentId:
        table = self.damaged.catalog.load(ORDERS)
        assert table.head is not None
        opened = IncidentOpened(
            table=ORDERS, job=JOB, runbook=RUNBOOK, severity="sev2", channel="C0ORDERS01",
            window=Window(since=None, until=table.head), trusted=None,
            metadata_location=table.metadata_location, summary="", private=is_private,
        )  # fmt: skip
        incident = self.services.store.open(opened, by=ANA)
        made = ProposalMade(step=None, proposal=told_in_words(self.damaged.proposal(), policy))
        self.services.store.write(incident.id, by=ANA, decide=lambda _now: [made])
        return incident.id


def told_in_words(proposal: Proposal, policy: ApprovalPolicy) -> Proposal:
    """The rewind with a preview as the bot writes it, for people to read."""
    run = AffectedRun(
        consumer="revenue_daily",
        run_id="run-42",
        at=proposal.proposed_at,
        snapshot_id=next(each.head for each in proposal.requirements if each.kind == "head-descends"),
    )
    preview = proposal.preview.model_copy(
        update={
            "affected_runs": (run,),
            "sure": "30 rows leave main of sales.orders, and the job restarts from checkpoint 5.",
            "sentences": (
                "Stop run bbbbbb with a savepoint.",
                "Move main of sales.orders back to the last commit of run aaaaaa; the tag wl-1-left keeps the head.",
                "Start orders-to-iceberg from checkpoint 5.",
            ),
        }
    )
    undo = "Move main back to the tag wl-1-left, and start from the savepoint of run bbbbbb."
    return proposal.model_copy(update={"preview": preview, "undo": undo, "policy": policy})
