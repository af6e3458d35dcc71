"""One entry of the journal -> one plain sentence. People are written `<@U…>`, as Slack mentions them."""

from typing import assert_never

from bot.incident import entries as e
from bot.incident.approval import ids_mentioned
from bot.incident.effects import savepoint_sentence
from bot.incident.journal import Entry
from bot.observation.evidence import Verdict
from bot.observation.ids import short, short_job
from bot.observation.readers import WAYS, shown_of
from bot.observation.sentences import counted, full_stop, visible

_SAID = {"acknowledged": "has seen it", "re-ran": "has run again", "needs-help": "asks for help"}


def sentence(entry: Entry) -> str:
    """What this entry says, for a reader who was not there, on one line. Who and when stand beside it."""
    return visible(_sentence(entry.body))


def _sentence(body: e.Body) -> str:  # noqa: C901 - one case a kind, nothing nested
    match body:
        case e.IncidentOpened():
            noticed = f" Noticed: {full_stop(body.summary)}" if body.summary else ""
            trusted = f"trusted up to {short(body.trusted)}" if body.trusted else "no snapshot is trusted"
            return (
                f"Opened for {body.table} as {body.severity} with the runbook “{body.runbook.title}”; "
                f"{trusted}, head {short(body.window.until)}.{noticed}"
            )
        case e.ResponderAssigned():
            return f"<@{body.user}> is the responder. {full_stop(body.note)}".strip()
        case e.NoteAdded():
            return full_stop(body.text)
        case e.PromiseReminded():
            return _reminded(body)
        case e.WaterlineMoved(status="under-review", snapshot=None):
            return "The table is marked as under review; no snapshot is known to be right."
        case e.WaterlineMoved(status="under-review"):
            return f"The table is marked as under review; the waterline is at {short(body.snapshot)}."
        case e.WaterlineMoved():
            return f"The waterline moved to {short(body.snapshot)}; the table is trusted."
        case e.MaintenanceMarked():
            return full_stop(body.sentence)
        case e.NoticesPreviewed():
            told = ", ".join(notice.consumer for notice in body.notices)
            return f"Previewed the notice “{_words(body.notices[0].kind)}” for {told}."
        case e.ReviewOpened():
            broken = sum(1 for finding in body.findings if finding.holds is False)
            return f"Contract review opened: {counted(len(body.findings), 'term')} looked at, {broken} did not hold."
        case e.FindingAssigned():
            return f"<@{body.owner}> owns the review item “{_bare(body.term)}” until {body.due:%Y-%m-%d}."
        case e.FindingSettled():
            return f"The review item “{_bare(body.term)}” is {body.how}: {full_stop(body.reason)}"
        case e.SavepointPlanned() | e.SavepointReleasing() | e.SavepointReleased():
            return savepoint_sentence(body)
        case e.IncidentClosed():
            return f"Closed: {full_stop(body.reason)}"
        case e.RunbookChanged():
            return f"The runbook is now “{body.runbook.title}”."
        case e.EvidenceStopped():
            return "The runbook's evidence was stopped." if body.stopped else "The runbook's evidence was run."
        case e.EvidenceRequested():
            return f"Evidence requested: {_words(body.task)}."
        case e.EvidenceRecorded():
            evidence = body.evidence
            blind = "could not check. " if evidence.verdict is Verdict.INCONCLUSIVE else ""
            return f"{_words(evidence.task).capitalize()}: {blind}{full_stop(evidence.headline)}"
        case e.EvidenceEnded():
            how = "failed" if body.how == "failed" else "was cancelled"
            return f"The evidence run {how}: {full_stop(body.message)}"
        case e.EvidenceRunAgain():
            return f"Spark stopped during the evidence run. Waterline runs it again: {full_stop(body.message)}"
        case e.DiagnosisRequested():
            return "Diagnosis requested."
        case e.DiagnosisEnded():
            return _looked_again(body)
        case e.Diagnosed():
            return _diagnosed(body)
        case e.PlanDeclared(planned=planned):
            return f"{planned.code} was planned ({planned.what}): {full_stop(planned.reason)}"
        case e.PlanWithdrawn():
            return f"{body.code} was not planned after all: {full_stop(body.reason)}"
        case e.StepDone():
            return f"Step “{body.step}” is done ({body.key}): {full_stop(body.why)}"
        case e.StepSkipped():
            return f"Step “{body.step}” was skipped: {full_stop(body.reason)}"
        case e.ProposalApproved():
            more = "The proposal is approved." if body.complete else "Another approval is needed."
            if body.held_until is not None:
                more = f"The proposal is approved; the veto window ends at {body.held_until:%H:%M} UTC."
            return f"Approved{body.approval.where}, as shown under digest {body.approval.digest[:12]}. {more}"
        case e.GlassBroken():
            alone = f"Emergency approval{body.approval.where}: approved alone."
            return f"{alone} {full_stop(body.reason)} Owners: {ids_mentioned(body.owners)}."
        case e.VetoTimeEnded():
            return "Nobody vetoed the proposal in time. It can run now."
        case e.ApprovalReminded():
            return f"No decision yet: approvers were reminded for the {_ordinal(body.number)} time."
        case e.OutcomeSettled():
            said = "happened; the execution continues" if body.happened else "did not happen; the execution ends"
            return f"Settled{body.where}: step {body.index + 1} of the execution {said}. {full_stop(body.reason)}"
        case e.ProposalEnded():
            return f"The proposal is {body.how}{body.where}: {full_stop(body.reason)}"
        case e.ProposalMade():
            return f"Proposed: {body.proposal.title} (digest {body.proposal.digest[:12]}). {body.gone}".rstrip()
        case e.ExecutionStarted():
            return "Execution of the approved proposal began."
        case e.EffectStarted():
            head = f", expecting head {short(body.expected_head)}" if body.expected_head else ""
            job = f", as run {short_job(body.job_id)}" if body.job_id else ""
            return f"Step {body.index + 1} of the execution starts{head}{job}."
        case e.EffectEnded():
            return f"Step {body.index + 1} of the execution: {body.how}. {full_stop(body.detail)}"
        case e.ExecutionEnded():
            return f"The execution ended: {body.outcome}. {full_stop(body.sentence)}"
        case e.VerificationRequested():
            return "Verification requested again."
        case e.Verified():
            passed = sum(1 for check in body.checks if check.passed)
            found = "passed" if body.passed else "did not pass"
            return f"Verification {found}: {passed} of {len(body.checks)} checks hold at head {short(body.head)}."
        case e.NoticeQueued():
            return f"Notice “{_words(body.notice.kind)}” for {body.notice.consumer} is on its way."
        case e.DeliveryTried():
            again = "" if body.number == 1 else f", try {body.number}"
            return f"{_notice(body.key)} is being sent {_way(body.to)}{again}."
        case e.DeliveryDelayed() if _is_slack(body.to):
            asked = f" <@{body.asks}>, please call them if they must know now." if body.asks else ""
            return f"{_notice(body.key)} waits until the bot may post it. {full_stop(body.problem)}{asked}"
        case e.DeliveryDelayed():
            return (
                f"{_notice(body.key)} did not arrive {_way(body.to)}: {full_stop(body.problem)} "
                f"Next try at {body.again_at:%H:%M} UTC."
            )
        case e.NoticeEnded(how="delivered"):
            return f"{_notice(body.key)} was delivered{'' if _is_slack(body.to) else f' {_way(body.to)}'}."
        case e.NoticeEnded(how="overtaken"):
            asked = f" <@{body.asks}>, please look." if body.asks else ""
            return f"{_notice(body.key)} is not sent {_way(body.to)}: {full_stop(body.detail)}{asked}"
        case e.NoticeEnded():
            asked = f" <@{body.asks}>, please call them." if body.asks else " Somebody must call them."
            return f"{_notice(body.key)} could not be delivered {_way(body.to)}: {full_stop(body.detail)}{asked}"
        case e.NoticeRetried():
            return f"{_notice(body.key)} is sent again {_way(body.to)}, with the same text."
        case e.NoticeAnswered():
            asked = f" <@{body.asks}>, please look." if body.asks else ""
            said = f": {full_stop(body.text)}" if body.text else "."
            return f"Consumer {_consumer(body.key)} {_SAID[body.answer]}{said}{asked}"
        case e.LateRunsSeen():
            asked = f" <@{body.asks}>, please send a correction from the card." if body.asks else ""
            runs = ", ".join(body.runs)
            return f"Lineage now shows that {body.consumer} read wrong rows: {full_stop(runs)}{asked}"
        case e.CorrectionDeclined():
            return f"No correction is sent to {', '.join(body.consumers)}: {full_stop(body.reason)}"
        case e.ReadersNoted():
            return _readers(body)
        case e.SeverityChanged():
            return f"The severity changed from {body.before} to {body.severity}. {full_stop(body.reason)}".strip()
        case e.NoticesHeld():
            return f"Asked for a second person to send the notices {body.name}."
        case _:
            assert_never(body)


def _readers(body: e.ReadersNoted) -> str:
    strangers = [each.consumer for each in body.observed if not each.is_declared]
    seen = f"Seen reading the affected rows: {counted(len(body.observed), 'consumer')}"
    told = f", of them not declared: {', '.join(strangers)}" if strangers else ""
    rest = f" Others may have read it unobserved: {full_stop(body.unknown)}" if body.unknown else ""
    names = ", ".join(f"{each.name} ({each.why})" for each in body.untold)
    untold = f" Cannot be notified: {names}." if names else ""
    return f"{seen}{told}.{rest}{untold}"


def _notice(key: str) -> str:
    _incident, kind, *consumer, _revision = key.split("/")
    return f"Notice “{_words(kind)}” for {'/'.join(consumer)}"


def _consumer(key: str) -> str:
    return key.split("/", 2)[2].rsplit("/", 1)[0]


def _is_slack(to: str) -> bool:
    return not to or to.startswith("slack:")


def _way(to: str) -> str:
    by, _, address = to.partition(":")
    return f"{WAYS[by]} ({shown_of(by, address)})" if by in WAYS else "in Slack"


def _reminded(body: e.PromiseReminded) -> str:
    """For a reader who was not there; who and when stand beside it."""
    match body:
        case e.PromiseReminded(what="review"):
            return f"{_people(body)} reminded: {len(body.terms)} review items are due on {body.due:%Y-%m-%d}."
        case e.PromiseReminded(what="unfreeze"):
            return f"{_people(body)} asked whether maintenance, frozen since {body.due:%Y-%m-%d %H:%M} UTC, can resume."
        case e.PromiseReminded(what="planned-end"):
            return f"{_people(body)} asked whether planned work is over: consumers wait for its end."
        case e.PromiseReminded(what="standing-job"):
            return f"{_people(body)} asked how to continue the repair; its job is stopped since {body.due:%H:%M} UTC."
        case _:
            return f"{_people(body)} reminded: the next update to consumers is due at {body.due:%H:%M} UTC."


def _people(body: e.PromiseReminded) -> str:
    named = ", ".join(f"<@{user}>" for user in body.people)
    return f"{named} {'was' if len(body.people) == 1 else 'were'}"


def _looked_again(body: e.DiagnosisEnded) -> str:
    match body.how:
        case "new":
            return "Checked again: the diagnosis is new."
        case "same":
            return "Checked again: the diagnosis is unchanged."
        case "failed":
            return f"No diagnosis could be made: {full_stop(body.message)}"


def _diagnosed(body: e.Diagnosed) -> str:
    diagnosis = body.diagnosis
    matches = "; ".join(f"{mode.code}, {_bare(match.headline)}" for mode, match in diagnosis.matches)
    undecided = ", ".join(mode.code for mode, _ in diagnosis.undecided)
    parts = [f"Diagnosis: {matches or 'no failure mode matches'}", f"{len(diagnosis.excluded)} excluded"]
    return "; ".join([*parts, *([f"cannot tell: {undecided}"] if undecided else [])]) + "."


def _ordinal(number: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")


def _bare(text: str) -> str:
    return text.strip().rstrip(".")


def _words(name: str) -> str:
    return name.replace("_", " ")
