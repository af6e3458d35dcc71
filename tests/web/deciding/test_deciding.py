"""Decisions on a proposal's page: by the people of `web.people`, and by the one rule of Slack and terminal."""

import sqlite3
import threading
from datetime import timedelta

import httpx

from bot.domain.execution import ProposalState
from tests.decisions import BEN
from tests.rewound import PROPOSAL
from tests.slack.people import eventually
from tests.web.deciding.world import PATH, Person, World, said


def test_all_that_is_approved_is_shown_and_the_incident_leads_there(world: World, ben: Person) -> None:
    """Effects, requirements, preview, undo, policy and digest; nothing of it is kept by a browser."""
    text, page = ben.text, ben.page
    incident = httpx.get(f"{ben.base}/incidents/wl-1", headers={"X-Forwarded-Email": "ben@acme.example"}).text

    assert f'href="{PATH}"' in incident
    assert "Move main of sales.orders back to the last commit of run aaaaaa" in text
    assert "3 commits, 3 files, 30 rows; they stay readable under a tag." in text
    assert "is the only run of orders-to-iceberg that is alive" in text
    assert "Move main back to the tag wl-1-left" in text
    assert "Asks for 1 approval, not the proposer's. Those who may: Ben Okafor or Cleo Martin." in text
    assert world.view.proposal.digest in text
    assert "no-store" == page.headers["cache-control"]
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]


def test_an_approver_approves_and_it_is_on_record_as_on_the_web(world: World, ben: Person) -> None:
    """303 to the page, which says what it counts for; loading it again decides nothing."""
    answer = ben.does("approve")
    entries = world.services.store.get(world.id).seq
    again = ben.text

    [given] = world.view.approvals
    assert (303, PROPOSAL) == (answer.status_code, answer.headers["location"])
    assert (BEN, "web", world.view.proposal.digest) == (given.by, given.via, given.digest)
    assert "Approved. The proposer or an approver can carry it out now." in again
    assert "Ben Okafor approved it on the web page" in again
    assert "Approved on the web page, as shown under digest" in world.timeline
    assert f"{BEN} approved on the web page at" in world.timeline
    assert entries == world.services.store.get(world.id).seq


def test_a_no_needs_a_reason_and_keeps_what_was_typed(world: World, ben: Person) -> None:
    """The rule's answer stands above the same page; then the no is in the record, with where it was said."""
    empty = ben.does("reject", "  ")
    long = ben.does("reject", "x" * 1001)
    answer = ben.does("reject", "Ask the <b>owners</b>.")
    after = ben.text

    assert (422, 422, 303) == (empty.status_code, long.status_code, answer.status_code)
    assert "A rejection needs a reason." in said(empty)
    assert ">" + "x" * 1001 + "</textarea>" in long.text
    assert "<b>owners" not in ben.page.text
    assert (ProposalState.REJECTED, BEN) == (world.view.state, world.view.ended_by)
    assert "Rejected by Ben Okafor on the web page" in after
    assert "was rejected by Ben Okafor at" in after
    assert {} == ben.forms
    assert "The proposal is rejected on the web page: Ask the" in world.timeline


def test_a_form_that_is_sent_twice_is_one_decision(world: World, ben: Person) -> None:
    """As by a doubled tap, or by going back and sending it again; at once, too."""
    form = ben.forms["approve"]
    answers: list[int] = []

    def taps() -> None:
        answers.append(ben.submits(form, sure="yes").status_code)

    threads = [threading.Thread(target=taps) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    no = ben.forms["reject"]
    answers += [ben.submits(no, reason="On second thoughts, no.").status_code for _ in range(2)]

    assert [303] * 6 == answers
    assert 1 == len(world.view.approvals)
    assert (ProposalState.REJECTED, BEN) == (world.view.state, world.view.ended_by)


def test_an_approval_without_the_tick_approves_nothing(world: World, ben: Person) -> None:
    """A form that says less than the page's own is told what is missing."""
    answer = ben.submits(ben.forms["approve"])

    assert 422 == answer.status_code
    assert "Tick that you have read all of it" in said(answer)
    assert world.view.state is ProposalState.PROPOSED


def test_a_yes_to_another_content_counts_for_nothing(world: World, ben: Person) -> None:
    """The record was changed past the bot between looking and deciding: the digest in the form is another."""
    form = ben.forms["approve"]
    with sqlite3.connect(world.folder / "journal.db") as database:
        sql = "UPDATE journal SET body = replace(body, 'the tag wl-1-left, and', 'nowhere, and') WHERE kind = ?"
        assert database.execute(sql, ("proposal-made",)).rowcount == 1
    database.close()
    world.forgets()

    answer = ben.submits(form, sure="yes")
    forged = ben.submits({**form, "digest": world.view.proposal.digest}, sure="yes")

    assert (422, 403) == (answer.status_code, forged.status_code)
    assert "You were shown another content than what is proposed." in said(answer)
    assert "It was made for somebody else, for another content" in said(forged)
    assert [] == world.view.approvals


def test_what_has_expired_is_proposed_anew(world: World, ben: Person) -> None:
    """Also where the form was loaded before."""
    form = ben.forms["approve"]
    world.clock.advances(timedelta(minutes=31))

    answer = ben.submits(form, sure="yes")

    assert 422 == answer.status_code
    assert "This proposal expired at" in said(answer)
    assert {} == ben.forms
    assert "Propose it again." in ben.text


def test_what_the_world_has_overtaken_is_superseded(world: World, ben: Person) -> None:
    """The yes looks at the table; nobody's form is left afterwards, and the page says why."""
    world.backfill_commits()

    answer = ben.does("approve")

    assert 409 == answer.status_code
    assert world.view.state is ProposalState.SUPERSEDED
    assert {} == ben.forms
    assert "was committed by" in said(answer)
    assert "was superseded at" in ben.text
    assert "was committed by" in ben.text


def test_it_is_begun_on_the_page_and_carried_out_once(world: World, ana: Person, ben: Person, cleo: Person) -> None:
    """By the proposer or who approved it; the bot's workers do it, however often the form is sent."""
    ben.does("approve")
    not_hers = cleo.text
    form = ana.forms["begin"]

    answers = [ana.submits(form, sure="yes").status_code for _ in range(2)]
    eventually(lambda: world.view.state is ProposalState.APPLIED)
    late = ben.submits({**form, "act": "begin"}, sure="yes")

    assert [303, 303] == answers
    assert ["stop", "start"] == [call for call in world.calls if call in {"stop", "start"}]
    assert "Only the proposer or an approver may carry it out. Ask Ana Ribeiro or Ben Okafor." in not_hers
    assert 403 == late.status_code
    assert "Ana Ribeiro had it carried out" in ben.text
    assert {} == ana.forms
