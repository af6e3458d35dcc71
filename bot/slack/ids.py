"""Names of everything that can be clicked or submitted. Button values are ids, never content."""

from enum import StrEnum

COMMAND = "/waterline"
SHORTCUT = "open-incident"
"""callback_id of the message shortcut, as deploy/slack/manifest.yaml has it."""


class Click(StrEnum):
    """action_id of each button. The value is `incident/argument`."""

    RUN_ALL = "run-evidence"
    STOP = "stop-evidence"
    CHANGE_RUNBOOK = "change-runbook"
    CHOOSE = "choose"
    """Value: incident/step/choice."""
    DONE = "manual-done"
    SKIP = "skip-step"
    NOTE = "add-note"
    TAKE = "take-incident"
    DIAGNOSE = "diagnose"
    PLANNED = "this-was-planned"
    """Value of this and the next: incident/code of the failure mode."""
    WITHDRAW_PLAN = "withdraw-plan"
    PROPOSE = "propose"
    APPROVE = "approve"
    """Value: incident/proposal/digest."""
    REJECT = "reject"
    VETO = "veto"
    BREAK_GLASS = "break-glass"
    """Value: incident/proposal/digest."""
    EXECUTE = "execute"
    SETTLE_HAPPENED = "settle-happened"
    """Value of this and the next: incident/proposal/number of the step."""
    SETTLE_NOT = "settle-did-not-happen"
    VERIFY = "verify"
    UNDO = "undo"
    PREVIEW_NOTICE = "preview-notice"
    TELL_IN_WORDS = "tell-in-words"
    """The same value, where the notice says nothing without the responder's own words: a form asks for them."""
    ACKNOWLEDGE = "notice-acknowledge"
    """Value of this and the next two: incident/seq of the notice."""
    RE_RAN = "notice-re-ran"
    HELP = "notice-help"
    READ_NOTICES = "read-notices"
    """Value: incident/name of the preview."""
    TURN_PAGE = "turn-page"
    """Value: incident/name of the preview/step/page."""
    TELL_AGAIN = "tell-again"
    """Value: incident/seq of the notice/number of its way."""
    CORRECT = "send-correction"
    DECLINE_CORRECTION = "decline-correction"
    REVIEW = "open-review"
    TERM = "review-term"
    """Value: incident/number of the finding."""
    CLOSE = "close-incident"
    OPEN = "open-incident"
    EXPORT = "export-record"
    MUTE = "mute-table"
    """Value: a table."""


NOTICE_ANSWERS = frozenset({Click.ACKNOWLEDGE, Click.RE_RAN, Click.HELP})
"""What consumers click."""


class Form(StrEnum):
    """callback_id of each modal."""

    OPEN = "form-open"
    TABLE = "form-table"
    SKIP = "form-skip"
    NOTE = "form-note"
    REJECT = "form-reject"
    VETO = "form-veto"
    BREAK_GLASS = "form-break-glass"
    SETTLE_HAPPENED = "form-settle-happened"
    SETTLE_NOT = "form-settle-did-not-happen"
    CLOSE = "form-close"
    NOTICE = "form-notice"
    WORDS = "form-words"
    HELP = "form-help"
    DECLINE_CORRECTION = "form-decline-correction"
    TERM = "form-term"
    SAVEPOINT = "form-savepoint"
    PLANNED = "form-planned"
    WITHDRAW_PLAN = "form-withdraw-plan"


def value_of(*parts: str) -> str:
    """The parts as one button value."""
    return "/".join(parts)
