"""What holds for every action, whoever wrote it: the package's, and those that `WATERLINE_ACTIONS` names.

For an action of your own: `WATERLINE_ACTIONS="ourteam.waterline.restart_enrichment" pytest tests/actions`.
"""

import os
from collections.abc import Iterator

import pytest

import spark_tasks
from bot import actions
from bot.actions._completing import completed, must_be_destructive
from bot.actions._effects import KINDS
from bot.actions._requirements import World, check_all
from bot.actions._scan import scan
from bot.domain.action import Plan
from bot.domain.errors import CouldNotLook, Refused
from bot.domain.proposal import Proposal
from bot.evidence import find_tasks
from tests.actions.scene import Scene

pytestmark = pytest.mark.smoke

ACTIONS = scan(actions, os.environ.get("WATERLINE_ACTIONS", "").split())
TASKS = frozenset(find_tasks(spark_tasks))


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """One table for all: proposing changes nothing."""
    made = Scene.made_in(tmp_path_factory.mktemp("healthy"))
    yield made
    made.catalog.close()
    made.record.close()


@pytest.mark.parametrize("name", ACTIONS)
def test_it_declares_itself_in_sentences_and_by_evidence_that_exists(name: str) -> None:
    """A button, a promise, and tasks by which it is proposed and proven."""
    action = ACTIONS[name].action

    assert action.title[0].isupper()
    assert not action.title.endswith(".")
    assert action.promise.endswith(".")
    assert {*action.needs, *action.looks, *(task for task, _ in (*action.proofs, *action.proofs_of_start))} <= TASKS
    assert set(action.looks) <= set(action.needs)


@pytest.mark.parametrize("name", ACTIONS)
def test_on_a_healthy_table_it_proposes_something_whole_or_says_why_not(healthy: Scene, name: str) -> None:
    """A refusal in three parts; or a proposal whose requirements hold, which is told and can be undone in words."""
    plan, head = healthy.plan(), healthy.table.head

    answer = _asked(name, plan)

    if isinstance(answer, Proposal):
        _whole(answer)
        must_be_destructive(answer, ACTIONS[name].action)
        assert answer.action == name
        check_all(answer.requirements, World(table=healthy.table, jobs=healthy.observer.jobs))
    else:
        assert answer.happened.endswith(".")
        assert answer.remedy.endswith(".")
    assert healthy.table.head == head
    assert healthy.calls == [], "proposing asks, and does nothing"


def _asked(name: str, plan: Plan) -> Proposal | Refused | CouldNotLook:
    try:
        return completed(ACTIONS[name].propose(plan), plan)
    except (Refused, CouldNotLook) as refusal:
        return refusal


def _whole(proposal: Proposal) -> None:
    assert proposal.effects
    assert all(type(effect) in KINDS for effect in proposal.effects)
    assert all(sentence.endswith((".", ":")) for sentence in proposal.preview.sentences)
    assert proposal.preview.sentences
    assert proposal.preview.sure.endswith(".")
    assert proposal.undo.endswith(".")
    assert Proposal.model_validate_json(proposal.model_dump_json()).digest == proposal.digest
