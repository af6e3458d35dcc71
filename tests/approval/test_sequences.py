"""Any sequence of clicks, by anybody, at any time, with groups that change: nobody gets past the rule."""

from datetime import timedelta
from itertools import product

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bot.domain.approval import ApprovalPolicy, GlassRule, People, VetoRule
from bot.domain.approval_refusals import NotAllowed
from bot.domain.deciding import Approve, Begin, BreakGlass, Reject, Supersede, Tick, Veto
from bot.domain.entries import ExecutionStarted, GlassBroken, ProposalApproved, ProposalEnded
from bot.domain.execution import MOVES, ProposalState
from bot.domain.ids import UserId
from bot.domain.journal import WATERLINE
from tests.approval.desk import ANA, EVERYONE, OWNERS, Desk

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
    remind_every=st.sampled_from([timedelta(0), timedelta(minutes=10)]),
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
