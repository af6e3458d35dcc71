"""Makes proposals, and ends those whose world has moved.

What a proposal has to look at that no evidence tells: files of the table, rows of the source, tables of the job.

Where an incident's rehearsal stands: a repair on a branch waits to be proven, published or given up.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial

from ulid import ULID

from bot.actions import _effects as effects
from bot.actions._support.completing import ActionModule, completed, must_be_destructive
from bot.actions._support.passed import may_have_come_since
from bot.actions._support.requirements import check_all
from bot.incident.action import Past, Plan
from bot.incident.approval import ApprovalPolicy
from bot.incident.decisions import NotAllowed, Supersede, decide
from bot.incident.entries import Body, ProposalMade
from bot.incident.execution import UNDECIDED, ProposalState, ProposalView
from bot.incident.incident import Incident
from bot.incident.journal import WATERLINE
from bot.incident.proposal import UNDO, Proposal
from bot.incident.runbook import ASKED_FOR
from bot.incident.savepoints import beside_the_authoritative
from bot.incident.setup import TableSetup
from bot.incident.staged_repairs import begun, is_proven, left_by_stop, rehearsal_of, stood_still
from bot.observation.errors import Refused, Superseded, WaterlineError
from bot.observation.file_changes import FileSources, FileSurvey
from bot.observation.findings import ExtraCopiesFinding
from bot.observation.ids import IncidentId, ProposalId, StepId, UserId
from bot.observation.replay import ReplayRange, ReplayRecipe, SourceSurvey
from bot.observation.table import TableState
from bot.ports import Clock
from bot.service.diagnosing import Diagnostician
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer, siblings_of
from bot.service.proposals.choosing import (
    action_meant,
    may_say,
    newest_that_did_anything,
    past_of,
    told_what_comes_first,
    why_it_is_proposed,
)
from bot.service.proposals.rules import (
    actions_behind,
    evidence_is_fresh,
    must_be_free,
    must_end_no_repair,
    must_still_be_diagnosed,
)
from bot.service.runbook_steps import not_possible

PUBLISH = "publish_repair"
_PASSED_BY = {ProposalState.EXPIRED, ProposalState.SUPERSEDED}
"""Time or the world has ended it, and no person."""


def proven_rehearsal(incident: Incident) -> ProposalView | None:
    """The rehearsal that can be published: carried out and proven on its branch."""
    view = rehearsal_of(incident)
    return view if view is not None and is_proven(view) else None


def branches_begun(incident: Incident) -> frozenset[str]:
    """Names of the branches on which repairs were rehearsed, also where they are gone by now."""
    views = incident.proposals.values()
    branches = (view.proposal.rehearses_on for view in views if view.execution_started_at is not None)
    return frozenset(branch for branch in branches if branch is not None)


def offered_before(incident: Incident, rehearsal: ProposalView) -> bool:
    """Whether its publication has been proposed, and waits, was decided by people, or was carried out. One that expired
    or was superseded is offered again: the job stands still until then."""
    return any(
        view.proposal.action == PUBLISH
        and view.proposal.proposed_at >= rehearsal.proposal.proposed_at
        and view.state not in _PASSED_BY
        for view in incident.proposals.values()
    )


def next_action(incident: Incident, name: str, known: Iterable[str]) -> str:
    """The action that a click on “Propose” means: of a repair that is proven on its branch, its publication."""
    view = proven_rehearsal(incident)
    if view is not None and PUBLISH in known and name in {ASKED_FOR, view.proposal.action}:
        return PUBLISH
    return name


def past_of_rehearsal(incident: Incident) -> Past | None:
    """What the open rehearsal did, as the journal tells."""
    view = next((view for view, is_open in begun(incident) if is_open), None)
    if view is None:
        return None
    return Past(
        proposal=view.proposal,
        started={index: view.started[index] for index in view.applied},
        results={index: ended.result for index, ended in view.applied.items()},
        verified=view.verified,
        stood_still=stood_still(incident, view),
    )


def survey_of_files(
    observer: Observer, setup: TableSetup, add: FileSources | None, remove: FileSources | None
) -> FileSurvey:
    """Of main, with the bounds of what the contract names and does not hide. Raises CouldNotLook."""
    contract = setup.contract
    told = (contract.position, contract.event_time)
    columns = [name for name in told if name is not None and not contract.hides(name)]
    return observer.catalog.survey_files(setup.name, "main", add=add, remove=remove, columns=columns)


def survey_of_source(
    observer: Observer, setup: TableSetup, table: TableState, recipe: ReplayRecipe, bounds: ReplayRange
) -> SourceSurvey:
    """What a replay within these bounds would find in the source, and in the table. Raises CouldNotLook."""
    return observer.clients.replays.survey(table, recipe, bounds, setup.contract, setup.copies)


def declaration_of(observer: Observer, job: str) -> str | None:
    """Of what a start of `job` submits now; None where the job is not configured. Raises CouldNotLook."""
    ports = observer.jobs.get(job)
    return None if ports is None else ports.flink.declaration(job)


@dataclass(eq=False)
class Proposals:
    """Propose, check again, supersede. Decisions are `bot.service.proposals.approving`."""

    _store: IncidentStore
    _observer: Observer
    _diagnostician: Diagnostician
    _actions: Mapping[str, ActionModule]
    _clock: Clock
    collect: Callable[[IncidentId, str], object] = lambda _incident, _task: None
    """For evidence that an action needs and nobody has asked for; it returns when the answer is in the journal."""
    who_is_gone: Callable[[ApprovalPolicy, UserId], str] = lambda _policy, _proposer: ""
    """Sentences about approvers who are not there any more, or nothing."""

    def undo(self, incident_id: IncidentId, proposal: ProposalId | None, reason: str, *, by: UserId) -> ProposalId:
        """Propose to undo what a proposal has done; the newest that did anything where none is named."""
        named = proposal or newest_that_did_anything(self._store.get(incident_id))
        return self.propose(incident_id, UNDO, step=None, by=by, reason=reason, undoes=named)

    def propose(
        self,
        incident_id: IncidentId,
        action: str,
        *,
        step: StepId | None,
        by: UserId,
        reason: str = "",
        undoes: ProposalId | None = None,
        keeps: str = "",
        bounds: Mapping[str, str] | None = None,
        drops_others: bool = False,
    ) -> ProposalId:
        """Propose an action, or with `diagnosis.remedy` the one that the diagnosis asks for. Where nothing right can be
        proposed, the step is done with that. `keeps`: the first digits of the run that is to stay; `bounds`: within
        which a replay stays, as they were typed; `drops_others`: rows of other writers may go. Raises Refused (with
        what is missing), Superseded, CouldNotLook; what they say shows no value of a hidden column."""
        with self._veiled(incident_id):
            incident = self._store.get(incident_id)
            must_be_free(incident)
            try:
                module = action_meant(incident, next_action(incident, action, self._actions), self._actions)
                may_say(module, keeps=keeps, bounds=bounds or {}, drops_others=drops_others)
                incident = self._with_needed(incident, module)
            except Refused as error:
                not_possible(self._store, incident_id, step, error)
                raise
            observation = self._observer.observe(incident.opened.table, window=incident.window)
            case = self._diagnostician.case(incident, observation)
            evidence_is_fresh(incident, case, module)
            mode, match = why_it_is_proposed(incident, module, reason, observation.table)
            setup = self._observer.setup(incident.opened.table)
            past = past_of(incident, undoes, self._observer.jobs) if undoes else None
            rehearsed = past_of_rehearsal(incident)
            follows = actions_behind(rehearsed if module.action.name == PUBLISH else past)
            policy = setup.policy_for(
                module.action.name,
                incident.severity,
                is_destructive=module.action.is_destructive,
                proposer=by,
                follows=follows,
            )
            plan = Plan(
                incident=incident_id,
                proposal=ProposalId(str(ULID())),
                case=case,
                mode=mode,
                match=match,
                evidence=tuple(item.id for item in case.evidence),
                policy=policy,
                by=by,
                at=self._clock.now(),
                undoes=past,
                rehearsed=rehearsed,
                stood_still=left_by_stop(incident, setup.job),
                branches=branches_begun(incident),
                survey=partial(survey_of_files, self._observer, setup),
                keeps_branch=setup.keep_repair_branch,
                planned=incident.plan,
                keeps=keeps,
                replay=setup.replay,
                bounds=bounds or {},
                drops_others=drops_others,
                source=partial(survey_of_source, self._observer, setup, observation.table),
                expired=self._observer.catalog.expired,
                declaration=partial(declaration_of, self._observer),
                siblings=partial(siblings_of, self._observer, setup, observation),
            )
            try:
                proposal = told_what_comes_first(completed(module.propose(plan), plan), incident, match, self._actions)
                proposal = proposal.model_copy(update={"follows": follows})
                proposal = beside_the_authoritative(proposal, self._store.all(), observation.table, plan.at)
                must_be_destructive(proposal, module.action)
                must_end_no_repair(proposal, incident_id, self._store.every())
            except Refused as error:
                not_possible(self._store, incident_id, step, error)
                raise
            self._check(proposal, incident)
            gone = self.who_is_gone(policy, by)

            def made(now: Incident) -> list[Body]:
                must_be_free(now)
                return [ProposalMade(step=step, proposal=proposal, gone=gone)]

            self._store.write(incident_id, by=by, decide=made)
            return proposal.id

    @contextmanager
    def _veiled(self, incident_id: IncidentId) -> Iterator[None]:
        """What is raised within shows no value of a hidden column."""
        try:
            yield
        except WaterlineError as error:
            setup = self._observer.tables.get(self._store.get(incident_id).opened.table)
            if setup is not None:
                error.veil(setup.contract.veiled)
            raise

    def _with_needed(self, incident: Incident, module: ActionModule) -> Incident:
        """The incident with the evidence that the action needs. Raises Refused where it gave no answer."""
        for task in to_look_at(incident, module.action.needs, self._observer, self._diagnostician):
            self.collect(incident.id, task)
        return self._store.get(incident.id)

    def supersede_if_moved(self, incident_id: IncidentId) -> None:
        """End a proposal that waits while its world or its diagnosis has moved: nobody decides about a past state.
        Raises CouldNotLook; then nothing is known and nothing is ended."""
        incident = self._store.get(incident_id)
        for view in incident.proposals.values():
            if view.state in UNDECIDED:
                try:
                    self._check(view.proposal, incident)
                except Superseded as error:
                    self.supersede(incident_id, view.proposal.id, str(error))

    def supersede(self, incident_id: IncidentId, proposal_id: ProposalId, reason: str) -> None:
        """The world has moved: it can no longer be approved or executed."""

        def ended(now: Incident) -> list[Body]:
            view = now.proposals[proposal_id]
            with suppress(NotAllowed):
                return [decide(view, Supersede(reason=reason), by=WATERLINE, at=self._clock.now())]
            return []

        self._store.write(incident_id, by=WATERLINE, decide=ended)

    def must_still_hold(self, incident_id: IncidentId, proposal_id: ProposalId) -> None:
        """Raises Superseded (and then it is) where a requirement or its diagnosis holds no more; CouldNotLook."""
        incident = self._store.get(incident_id)
        view = incident.proposals[proposal_id]
        try:
            self._check(view.proposal, incident)
        except Superseded as error:
            self.supersede(incident_id, view.proposal.id, str(error))
            raise

    def must_be_unknown(self, incident_id: IncidentId, proposal_id: ProposalId, index: int) -> None:
        """Raises Refused where the world tells by now whether effect `index` happened: that counts more than a word."""
        view = self._store.get(incident_id).proposal(proposal_id)
        looked = effects.verify(self._observer.clients, view.proposal, view.started[index])
        if looked.happened != "unknown":
            happened = "happened" if looked.happened == "yes" else "did not happen"
            raise Refused(
                f"Waterline now knows that step {index + 1} {happened}.",
                looked.sentence,
                "You need not settle anything. The execution continues; follow it in the proposal's thread.",
            )

    def _check(self, proposal: Proposal, incident: Incident) -> None:
        self._observer.setup(incident.opened.table)
        must_still_be_diagnosed(incident, proposal)
        check_all(proposal.requirements, self._observer.clients.world(incident.opened.table))


def to_look_at(
    incident: Incident, tasks: Sequence[str], observer: Observer, diagnostician: Diagnostician
) -> Iterator[str]:
    """Those of `tasks` that have no answer and do not run, and extra copies where the job may have brought further ones
    since: that costs one more look at the world. What a proposal itself asked for runs no more if that was cut off.
    Raises CouldNotLook."""
    running = {
        run.task
        for run in incident.runs.values()
        if run.is_running and run.branch is None and (run.by != WATERLINE or run.step is not None or run.is_first_look)
    }
    for task in tasks:
        run = incident.latest.get(task)
        known = run.evidence if run is not None else None
        if known is None:
            yield from [task] if task not in running else []
        elif isinstance(known.finding, ExtraCopiesFinding):
            world = observer.observe(incident.opened.table, window=incident.window)
            if may_have_come_since(diagnostician.case(incident, world), known.head):
                yield task
