"""A person types a slash command."""

from bot.workspace.people import Person, SlashCommand
from bot.workspace.persons.forms import Outcome
from bot.workspace.persons.modals import answer_command, slackbot_says
from bot.workspace.persons.speech import channel_to_write, with_marks
from bot.workspace.refusal import CannotDo
from bot.workspace.wire_log import AnswerUrl, Delivery
from bot.workspace.world import World

_FAILED = {"timed-out": "operation_timeout", "unreachable": "dispatch_failed", "refused": "dispatch_failed"}


async def run_command(
    world: World, person: Person, channel_ref: str, typed: str, thread_ts: str | None = None
) -> Outcome:
    """Deliver a slash command; a failure is told to the person as Slack tells it."""
    channel = channel_to_write(world, person, channel_ref)
    word, _, rest = typed.strip().partition(" ")
    if thread_ts is not None:
        raise CannotDo("command_in_thread", f"{word} is not supported in threads. Type it in #{channel.name}.")
    command = _registered(world, word)
    text = rest.strip()
    token = world.handles.new_url(person.id, channel.id)
    payload = {
        "token": "verification-token-is-unused",
        "team_id": world.cast.team_id,
        "team_domain": world.cast.team_domain,
        "channel_id": channel.id,
        "channel_name": "directmessage" if channel.is_im else channel.name,
        "user_id": person.id,
        "user_name": person.name,
        "command": command.command,
        "text": with_marks(text, world.directory, labelled=True) if command.should_escape else text,
        "api_app_id": world.cast.app.app_id,
        "is_enterprise_install": "false",
        "response_url": f"{world.url}/response/{token}",
        "trigger_id": world.handles.new_trigger(person.id),
    }
    ack = await world.deliveries.send(Delivery(kind="slash_commands", payload=payload))
    if ack.in_time:
        to = AnswerUrl(person=person.id, channel=channel.id, issued_s=world.clock.seconds())
        answer_command(world, to, ack.payload)
    else:
        failure = _FAILED[ack.outcome]
        slackbot_says(world, person.id, channel.id, f'{word} failed with the error "{failure}"')
    return Outcome.of(ack)


def _registered(world: World, word: str) -> SlashCommand:
    for command in world.cast.app.commands:
        if command.command == word:
            return command
    known = ", ".join(command.command for command in world.cast.app.commands)
    raise CannotDo("unknown_command", f"{word} is not a valid command. Registered here: {known}. Type one of these.")
