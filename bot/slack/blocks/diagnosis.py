"""What was named: one sentence first, then what shows it, then why not the others."""

from slack_sdk.models.blocks import Block

from bot.incident.diagnosis import CannotTell, Diagnosis, Excluded, Matches, Mode, called
from bot.incident.incident import Incident
from bot.observation.ids import short
from bot.observation.sentences import counted
from bot.slack.blocks.parts import actions, button, context, folded, section
from bot.slack.ids import Click
from bot.slack.text import addressed, as_sentence, clipped, mrkdwn, short_paths

_ROWS_SHOWN = 3
_REASONS_SHOWN = 6
_OTHERS_SHOWN = 2
_UNDECIDED_SHOWN = 6
_APART_SHOWN = 4
_MISSING = 300
_WHY_NOT = 160
_ALIKE = 200


def diagnosis_message(diagnosis: Diagnosis, incident: Incident) -> tuple[str, list[Block]]:
    """(notification text, blocks). Matches come in the order in which to act, with all their reasons; folded are those
    that ask for nothing beside others, and the modes that do not hold: neighbours of a match say why, the others are
    counted. The record has every reason. `incident`: in which it was made, as it is now."""
    matches = diagnosis.matches
    if diagnosis.decisive is not None:
        mode, match = diagnosis.decisive
        text = f"Diagnosis {mode.code}: {match.headline}"
    else:
        text = "Diagnosis: no failure mode matches"
    blocks: list[Block] = []
    if len(diagnosis.to_act_on) > 1:
        order = ", then ".join(f"*{mrkdwn(mode.code)}*" for mode, _match in diagnosis.to_act_on)
        several = len(diagnosis.to_act_on)
        blocks.append(section(f":twisted_rightwards_arrows: *{several} failure modes match.* Act on {order}."))
    if diagnosis.decisive is None:
        blocks.append(section(f":grey_question: *{mrkdwn(diagnosis.nothing_matches)}* Nothing is proposed."))
    for mode, match in matches:
        about = _match(mode, match, incident)
        is_main = (mode, match) in (diagnosis.decisive, *diagnosis.to_act_on)
        blocks += about if is_main else folded(f"{mode.code}: {match.headline}", about)
    if diagnosis.undecided:
        blocks.append(section(_undecided(diagnosis.undecided)))
        if apart := _told_apart(diagnosis):
            blocks.append(section(apart))
    if diagnosis.excluded:
        others = f"Why not {counted(len(diagnosis.excluded), 'other failure mode')}"
        blocks += folded(others, [section(_excluded(diagnosis))])
    return text, blocks


def _match(mode: Mode, match: Matches, incident: Incident) -> list[Block]:
    who = {planned.by for planned in incident.planned.values()}
    shown = (short_paths(reason).replace("\n", " ") for reason in match.reasons[:_REASONS_SHOWN])
    reasons = "\n".join(f"• {addressed(reason, who)}" for reason in shown)
    left = len(match.reasons) - _REASONS_SHOWN
    reasons += f"\n_{left} more reason{'s are' if left > 1 else ' is'} in the record._" if left > 0 else ""
    rows = ", ".join(short(row) for row in match.rows[:_ROWS_SHOWN])
    more = f" and {len(match.rows) - _ROWS_SHOWN} more" if len(match.rows) > _ROWS_SHOWN else ""
    alike = clipped(as_sentence(mode.false_positives[0]), _ALIKE) if mode.false_positives else ""
    sign = ":white_check_mark:" if match.remedy.value == "nothing" else ":mag:"
    return [
        section(f"{sign} *{mrkdwn(mode.code)}: {mrkdwn(match.headline)}*\n{reasons}"),
        context(
            f"{_last_good(match)}What to do: {mrkdwn(match.what_to_do)}"
            + (f" · Shown by commits {rows}{more}" if rows else ""),
            *([f"Looks similar: {mrkdwn(alike)}"] if alike else []),
        ),
        *_plan_button(mode, incident),
    ]


def _plan_button(mode: Mode, incident: Incident) -> list[Block]:
    if not incident.is_open or not mode.planned_as:
        return []
    if mode.code in incident.planned:
        return [actions([button("Withdraw the plan…", Click.WITHDRAW_PLAN, incident.id, mode.code)])]
    return [actions([button("This was planned…", Click.PLANNED, incident.id, mode.code)])]


def _last_good(match: Matches) -> str:
    """Nothing for what is only worth knowing: it says nothing of what to trust."""
    if match.last_good is None:
        return ""
    return f"{': '.join(called(match.last_good, match.last_good_rows))} · "


def _undecided(undecided: tuple[tuple[Mode, CannotTell], ...]) -> str:
    """Modes that miss the very same are told in one line: one source that is down would fill the screen."""
    by_missing: dict[tuple[str, ...], list[Mode]] = {}
    for mode, told in undecided:
        by_missing.setdefault(told.missing, []).append(mode)
    lines = [
        f"{_named(modes)}: {mrkdwn(clipped(short_paths('; '.join(missing)), _MISSING))}"
        for missing, modes in by_missing.items()
    ]
    if len(lines) == 1:
        return f"*Cannot tell yet, evidence is missing:* {lines[0]}"
    left = len(lines) - _UNDECIDED_SHOWN
    more = [f"_{left} more in the record._"] if left > 0 else []
    return "\n• ".join(["*Cannot tell yet, evidence is missing*", *lines[:_UNDECIDED_SHOWN], *more])


def _named(modes: list[Mode]) -> str:
    """With its title where it is one: a code alone tells nothing at night."""
    codes = f"*{mrkdwn(', '.join(mode.code for mode in modes))}*"
    return f"{codes} {mrkdwn(modes[0].title)}" if len(modes) == 1 else codes


def _told_apart(diagnosis: Diagnosis) -> str:
    """How people can tell what matches from a neighbour that could not be looked at; empty without such a one."""
    open_ones = {mode.code for mode, _told in diagnosis.undecided}
    told = [
        f"• *{mrkdwn(mode.code)}* from *{mrkdwn(code)}*: {mrkdwn(how)}"
        for mode, _match in diagnosis.to_act_on
        for code, how in diagnosis.told_apart(mode)
        if code in open_ones
    ]
    return "*How to tell them apart*\n" + "\n".join(told[:_APART_SHOWN]) if told else ""


def _excluded(diagnosis: Diagnosis) -> str:
    near = {code for mode, _match in diagnosis.matches for code in mode.neighbours}
    told = [(m, x) for m, x in diagnosis.excluded if m.code in near or not near]
    lines = [f"• *{mrkdwn(m.code)}* {mrkdwn(m.title)}: {_why_not(x)}" for m, x in told[:_OTHERS_SHOWN]]
    return "\n".join([*lines, "The record has the reasons of all."])


def _why_not(excluded: Excluded) -> str:
    return mrkdwn(clipped(short_paths(excluded.reason), _WHY_NOT))
