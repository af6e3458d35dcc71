"""Whatever two executors find and people say, in any order and as late as may be: nothing is done twice, or after the
end."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bot.domain.approval_refusals import NotAllowed
from bot.domain.deciding import Act, Approve, Begin, Reject, Tick, Veto
from bot.domain.entries import Body, EffectEnded, EffectStarted, ExecutionEnded, OutcomeSettled
from bot.domain.execution import AT_WORK, MOVES, ProposalState
from bot.domain.fold import fold
from bot.domain.ids import IncidentId, UserId
from bot.domain.incident import Incident
from bot.domain.settling import LEFT_TO_PEOPLE, Settle
from bot.service.executing import ExecutionRecord, Turn
from tests.approval.desk import ANA, BEN, EVERYONE, ID, POLICY, Desk

GROUP = "S0STREAM01"
POLICY_OF_TWO = POLICY.model_copy(update={"users": (BEN,), "groups": (GROUP,)})
SOMEBODY = st.sampled_from(EVERYONE)
TWO = st.sampled_from(["one", "other"])
"""Two executors, of which one may not know that it has lost its turn."""


class DeskStore:
    """What an execution needs of the store of incidents, over the entries on a desk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def write(self, _incident: IncidentId, *, by: str, decide: Callable[[Incident], Sequence[Body]]) -> Incident:
        """See `IncidentStore`."""
        for body in decide(fold(self._desk.entries)):
            self._desk.writes(body, by=by)
        return fold(self._desk.entries)


class ExecutionMachine(RuleBasedStateMachine):
    """Turns are taken, kept for any time, and played when nobody expects it."""

    @initialize(owners=st.sets(SOMEBODY))
    def begun(self, owners: set[UserId]) -> None:
        """Ana has proposed it, Ben has approved it, and it was begun."""
        self.desk = Desk(policy=POLICY_OF_TWO, groups={GROUP: owners})
        self.turns: dict[str, Turn] = {}
        self.folded, self.state_before = len(self.desk.entries), self.desk.state
        self.desk.does(Approve(digest=self.desk.proposal.digest), BEN)
        self.desk.does(Begin(), BEN)
        assert self.desk.state is ProposalState.EXECUTING

    @precondition(lambda self: not MOVES[self.desk.state])
    @rule(owners=st.sets(SOMEBODY))
    def begun_anew(self, owners: set[UserId]) -> None:
        """What is over is looked at no longer."""
        self.begun(owners)

    @rule(owners=st.sets(SOMEBODY))
    def somebody_changes_the_group(self, owners: set[UserId]) -> None:
        """An administrator of the workspace."""
        self.desk.groups[GROUP] = owners

    @rule(by=SOMEBODY, act=st.sampled_from([Reject(reason="No."), Veto(reason="No."), Begin(), Tick()]))
    def nobody_stops_or_begins_it_any_more(self, by: UserId, act: Act) -> None:
        """It is too late for a no, and for a second beginning."""
        assert isinstance(self.desk.does(act, by), NotAllowed)

    @property
    def record(self) -> ExecutionRecord:
        """The one way by which executors write."""
        return ExecutionRecord(DeskStore(self.desk))  # type: ignore[arg-type]

    @precondition(lambda self: self.desk.state in AT_WORK and self.desk.view.next_effect is not None)
    @rule(who=TWO)
    def an_executor_reads_the_record(self, who: str) -> None:
        """At the start, or every few seconds."""
        view = self.desk.view
        index = view.next_effect
        assert index is not None
        self.turns[who] = Turn(ID, view, index, view.intents.get(index, 0))

    @precondition(lambda self: self.turns)
    @rule(who=TWO)
    def an_executor_says_what_it_will_do(self, who: str) -> None:
        """Nothing is done without; and not where another one has said so since it read."""
        turn = self.turns.get(who)
        if turn is None:
            return
        known = self.desk.view.intents.get(turn.index, 0)
        if self.record.intends(turn, EffectStarted(proposal=turn.view.proposal.id, index=turn.index)):
            assert known == turn.intents
            self.turns[who] = replace(turn, intents=turn.intents + 1)

    @precondition(lambda self: self.desk.state in AT_WORK and self.desk.view.next_effect is not None)
    @rule(who=TWO)
    def an_executor_takes_it_up(self, who: str) -> None:
        """Reads, and says what it will do; whether the other one is at it or not."""
        self.an_executor_reads_the_record(who)
        self.an_executor_says_what_it_will_do(who)

    @precondition(lambda self: self.turns)
    @rule(who=TWO, how=st.sampled_from(["done", "done", "refused", "unknown"]))
    def an_executor_says_what_became_of_it(self, who: str, how: str) -> None:
        """Perhaps much too late."""
        turn = self.turns.get(who)
        if turn is None or turn.intents == 0:
            return
        before = self.desk.view
        says: dict[str, Callable[..., bool]] = {"done": self.record.done, "refused": self.record.refused}
        written = says[how](turn, "So it was.", {}) if how in says else self.record.unknown(turn, "Nobody knows.")
        if written:
            assert before.state in AT_WORK
            assert before.next_effect == turn.index
            assert how == "done" or before.intents[turn.index] == turn.intents

    @precondition(lambda self: self.desk.state in AT_WORK)
    @rule()
    def an_executor_finds_all_done(self) -> None:
        """Only then it has ended."""
        all_done = self.desk.view.next_effect is None
        assert self.record.applied(ID, self.desk.view) == all_done

    @precondition(lambda self: self.desk.state in AT_WORK)
    @rule(how=st.sampled_from(["done", "unknown"]))
    def an_executor_comes_to_the_end_of_an_effect(self, how: str) -> None:
        """What mostly happens."""
        if self.desk.view.next_effect is None:
            self.an_executor_finds_all_done()
            return
        self.an_executor_reads_the_record("one")
        self.an_executor_says_what_it_will_do("one")
        self.an_executor_says_what_became_of_it("one", how)

    @rule(happened=st.booleans())
    def an_approver_settles_it(self, happened: bool) -> None:
        """What mostly happens."""
        self.somebody_settles_it(BEN, self.desk.view.next_effect or 0, happened, "I looked.")

    @precondition(lambda self: self.desk.state is ProposalState.UNKNOWN)
    @rule(
        by=st.sampled_from([ANA, BEN, *EVERYONE]),
        index=st.integers(0, 2),
        happened=st.booleans(),
        reason=st.sampled_from([" ", "I looked.", "I looked twice."]),
    )
    def somebody_settles_it(self, by: UserId, index: int, happened: bool, reason: str) -> None:
        """Only what is not known, by an approver, with a reason; never by the proposer."""
        view = self.desk.view
        decided = self.desk.does(Settle(index=index, happened=happened, reason=reason), by)
        if not isinstance(decided, OutcomeSettled):
            assert isinstance(decided, NotAllowed)
            return
        assert view.state is ProposalState.UNKNOWN
        assert index == view.next_effect
        assert view.done[index].how == "unknown"
        assert by != ANA
        assert by == BEN or by in self.desk.groups[GROUP]
        assert reason.strip()
        assert not happened or view.proposal.effects[index].kind in LEFT_TO_PEOPLE

    @invariant()
    def each_entry_is_a_move_that_the_table_allows(self) -> None:
        """Also where one act writes two."""
        for length in range(self.folded + 1, len(self.desk.entries) + 1):
            state = next(iter(fold(self.desk.entries[:length]).proposals.values())).state
            assert state is self.state_before or state in MOVES[self.state_before]
            self.state_before = state
        self.folded = len(self.desk.entries)

    @invariant()
    def each_effect_is_done_once_and_in_turn(self) -> None:
        """And nothing of it follows the end of the execution."""
        done: list[int] = []
        is_over = False
        for body in (entry.body for entry in self.desk.entries):
            match body:
                case EffectStarted() | EffectEnded() | ExecutionEnded() | OutcomeSettled() if is_over:
                    raise AssertionError(f"{body} after the end")
                case EffectEnded(how="done", index=index) | OutcomeSettled(happened=True, index=index):
                    done.append(index)
                case ExecutionEnded(outcome="applied" | "refused"):
                    is_over = True
                case OutcomeSettled(happened=False):
                    is_over = True
                case _:
                    pass
        assert done == list(range(len(done)))
        view = self.desk.view
        assert view.state is not ProposalState.APPLIED or len(done) == len(view.proposal.effects)
        if view.state is ProposalState.UNKNOWN:
            assert view.next_effect is not None
            assert view.done[view.next_effect].how == "unknown"


TestExecutionSequences = ExecutionMachine.TestCase
TestExecutionSequences.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
