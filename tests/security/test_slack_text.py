"""Nothing from outside can ping, link, hide or format, and templates only fill in facts.

What the younger messages are made from, each text that comes from outside an attack.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from slack_sdk.models.blocks import Block
from slack_sdk.models.views import View

import spark_tasks
from bot.adapters.journal_sql import open_store
from bot.evidence import find_tasks
from bot.incident.approval import ApprovalPolicy, People
from bot.incident.delivery import AnswerView, HeldView
from bot.incident.incident import Incident
from bot.incident.journal import WATERLINE, Entry
from bot.incident.notice import Notice, NoticesHeld
from bot.incident.setup import TableSetup
from bot.incident.trust import Basis, Trust, TrustState
from bot.incident.watch import Ended, Muted, ReportedFinding, WatchFinding
from bot.notices import render, scan
from bot.notices import render as render_notice
from bot.notices.samples import samples
from bot.observation.contract import TableContract
from bot.observation.errors import BadConfiguration
from bot.observation.ids import SnapshotId, TableName, UserId
from bot.observation.readers import Consumer, Untold
from bot.observation.sentences import inert
from bot.service.home import HomeFacts, Promise
from bot.service.timeline import sentence
from bot.service.watching.finding_store import FindingStatus
from bot.slack import blocks as builders
from bot.slack.blocks.parts import button, confirm, context, header, section
from bot.slack.forms import opened_form, placeholder, problem_form
from bot.slack.ids import Click
from bot.slack.limits import fit, pages
from bot.slack.text import addressed, as_sentence, clipped, code, from_markdown, mrkdwn, person, room
from tests.incidents import Story
from tests.orders_table import NINE
from tests.security.hostile import UNSEEN, faults_of_blocks, faults_of_mrkdwn, texts
from tests.security.poisoned import poisoned, poisoned_record

ANA, BEN = UserId("U0ANA00001"), UserId("U0BEN00002")


def own_facts(incident: Incident, attack: str) -> dict[str, dict[str, list[Any]]]:
    """What a message of this name is made from, where its parameters mean something else than in the others. The text
    of a notice is the bot's own, rendered (`test_no_notice_is_spoofed` has those)."""
    return {
        "finding_message": {"status": statuses(incident, attack), "mention": [People(users=(ANA,)), People()]},
        "notice_message": {"view": _answered(incident, attack)},
        "held_message": {"view": _held(incident, attack)},
        "card_message": {"setup": _setups(attack)},
        "answers_message": {"incident": [_asked_by_the_bot(incident)], "change": [0, 1]},
        "sending_view": _texts(incident, attack),
    }


def _asked_by_the_bot(incident: Incident) -> Incident:
    runs = {name: replace(run, by=WATERLINE) for name, run in incident.runs.items()}
    return replace(incident, runs=runs)


def _texts(incident: Incident, attack: str) -> dict[str, list[Any]]:
    """Pages of the notices of a preview; their text is the bot's own, rendered."""
    notices = [view.notice.model_copy(update={"text": "Recovered."}) for view in incident.notices.values()]
    if not notices:
        return {"ids": [], "notices": [], "page": [], "untold": []}
    others = [each.model_copy(update={"consumer": f"{attack}{n}"}) for n, each in enumerate(notices * 20)]
    untold = [(), (Untold(name=attack, why=attack),)]
    return {"ids": [(incident.id, "", "held", "C0X")], "notices": [notices, others], "page": [0, 1], "untold": untold}


def _setups(attack: str) -> list[TableSetup | None]:
    """A table of which consumers and channels are declared under such names, and one that is configured no more."""
    known = TableSetup(
        name=TableName("sales.orders"), job=None, contract=TableContract(), policies={}, next_update_minutes=30,
        consumers=(Consumer(name="c", channel="C0X").model_copy(update={"name": attack}),),
        untold=(Untold(name=attack, why=attack),),
    )  # fmt: skip
    return [known, None]


def statuses(incident: Incident, attack: str) -> list[FindingStatus]:
    finding = WatchFinding(
        code="F2", subject="x", headline="h", reasons=("r", "s"), advice="a", severity="sev1", runbook="duplicate-rows",
        is_urgent=True, rows=(SnapshotId(7),), last_good=SnapshotId(6), also=("F3: o",), source="s", link="https://x",
    )  # fmt: skip
    table = TableName("sales.orders")
    reported = poisoned_record(
        ReportedFinding(id="abc", table=table, channel="C0ORDERS01", finding=finding, at=NINE), attack
    )
    ended = poisoned_record(Ended(finding="abc", table=table, at=NINE, why="w"), attack)
    muted = Muted(id="m", table=table, until=NINE, by=ANA, at=NINE)
    return [
        FindingStatus(reported, None, None, None),
        FindingStatus(reported, ended, None, incident),
        FindingStatus(reported, None, muted, incident),
    ]


def _answered(incident: Incident, attack: str) -> list[Any]:
    answer = AnswerView(answer="needs-help", text=attack, by=attack, at=NINE)
    return [
        replace(view, notice=view.notice.model_copy(update={"text": "Recovered."}), answers=[answer])
        for view in incident.notices.values()
    ]


def _held(incident: Incident, attack: str) -> list[HeldView]:
    notice = poisoned_record(
        Notice(kind="recovered", revision=1, consumer="c", channel="C0X", text="t", title="t"), attack
    )
    incident.previews["held"] = (notice.model_copy(update={"text": "Recovered."}),)
    held = NoticesHeld(name="held", policy=ApprovalPolicy(users=(BEN,)), step=None)
    waiting = HeldView(name="held", held=held, asked_by=ANA, asked_at=NINE)
    return [waiting, replace(waiting, sent_by=BEN)]


FAST = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
TASKS = {name: module.task for name, module in find_tasks(spark_tasks).items()}
FACTS = [facts for _shape, facts in samples()]
FACTS = FACTS[:: len(FACTS) // 6]
TEMPLATES = scan(Path(__file__).parents[2] / "messages")


class Tales:
    """Whole incidents: from the opening to the close, and one in which the glass was broken."""

    def __init__(self, whole: tuple[Entry, ...], emergency: tuple[Entry, ...]) -> None:
        self.whole = whole
        self.emergency = emergency

    def __repr__(self) -> str:
        """A failing example shows the attack, not the incident."""
        return "tales"


@pytest.fixture(scope="module")
def tales(tmp_path_factory: pytest.TempPathFactory) -> Tales:
    """Two incidents, as the journal has them."""
    store = open_store(f"sqlite:///{tmp_path_factory.mktemp('record') / 'record.db'}")
    whole = Story(store.journal).whole()
    emergency = Story(store.journal).opens().answers().diagnoses().proposes()
    emergency.breaks_the_glass("Nobody else is awake.")
    found = Tales(store.journal.entries(whole.id), store.journal.entries(emergency.id))
    store.close()
    return found


def public_builders() -> dict[str, Callable[..., Any]]:
    """Every function of `bot/slack/blocks/` that makes a message or a view."""
    found = {}
    for module in iter_modules(builders.__path__):
        for name, value in vars(import_module(f"{builders.__name__}.{module.name}")).items():
            if name.endswith(("_message", "_view")) and inspect.isfunction(value):
                found[name] = value
    return found


def home_of(incident: Incident, attack: str) -> HomeFacts:
    """App Home of somebody whom all of it concerns, each text an attack."""
    trust = Trust(
        table=TableName(attack), state=TrustState.UNKNOWN, snapshot=None, committed_at=None, basis=Basis.NONE,
        head=None,
        above=None, why=attack, advice=attack, since=None, incident=None, doubts=(attack,), pins=(), checked_at=NINE,
    )  # fmt: skip
    return HomeFacts(
        waiting=tuple((incident, view) for view in incident.proposals.values()),
        held=tuple((incident, view) for view in own_facts(incident, attack)["held_message"]["view"]),
        groups_unknown=True,
        mine=(incident,),
        other_open=(incident,),
        own=frozenset({trust.table}),
        tables=(trust,),
        promises=(Promise(at=NINE, incident=incident, what=attack),),
        now=NINE,
    )


def calls(build: Callable[..., Any], known: Mapping[str, list[Any]]) -> Iterator[Any]:
    """What it makes of the incident: one call for each value of its parameters, which are known by name."""
    names = list(inspect.signature(build).parameters)
    unknown = [name for name in names if name not in known]
    assert not unknown, f"{build.__name__} takes {unknown}: say in this test what to hand it"
    for number in range(max(len(known[name]) for name in names)):
        yield build(*(known[name][number % len(known[name])] for name in names))


@pytest.mark.parametrize("name", sorted(public_builders()))
@FAST
@given(attack=texts)
def test_no_message_is_spoofed(tales: Tales, name: str, attack: str) -> None:
    """Every builder, over an incident whose texts are all attacks: in the middle, at its end, and in an emergency."""
    for told in (tales.whole, tales.whole[:-1], tales.whole[:13], tales.emergency):
        incident = poisoned(told, attack)
        runs = list(incident.runs.values())
        known: dict[str, list[Any]] = {
            "incident": [incident],
            "tasks": [TASKS],
            "progress": [None],
            "better": [None, incident.runbook],
            "run": runs,
            "task": [TASKS[run.task] for run in runs],
            "view": [v for v in incident.proposals.values() if v.glass is not None or name != "emergency_message"],
            "diagnosis": [incident.diagnosis] if incident.diagnosis else [],
            "findings": [incident.review] if incident.review else [],
            "incidents": [[incident]],
            "tables": [[TableName("sales.orders")]],
            "user": [UserId("U0ANA00001")],
            "entry": list(incident.entries),
            "facts": [home_of(incident, attack)],
            **own_facts(incident, attack).get(name, {}),
        }
        parameters = inspect.signature(public_builders()[name]).parameters
        if any(known.get(parameter) == [] for parameter in parameters):
            continue
        for made in calls(public_builders()[name], known):
            shown = [made.to_dict()] if isinstance(made, View) else fit(made[1])

            assert list(faults_of_blocks(shown)) == []


@FAST
@given(attack=texts)
def test_no_line_of_the_thread_is_spoofed(tales: Tales, attack: str) -> None:
    """The timeline puts what people typed into sentences of ours."""
    for entry in (*poisoned(tales.whole, attack).entries, *poisoned(tales.emergency, attack).entries):
        line = f"12:00 · {addressed(sentence(entry), ())}"

        assert faults_of_mrkdwn(line) == []


@pytest.mark.full
@pytest.mark.parametrize("kind", sorted(TEMPLATES))
@FAST
@given(attack=texts)
def test_no_notice_is_spoofed(kind: str, attack: str) -> None:
    """Every template of `messages/`, over facts whose texts are all attacks."""
    for facts in FACTS:
        text = render_notice(TEMPLATES[kind], poisoned_record(facts, attack))
        shown = fit([section(part) for part in pages(text)])

        assert list(faults_of_blocks(shown)) == []


@FAST
@given(attack=texts)
@example(attack="` :evil: `")
def test_no_small_piece_is_spoofed(attack: str) -> None:
    """Headings, buttons, confirmations, answers, prose of runbooks, and forms that say what went wrong."""
    made: list[Block] = [
        header(attack),
        context(f"{mrkdwn(attack)} {code(attack)} {person(attack)} {room(attack)} {mrkdwn(as_sentence(attack))}"),
        section(f"• {mrkdwn(clipped(attack, 30))}"),
        section("\n".join(f"– {line}" for line in addressed(attack.replace("\n", " "), ()).split("\n"))),
    ]
    forms = [
        problem_form("Problem", f"No: {attack}"),
        opened_form(f"Yes: {attack}"),
        placeholder("Wait", "x", f"… {attack}"),
    ]
    sure = confirm(attack, attack, attack)
    pressed = button(attack, Click.TAKE, "wl-1", confirm=sure)

    assert list(faults_of_blocks(fit(made))) == []
    assert [f for form in forms for f in faults_of_blocks(form.to_dict()) if "0MAL" not in f] == []
    assert list(faults_of_blocks([pressed.to_dict()])) == []


@given(attack=texts)
def test_inert_text_hides_nothing_and_is_not_made_inert_twice(attack: str) -> None:
    """All of it is there to be read, on one line, and doing it again changes nothing."""
    once = inert(attack)

    assert UNSEEN.search(once) is None
    assert "\n" not in once
    assert inert(once) == once


def test_what_is_no_attack_is_left_alone() -> None:
    """Names, paths, times and commands are copied from messages: they stay as they are."""
    for text in (
        "sales.orders_v2", "s3://lake/orders/_delta", "14:02:11 UTC", "Run `waterline record verify`: it says more.",
        "👩‍💻 restarted it", "a < b & c > d", "order_items.customer_id", "50 % of 2,300 rows",
    ):  # fmt: skip
        assert inert(text) == text.replace("/_delta", "/ˍdelta")


def test_a_link_in_a_runbook_is_one_and_a_link_in_data_is_none() -> None:
    """The team writes its runbooks; nobody vouches for a value of a column."""
    prose = from_markdown("See [the dashboard](https://grafana.example/d/1) or https://wiki.example/x.")

    assert prose == "See <https://grafana.example/d/1|the dashboard> or <https://wiki.example/x>."
    assert from_markdown("[x](javascript:alert(1)) <https://evil.example|y>").count("<") == 0
    assert "<" not in mrkdwn("[the dashboard](https://grafana.example/d/1)")


def test_a_mention_needs_an_id_that_the_entry_names_itself() -> None:
    """Whom to tell is a field; a mention within a text pings nobody."""
    told = addressed("<@U0ANA00001> is responding: <@U0BEN00002> <!channel>", {"U0ANA00001"})

    assert told == "<@U0ANA00001> is responding: &lt;@U0BEN00002&gt; &lt;!channel&gt;"
    assert person("U0ANA00001><!channel") == "U0ANA00001&gt;&lt;!channel"


HEAD = "---\ntitle: T\nwhen: now\naudience: consumers\n---\n"
TEMPLATES_FACTS = dict(samples())
ONE = next(iter(TEMPLATES_FACTS.values()))
ATTACKS = (
    "{{ table.__class__.__mro__ }}",
    "{{ ''.__class__.__base__.__subclasses__() }}",
    "{{ table.format.__globals__ }}",
    "{{ '{0.__class__.__init__.__globals__}'.format(table) }}",
    "{{ moment.__globals__ }}",
    "{{ self._TemplateReference__context }}",
    "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "{{ lipsum.__globals__['os'].environ }}",
    "{{ (table|attr('__class__')) }}",
    "{% set x = namespace() %}{{ x.__class__.__init__.__globals__ }}",
    "{% for c in [].__class__.__base__.__subclasses__() %}{{ c }}{% endfor %}",
    "{{ request.application.__globals__ }}",
    "{{ config.items() }}",
    "{% include '/etc/passwd' %}",
    "{% include '../pyproject.toml' %}",
    "{% import 'os' as os %}{{ os.environ }}",
)


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_template_reaches_nothing_but_its_facts(tmp_path: Path, attack: str) -> None:
    """Neither Python's insides, nor files, nor the environment: it is refused, or renders to nothing of them."""
    (tmp_path / "attack.md.j2").write_text(f"{HEAD}Said: {attack}\n")

    try:
        text = render(scan(tmp_path)["attack"], ONE)
    except BadConfiguration as refused:
        text = refused.happened

    assert not any(
        found in text for found in ("<class", "&lt;class", "root:", "PATH", "[project]", "environ(", "module")
    )


def test_facts_are_never_read_as_a_template(tmp_path: Path) -> None:
    """What looks like a template within a fact is shown as it stands."""
    (tmp_path / "plain.md.j2").write_text(f"{HEAD}{{{{ consumer }}}}\n")
    template = scan(tmp_path)["plain"]

    text = render(template, ONE.model_copy(update={"consumer": "{{ 7*7 }}{% include 'x' %}"}))

    assert text == "{{ 7∗7 }}{% include 'x' %}"


@pytest.mark.parametrize("attack", ["{{ reading.runs.append(1) }}", "{{ affected.snapshots.clear() }}"])
def test_a_template_cannot_change_a_fact(tmp_path: Path, attack: str) -> None:
    """Facts of one consumer are those of the next."""
    (tmp_path / "attack.md.j2").write_text(f"{HEAD}{attack}\n")

    with pytest.raises(BadConfiguration, match="could not be rendered"):
        render(scan(tmp_path)["attack"], ONE)
