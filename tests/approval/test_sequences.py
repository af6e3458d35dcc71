"""Any sequence of clicks and executions, by many people and replicas at once: nobody gets past the rule."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import product

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bot.incident.approval import ApprovalPolicy, GlassRule, People, VetoRule
from bot.incident.decisions import (
    LEFT_TO_PEOPLE,
    Act,
    Approve,
    Begin,
    BreakGlass,
    NotAllowed,
    Reject,
    ResolveUnknown,
    Supersede,
    Tick,
    Veto,
)
from bot.incident.entries import (
    Body,
    EffectEnded,
    EffectStarted,
    ExecutionEnded,
    ExecutionStarted,
    GlassBroken,
    OutcomeSettled,
    ProposalApproved,
    ProposalEnded,
)
from bot.incident.execution import AT_WORK, ProposalState
from bot.incident.incident import Incident, fold
from bot.incident.journal import WATERLINE
from bot.observation.ids import IncidentId, UserId
from bot.service.incident_store import IncidentStore
from bot.service.proposals.executing import EffectExecution, ExecutionRecord
from tests.approval.desk import ANA, BEN, EVERYONE, ID, MOVES, OWNERS, POLICY, Desk

GROUPS = ("S0STREAM01", "S0LAKE0001", "S0VETO0001", "S0GLASS001")
SOMEBODY = st.sampled_from(EVERYONE)
SOME = st.lists(SOMEBODY, unique=True, max_size=3).map(tuple)
SOME_GROUPS = st.lists(st.sampled_from(GROUPS), unique=True, max_size=2).map(tuple)
PEOPLE = st.builds(People, users=SOME, groups=SOME_GROUPS)
POLICIES = st.builds(
    ApprovalPolicy,
    users=SOME,
    groups=SOME_GROUPS,
    teams=st.dictionaries(st.sampled_from(["streaming", "lakehouse", "finance"]), PEOPLE, max_size=3),
    required=st.integers(1, 3),
    different_teams=st.sampled_from([None, 1, 2]),
    expires_after=st.just(timedelta(minutes=30)),
    reminder_interval=st.sampled_from([timedelta(0), timedelta(minutes=10)]),
    veto=st.none()
    | st.builds(VetoRule, users=SOME, groups=SOME_GROUPS, hold=st.sampled_from([timedelta(0), timedelta(minutes=5)])),
    break_glass=st.none() | st.builds(GlassRule, users=SOME, groups=SOME_GROUPS, owners=st.just((OWNERS,))),
)
_OVER = {state for state, following in MOVES.items() if not following}


class ApprovalMachine(RuleBasedStateMachine):
    """What must hold is computed here from who is where, not from what the rule thinks of it."""

    @initialize(policy=POLICIES, members=st.fixed_dictionaries({group: st.sets(SOMEBODY) for group in GROUPS}))
    def proposed(self, policy: ApprovalPolicy, members: dict[str, set[UserId]]) -> None:
        """Ana has proposed it."""
        self.desk = Desk(groups=members)
        self._begin_with(policy)

    @precondition(lambda self: not MOVES[self.desk.state] or self.desk.state is ProposalState.EXECUTING)
    @rule(policy=POLICIES)
    def proposed_anew(self, policy: ApprovalPolicy) -> None:
        """What is over, or under way, is looked at no longer."""
        self._begin_with(policy)

    def _begin_with(self, policy: ApprovalPolicy) -> None:
        self.desk.starts_anew(policy)
        self.policy = policy
        self.previous = ProposalState.PROPOSED
        self.yes: dict[UserId, frozenset[str]] = {}
        self.alone = False

    def _is_in(self, people: People, by: UserId) -> bool:
        return by in people.users or any(by in self.desk.groups[group] for group in people.groups)

    def _teams_are_covered(self) -> bool:
        """Some choice of one team a person names as many different teams as are asked for."""
        choices = product(*(sorted(teams) or [""] for teams in self.yes.values()))
        return any(len(set(choice) - {""}) >= self.policy.teams_asked for choice in choices)

    @rule(group=st.sampled_from(GROUPS), members=st.sets(SOMEBODY))
    def somebody_changes_a_group(self, group: str, members: set[UserId]) -> None:
        """An administrator of the workspace."""
        self.desk.groups[group] = members

    @rule(minutes=st.sampled_from([1, 4, 6, 13]))
    def time_passes(self, minutes: int) -> None:
        """And the bot may not have noticed yet."""
        self.desk.after(minutes=minutes)

    @rule(which=st.integers(0, 5))
    def an_approver_approves(self, which: int) -> None:
        """What mostly happens: somebody who may, on what is shown, perhaps for the second time."""
        may = [user for user in EVERYONE if any(self._is_in(people, user) for people in self.policy.approvers)]
        if may:
            self._approves(may[which % len(may)], True, set())

    @rule(by=SOMEBODY, shown=st.booleans(), unread=st.sets(st.sampled_from(GROUPS), max_size=1))
    def anybody_approves(self, by: UserId, shown: bool, unread: set[str]) -> None:
        """On the proposal, or on a message that shows something else; Slack may not tell of a group."""
        self._approves(by, shown, unread)

    def _approves(self, by: UserId, shown: bool, unread: set[str]) -> None:
        digest = self.desk.proposal.digest if shown else "0" * 64
        before, is_over = self.desk.state, self.desk.now >= self.desk.proposal.expires_at
        decided = self.desk.does(Approve(digest=digest), by, unread=frozenset(unread))
        if not isinstance(decided, ProposalApproved):
            assert isinstance(decided, NotAllowed)
            assert decided.happened
            return
        everyone = (People(users=self.policy.users, groups=self.policy.groups), *self.policy.teams.values())
        assert shown
        assert before is ProposalState.PROPOSED
        assert not is_over
        assert by != ANA
        assert by not in self.yes
        assert any(self._is_in(people, by) for people in everyone)
        self.yes[by] = frozenset(name for name, people in self.policy.teams.items() if self._is_in(people, by))
        if decided.complete:
            assert len(self.yes) >= self.policy.required
            assert self._teams_are_covered()

    @rule(by=SOMEBODY, shown=st.booleans(), reason=st.sampled_from(["", " ", "It cannot wait."]))
    def break_the_glass(self, by: UserId, shown: bool, reason: str) -> None:
        """Alone, with a reason."""
        digest = self.desk.proposal.digest if shown else "0" * 64
        decided = self.desk.does(BreakGlass(digest=digest, reason=reason), by)
        if isinstance(decided, GlassBroken):
            glass = self.policy.break_glass
            assert glass is not None
            assert self._is_in(glass, by)
            assert by != ANA
            assert shown
            assert reason.strip()
            assert (OWNERS,) == decided.owners
            assert self.desk.now < self.desk.proposal.expires_at
            self.alone = True

    @rule(by=SOMEBODY, reason=st.sampled_from([" ", "Not now."]), is_veto=st.booleans())
    def say_no(self, by: UserId, reason: str, is_veto: bool) -> None:
        """By an approver, by the proposer, or by who has a veto; never once it was begun."""
        before = self.desk.state
        decided = self.desk.does(Veto(reason=reason) if is_veto else Reject(reason=reason), by)
        if isinstance(decided, ProposalEnded):
            everyone = (People(users=self.policy.users, groups=self.policy.groups), *self.policy.teams.values())
            asked = everyone if self.policy.veto is None or not is_veto else (self.policy.veto,)
            assert before in {ProposalState.PROPOSED, ProposalState.HELD, ProposalState.APPROVED}
            assert reason.strip()
            assert not is_veto or self.policy.veto is not None
            assert (by == ANA and not is_veto) or any(self._is_in(people, by) for people in asked)

    @rule(really=st.integers(0, 3))
    def the_world_moves(self, really: int) -> None:
        """Somebody else committed; a look mostly finds nothing."""
        if really == 0:
            self.desk.does(Supersede(reason="Spark committed."), WATERLINE)

    @rule()
    def the_bot_looks(self) -> None:
        """What is due is done, and then nothing is due."""
        for _ in range(2):
            self.desk.does(Tick(), WATERLINE)
        assert isinstance(self.desk.does(Tick(), WATERLINE), NotAllowed)

    @rule(minutes=st.sampled_from([0, 6, 30]), which=st.integers(0, 5), is_noticed=st.booleans())
    def enough_people_approve_and_somebody_executes(self, minutes: int, which: int, is_noticed: bool) -> None:
        """Ten clicks, a wait, and then whoever is there."""
        for click in range(10):
            self.an_approver_approves(click)
        self.desk.after(minutes=minutes)
        if is_noticed:
            self.desk.does(Tick(), WATERLINE)
        self.execute(EVERYONE[which])

    @rule(by=SOMEBODY)
    def execute(self, by: UserId) -> None:
        """Never without approval, after the term, a no, a veto or a supersession, nor twice."""
        view = self.desk.view
        decided = self.desk.does(Begin(), by)
        if isinstance(decided, ExecutionStarted):
            enough = len(self.yes) >= self.policy.required
            assert self.alone or (enough and self._teams_are_covered())
            assert ProposalState.APPROVED is view.state
            assert view.ended is None
            assert view.execution_started_at is None
            assert self.desk.now < view.proposal.expires_at
            assert by == ANA or by in {given.by for given in view.approvals}
            if self.policy.hold and not self.alone:
                assert self.desk.now >= max(given.at for given in view.approvals) + self.policy.hold

    @invariant()
    def what_is_over_stays_over(self) -> None:
        """The fold is at a state that the table of moves leads to, and a final state is left by nothing."""
        state = self.desk.state
        assert state is self.previous or self.previous not in _OVER
        self.previous = state


TestApprovalSequences = ApprovalMachine.TestCase
TestApprovalSequences.settings = settings(
    max_examples=150, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
GROUP = "S0STREAM01"
POLICY_OF_TWO = POLICY.model_copy(update={"users": (BEN,), "groups": (GROUP,)})
TWO = st.sampled_from(["one", "other"])
"""Two executors, of which one may not know that it has lost its turn."""


class DeskStore:
    """What an execution needs of the store of incidents, over the entries on a desk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    append_if = IncidentStore.append_if

    def write(self, _incident: IncidentId, *, by: str, decide: Callable[[Incident], Sequence[Body]]) -> Incident:
        for body in decide(fold(self._desk.entries)):
            self._desk.writes(body, by=by)
        return fold(self._desk.entries)


class ExecutionMachine(RuleBasedStateMachine):
    """Turns are taken, kept for any time, and played when nobody expects it."""

    @initialize(owners=st.sets(SOMEBODY))
    def begun(self, owners: set[UserId]) -> None:
        """Ana has proposed it, Ben has approved it, and it was begun."""
        self.desk = Desk(policy=POLICY_OF_TWO, groups={GROUP: owners})
        self.turns: dict[str, EffectExecution] = {}
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
        self.turns[who] = EffectExecution(ID, view, index, view.intents.get(index, 0))

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
        says: dict[str, Callable[[], bool]] = {
            "done": lambda: self.record.done(turn, "So it was.", {}),
            "refused": lambda: self.record.refused(turn, "It was not."),
            "unknown": lambda: self.record.unknown(turn, "Nobody knows."),
        }
        written = says[how]()
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
        if self.desk.view.next_effect is None:
            self.an_executor_finds_all_done()
            return
        self.an_executor_reads_the_record("one")
        self.an_executor_says_what_it_will_do("one")
        self.an_executor_says_what_became_of_it("one", how)

    @rule(happened=st.booleans())
    def an_approver_settles_it(self, happened: bool) -> None:
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
        decided = self.desk.does(ResolveUnknown(index=index, happened=happened, reason=reason), by)
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
