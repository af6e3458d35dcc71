"""An incident is opened by command or from a message, looked at, and closed."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from bot.incident.entries import NoteAdded
from bot.observation.ids import IncidentId, SnapshotId, TableName, short
from bot.observation.table import Window
from bot.service.opening import Offer
from bot.slack.ids import Form
from bot.slack.opening_forms import _named_in
from bot.slack.requests import Submitted, words_of
from bot.slack.submits import Submits
from bot.workspace import SeenMessage, Workspace
from bot.workspace.people import CannotDo
from tests.decisions import RUNBOOK
from tests.slack.little_bot import LittleBot
from tests.slack.orders import Orders
from tests.slack.people import ONCALL, Responder, eventually


@pytest.mark.smoke
def test_the_form_proposes_the_window_and_what_to_trust(ana: Responder, orders: Orders) -> None:
    """The form arrives filled: the last good snapshot, the window above it, and why."""
    good = orders.commit_of("a", 5)

    ana.opens_form()

    assert f"Last snapshot with no known problem: {short(good)}" in ana.modal.plain
    assert "Proposed window: 5 commits" in ana.modal.plain
    assert "was restored from checkpoint 3" in ana.modal.plain


def test_a_window_from_the_first_commit_says_so() -> None:
    """Nothing comes before it."""
    window = Window(since=None, until=SnapshotId(5447865766088436071))
    offer = Offer(
        table=TableName("sales.orders"), window=window, trusted=None, because="", commits=1, metadata_location=""
    )

    assert offer.window_in_words == "1 commit, from the first one up to …436071"


@pytest.mark.smoke
def test_opening_marks_the_table_and_shows_the_warning(ana: Responder, dana: Responder, orders: Orders) -> None:
    """The tag stays on what is trusted; what consumers would be told is shown before anybody is told."""
    ana.opens_form()
    ana.submits()
    preview = ana.reads_form()
    ana.sees_on_card("under review")

    assert "sales.orders is under review" in preview
    assert ana.modal.submit == "Send to 2 consumers"
    assert dana.messages("revenue-analytics") == []
    assert orders.waterline == orders.commit_of("a", 5)
    assert orders.status == "under-review"


def test_each_consumer_is_warned_with_its_own_reading_once(
    ana: Responder, dana: Responder, eli: Responder, orders: Orders, bot: LittleBot
) -> None:
    """Who read above the trusted snapshot is named in their own warning only; no timer repeats it."""
    orders.read_by("revenue_daily", "run-7", orders.head)
    ana.opens_form()
    ana.submits()
    preview = ana.reads_form()

    ana.submits()
    warning = dana.sees("under review", "revenue-analytics")
    other = eli.sees("under review", "fraud-ml")
    bot.clock.advances(timedelta(minutes=5))
    bot.services.reconciler.reconcile_all()
    ana.sees_on_card(":mega: fraud_model")

    assert warning.plain.partition("\nAcknowledge")[0] in preview
    assert {"Acknowledge", "I need help…"} <= set(warning.buttons)
    assert "run-7" in warning.plain
    assert "run-7" not in other.plain
    assert len(dana.messages("revenue-analytics")) == 1
    assert len(eli.messages("fraud-ml")) == 1


def test_a_warning_that_nobody_sends_goes_out_by_itself(ana: Responder, dana: Responder, bot: LittleBot) -> None:
    """Consumers do not wait for a responder who closed the form."""
    ana.opens()
    before = dana.messages("revenue-analytics")

    bot.clock.advances(timedelta(minutes=2))
    bot.services.reconciler.reconcile_all()
    dana.sees("under review", "revenue-analytics")

    assert before == []
    assert len(dana.messages("revenue-analytics")) == 1


def test_another_window_is_taken_only_from_the_ledger(ana: Responder, orders: Orders, bot: LittleBot) -> None:
    """A last good snapshot that the table does not list is refused, with the words that were typed; a listed one
    counts."""
    ana.opens_form()
    ana.fills({"since": "123", "summary": "Dana sees too much revenue."})
    ana.submits()
    refused = ana.reads_form()
    ana.dismisses()
    chosen = orders.commit_of("a", 2)

    ana.opens_form()
    ana.fills({"since": str(chosen)})
    ana.submits()
    ana.sees_on_card("under review")

    assert "lists no snapshot 123." in refused
    assert "Dana sees too much revenue." in refused
    assert orders.waterline == chosen
    assert len(bot.services.store.all()) == 1


def test_what_is_no_snapshot_id_is_told_at_its_field(ana: Responder, orders: Orders, bot: LittleBot) -> None:
    """The form stays open with all that was typed, as often as it is submitted; mended there, it opens the incident."""
    chosen = orders.commit_of("a", 2)
    ana.opens_form()
    ana.fills({"since": "yesterday", "summary": "Dana sees too much revenue."})

    told = [ana.submits().errors for _ in range(2)]
    ana.fills({"since": str(chosen)})
    ana.submits()
    ana.sees_on_card("under review")

    assert told[0] == told[1]
    assert "This is not a snapshot id." in told[0]["since"]
    assert [each.opened.summary for each in bot.services.store.all()] == ["Dana sees too much revenue."]


def test_a_last_good_snapshot_is_named_as_the_ledger_shows_it(ana: Responder, orders: Orders) -> None:
    """Slack shows the last six digits of an id: they are enough to type."""
    chosen = orders.commit_of("a", 2)

    ana.opens_form()
    ana.fills({"since": short(chosen)})
    ana.submits()
    ana.sees_on_card("under review")

    assert orders.waterline == chosen


@pytest.mark.parametrize("consumers", [()])
def test_without_declared_consumers_nobody_is_told_and_that_is_said(ana: Responder) -> None:
    """An incident opens without consumers; the form says that nobody is told."""
    ana.opens_form()
    ana.submits()
    told = ana.reads_form()
    ana.sees_on_card("under review")

    assert "This table has no declared consumers, so nobody is notified." in told


SHORTCUT = "Open incident"
FIRING = {
    "username": "Alertmanager",
    "attachments": [{"title": "[FIRING:1] DuplicateRows", "text": "lake.sales.orders has rows twice"}],
}


def posted(slack: Workspace, ana: Responder, body: dict[str, Any], text: str) -> SeenMessage:
    """What another system wrote by its incoming webhook, which ana sees."""
    httpx.post(f"{slack.url}/services/{ONCALL}", json=body).raise_for_status()
    return ana.waits_for(lambda m: text in str(m.shown), ONCALL)


def initial(ana: Responder, block: str) -> Any:
    """What the form on top holds in this field before anybody fills it in."""
    control = ana.modal.control(block)
    assert control is not None
    return control.element.get("initial_option", {}).get("value") or control.element.get("initial_value")


def notes(bot: LittleBot) -> list[str]:
    """The notes of every incident."""
    return [e.body.text for i in bot.services.store.all() for e in i.entries if isinstance(e.body, NoteAdded)]


def test_the_form_is_filled_from_an_alert_of_another_bot(slack: Workspace, ana: Responder, bot: LittleBot) -> None:
    """Table, symptom and words, from an attachment; the incident keeps where the message is."""
    alert = posted(slack, ana, FIRING, "DuplicateRows")

    ana.chooses_shortcut(SHORTCUT, alert)
    ana.reads_form()
    filled = {block: initial(ana, block) for block in ("runbook", "summary")}
    ana.submits()
    ana.sees_on_card("under review")

    eventually(lambda: bool(notes(bot)))
    [incident] = bot.services.store.all()
    assert filled["runbook"] == "duplicate-rows"
    assert "lake.sales.orders has rows twice" in filled["summary"].split("\n")
    assert (incident.opened.table, incident.opened.summary) == ("sales.orders", filled["summary"])
    assert len(notes(bot)) == 1
    assert f"p{alert.ts.replace('.', '')}" in notes(bot)[0]


def test_a_message_of_a_person_fills_the_form_and_is_not_kept_unasked(
    slack: Workspace, ana: Responder, ben: Responder, bot: LittleBot
) -> None:
    """Nobody's words reach the bot before somebody chooses them; a symptom that they do not name is left to choose."""
    said = ben.says("sales.orders looks odd since <!channel> noon")
    before = slack.wire("delivery")

    ana.chooses_shortcut(SHORTCUT, said)
    form = ana.reads_form()

    assert list(before) == []
    assert "sales.orders" in form
    assert "looks odd since" in initial(ana, "summary")
    assert initial(ana, "runbook") is None
    assert "runbook" in ana.submits().errors


def test_who_is_not_in_the_channel_cannot_choose_there(slack: Workspace, ana: Responder, eli: Responder) -> None:
    """As in Slack; nor is a shortcut offered that the app does not have."""
    said = ana.says("sales.orders looks odd")
    channel = slack.world.directory.channel(ONCALL)
    slack.world.directory.channels[channel.id] = channel.model_copy(update={"is_private": True})

    for person, name in ((eli, SHORTCUT), (ana, "Delete everything")):
        with pytest.raises(CannotDo):
            person.chooses_shortcut(name, said)


def test_a_table_that_is_open_is_said(ana: Responder, ben: Responder, bot: LittleBot) -> None:
    """Two people choose the same alert."""
    said = ben.says("sales.orders looks odd")
    ana.opens()

    ben.chooses_shortcut(SHORTCUT, said)

    assert "wl-1" in ben.reads_form()


class TestSeveralTables:
    """Where the message does not say which one."""

    @pytest.fixture(autouse=True)
    def refunds(self, bot: LittleBot) -> None:
        """A second table, of the same job."""
        tables = bot.services.observer.tables
        [orders] = tables.values()
        bot.services.observer.tables = {**tables, "sales.refunds": orders.model_copy(update={"name": "sales.refunds"})}

    @pytest.mark.parametrize(
        "words", ["the numbers look odd", "sales.orders and sales.refunds look odd", "orders-to-iceberg restarts"]
    )
    def test_the_form_asks_for_the_table_first(
        self, ana: Responder, ben: Responder, bot: LittleBot, words: str
    ) -> None:
        """None named, two, or a job that writes both: no table is guessed, and the words go along."""
        said = ben.says(words)
        ana.chooses_shortcut(SHORTCUT, said)
        ana.reads_form()
        table = ana.modal.control("table")
        is_chosen = table is None or "initial_option" in table.element

        ana.fills({"table": "sales.orders"}).submits()
        eventually(lambda: ana.modal.control("runbook") is not None)
        ana.fills({"runbook": "duplicate-rows"}).submits()
        ana.sees_on_card("under review")

        [incident] = bot.services.store.all()
        assert not is_chosen
        assert (incident.opened.table, incident.opened.summary) == ("sales.orders", words)
        eventually(lambda: any(said.ts.replace(".", "") in note for note in notes(bot)))

    def test_the_command_without_a_table_asks_for_it_too(self, ana: Responder, bot: LittleBot) -> None:
        """The form of `/waterline open` is the same."""
        ana.opens_form()

        assert ana.modal.control("table") is not None


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"text": "plain &amp; simple"}, "plain & simple"),
        ({"text": "see <https://x.example|the board>, <@U0ANA00001|ana> and <!here>"}, "see the board, @ana and @here"),
        ({"attachments": [{"pretext": "p", "title": "t", "text": "x", "fields": [{"title": "a", "value": "b"}]}]},
         "p\nt\nx\na: b"),
        ({"attachments": [{"fallback": "only this"}]}, "only this"),
        ({"text": "same", "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "same"}}]}, "same"),
        ({"blocks": [{"type": "header", "text": {"type": "plain_text", "text": "h"}}, {"type": "actions"}, None]}, "h"),
        ({"text": None, "attachments": "odd", "blocks": {"type": "section"}}, ""),
    ],
)  # fmt: skip
def test_words_are_read_wherever_they_stand_and_without_markup(message: dict[str, Any], words: str) -> None:
    """Each line once; a message of an unknown shape has none."""
    assert words_of(message) == words


@pytest.mark.parametrize("run", ["<" * 9000, "<a|" * 3000, "&" * 9000])
def test_a_long_run_of_one_character_holds_nobody_up(run: str) -> None:
    """The end of a message that long is not read."""
    assert len(words_of({"text": run})) <= 8000


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("[FIRING:1] DuplicateRows", "duplicate-rows"),
        ("duplicate_rows on sales.orders", "duplicate-rows"),
        ("we see deduplicate rows", None),
        ("duplicate-rows or missing-rows", None),
        ("", None),
    ],
)
def test_only_a_symptom_that_is_named_is_chosen(words: str, named: str | None) -> None:
    """By its id or title, however it is written; of two, none."""
    books = [RUNBOOK.model_copy(update={"id": each, "title": each}) for each in ("duplicate-rows", "missing-rows")]

    assert _named_in(words, books) == named


WL = IncidentId("wl-1")


def test_who_closes_with_the_button_hears_that_the_table_stays_under_review(ana: Responder, bot: LittleBot) -> None:
    """Nothing was proven, so readers are still kept away."""
    ana.opens()
    eventually(lambda: bot.services.store.get(WL).waterline is not None)
    form = Submitted(user=ana.id, form=Form.CLOSE, about=f"{WL}/C0", values={"reason": "A test."}, trigger="t")

    answer = Submits(bot.services, None, None).handle(form)  # type: ignore[arg-type]

    assert answer == "wl-1 is closed. The table stays under review: it is not verified."
