"""The review beside its incident: how long it took, what broke before, who mends it until when."""

from datetime import date, timedelta

import pytest

from bot.domain.approval import ApprovalPolicy
from bot.domain.entries import FindingAssigned, FindingSettled, ReviewOpened
from bot.domain.ids import UserId
from bot.domain.review import charged, metrics, open_items, review, review_items
from bot.domain.sentences import span
from bot.domain.setup import TableSetup, Team, TeamMember
from tests import orders_table as orders
from tests.decisions import ANA, BEN, EVE
from tests.incidents import Story

MINUTE = timedelta(minutes=1)
SETUP = TableSetup(
    name=orders.TABLE, job=orders.JOB, contract=orders.contract(), consumers=(),
    policies={"default": ApprovalPolicy(users=(BEN,))}, next_update_minutes=30,
    review_due=timedelta(days=10), review_owners={"table": EVE},
)  # fmt: skip


def told(story: Story) -> Story:
    """Diagnosed and reviewed."""
    story.opens().answers().draws_the_ledger().diagnoses()
    findings = review(story.incident, orders.observation(), orders.contract())
    owned = charged(findings, story.incident, SETUP, at=story.now)
    return story.says(ReviewOpened(findings=owned), by=ANA)


def test_every_span_is_between_two_entries(stories: list[Story]) -> None:
    """Detected after the commit that shows it, diagnosed, approved, proven, told: a minute an entry here."""
    story = stories[0].opens().draws_the_ledger().diagnoses()
    first_half = {each.name: each.words for each in metrics(story.incident)}
    story.proposes().approves().rewinds().verifies().notifies()

    took = {each.name: each.took for each in metrics(story.incident)}

    wrong = next(row for row in orders.ledger().rows if row.snapshot_id == orders.HEAD)
    assert took["detect"] == story.incident.opened_at - wrong.committed_at
    assert (took["diagnose"], took["approve"]) == (5 * MINUTE, MINUTE)
    assert first_half["recover"] == "not known"
    assert MINUTE < (took["recover"] or MINUTE) < (took["notify"] or MINUTE)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (0.5, "0.5 s"), (59.6, "1 min"), (250, "4 min 10 s"), (90_000, "1 d 1 h"), (3600, "1 h")],
)
def test_a_span_is_told_in_its_two_largest_units(seconds: float, words: str) -> None:
    """Short enough to be read aloud."""
    assert span(timedelta(seconds=seconds)) == words


def test_what_did_not_hold_has_an_owner_and_a_day(stories: list[Story]) -> None:
    """By configuration, else the responder; what held or could not be told asks nobody."""
    story = told(stories[0])

    items = {item.finding.contract: item for item in review_items(story.incident) if item.finding.holds is False}
    untold = [item for item in review_items(story.incident) if item.finding.holds is None]
    assert (items["state"].owner, items["table"].owner) == (ANA, EVE)
    assert items["state"].due == story.now - MINUTE + SETUP.review_due
    assert untold
    assert all(item.owner is None and not item.is_open for item in untold)


def test_who_answers_for_the_table_mends_it_before_the_responder(stories: list[Story]) -> None:
    """By the contract's team, on the day of the review; the configuration counts more, and approval is no matter of
    the table's team."""
    dana = TeamMember(name="Dana", role="Owner", slack=UserId("U0DANA0004"), since=date(2026, 1, 1))
    left = TeamMember(name="Gil", role="Owner", slack=UserId("U0GIL00007"), until=date(2026, 11, 3))
    setup = SETUP.model_copy(update={"team": Team(members=(left, dana))})
    told(stories[0]).proposes().breaks_the_glass("Revenue pays out at four.")
    findings = review(stories[0].incident, orders.observation(), orders.contract())

    owners = {each.contract: each.owner for each in charged(findings, stories[0].incident, setup, at=stories[0].now)
              if each.holds is False}  # fmt: skip

    assert owners == {"state": "U0DANA0004", "checkpoint": "U0DANA0004", "table": EVE, "approval": ANA}


def test_a_term_is_open_until_it_is_settled_and_again_when_handed_on(stories: list[Story]) -> None:
    """The newest word counts, and another opening of the review keeps it."""
    story = told(stories[0])
    term = open_items(story.incident)[0].finding
    about = {"contract": term.contract, "term": term.term}

    story.says(FindingSettled.model_validate({**about, "how": "fixed", "reason": "Done."}), by=BEN)
    settled = len(open_items(story.incident))
    story.says(FindingAssigned.model_validate({**about, "owner": EVE, "due": story.now + MINUTE}), by=ANA)
    story.says(ReviewOpened(findings=story.incident.review or ()), by=ANA)

    [again] = [item for item in open_items(story.incident) if item.finding.term == term.term]
    assert settled == len(open_items(story.incident)) - 1
    assert (again.owner, again.is_overdue(story.now + 2 * MINUTE)) == (EVE, True)
