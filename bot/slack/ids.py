"""Names of everything that can be clicked or submitted. Button values are ids, never content."""

from enum import StrEnum

COMMAND = "/waterline"


class Click(StrEnum):
    """action_id of each button. The value is `incident/argument`."""

    RUN = "run-evidence"
    CANCEL = "cancel-evidence"
    CHOOSE = "choose"
    """Value: incident/step/choice."""
    DONE = "manual-done"
    SKIP = "skip-step"
    NOTE = "add-note"
    TAKE = "take-incident"
    DIAGNOSE = "diagnose"
    PROPOSE = "propose"
    APPROVE = "approve"
    """Value: incident/proposal/digest."""
    REJECT = "reject"
    VETO = "veto"
    BREAK_GLASS = "break-glass"
    """Value: incident/proposal/digest."""
    EXECUTE = "execute"
    VERIFY = "verify"
    UNDO = "undo"
    PREVIEW_NOTICE = "preview-notice"
    ACKNOWLEDGE = "notice-acknowledge"
    """Value of this and the next two: incident/seq of the notice."""
    RE_RAN = "notice-re-ran"
    HELP = "notice-help"
    APPROVE_NOTICE = "approve-notice"
    """Value: incident/name of the preview."""
    REJECT_NOTICE = "reject-notice"
    REVIEW = "open-review"
    TERM = "review-term"
    """Value: incident/number of the finding."""
    CLOSE = "close-incident"
    OPEN = "open-incident"
    EXPORT = "export-record"
    SNOOZE = "snooze-promise"
    MUTE = "mute-finding"
    """Value: a sighting."""


class Form(StrEnum):
    """callback_id of each modal."""

    OPEN = "form-open"
    SKIP = "form-skip"
    NOTE = "form-note"
    REJECT = "form-reject"
    VETO = "form-veto"
    BREAK_GLASS = "form-break-glass"
    CLOSE = "form-close"
    NOTICE = "form-notice"
    HELP = "form-help"
    REJECT_NOTICE = "form-reject-notice"
    TERM = "form-term"
    SAVEPOINT = "form-savepoint"


def value_of(*parts: str) -> str:
    """The parts as one button value."""
    return "/".join(parts)
