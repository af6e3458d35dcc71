"""Which keys were wrong, as far as evidence saw them and the contract lets them be shown."""

from collections.abc import Mapping

from bot.domain.contract import HIDDEN
from bot.domain.findings import CorrectedRowsFinding
from bot.notices import NoticeTemplate, render
from tests import orders_table as orders
from tests.incidents import Story
from tests.notices.rewound_facts import CONTRACT, FOUND, facts_of, minute_ledger, rewound


def test_keys_that_the_contract_hides_are_not_shown(story: Story, templates: Mapping[str, NoticeTemplate]) -> None:
    """Also when they were not hidden yet as the evidence was collected; nothing is said of which they are."""
    hidden = CONTRACT.model_copy(update={"redacted": ("ORDER_ID",)})

    facts = facts_of(rewound(story), contract=hidden)

    text = render(templates["recovered"], facts)
    assert "4711" not in text
    assert "The keys are not shown, because the contract hides their values." in text


def test_of_a_key_of_several_columns_only_the_hidden_one_is_hidden(story: Story) -> None:
    """The rest still helps to find the row."""
    both = CONTRACT.model_copy(update={"key": ("customer", "order_id"), "redacted": ("customer",)})
    story.opens().answers(
        finding=FOUND, columns=("customer", "order_id", "live rows"), rows=(("ACME", "4711", "2"),)
    ).draws_the_ledger(minute_ledger())

    keys = facts_of(story, contract=both, table=orders.table_state()).damage.keys

    assert keys is not None
    assert keys.sample == (f"customer {HIDDEN}, order_id 4711",)


def test_a_key_as_long_as_a_letter_is_cut(story: Story) -> None:
    """A notice stays within Slack's limits whatever is a key."""
    story.opens().answers(finding=FOUND, rows=(("x" * 3000, "2"),))

    keys = facts_of(story, table=orders.table_state()).damage.keys

    assert keys is not None
    assert keys.sample == ("x" * 59 + "…",)


def test_changed_and_lost_keys_are_counted_too(story: Story, templates: Mapping[str, NoticeTemplate]) -> None:
    """With the columns in which they changed."""
    found = CorrectedRowsFinding(keys=12, gone=1, columns={"status": 3, "amount": 11})
    story.opens().answers("corrected_rows", finding=found, columns=("order_id", "what happened", "changed columns"))

    text = render(templates["update"], facts_of(story, kind="update", table=orders.table_state()))

    assert "12 keys have changed values." in text
    assert "1 earlier key is missing." in text
    assert "Columns with different values: amount, status." in text


def test_evidence_on_the_branch_of_a_rehearsal_is_not_what_consumers_had(story: Story) -> None:
    """It says nothing of main."""
    story.opens().answers(finding=FOUND, branch="recovery-wl-1")

    assert facts_of(story, table=orders.table_state()).damage.keys is None
