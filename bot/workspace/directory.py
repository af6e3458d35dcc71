"""Looks up people, channels and groups, and changes who is where."""

from bot.workspace.people import Cast, Channel, Person, UserGroup
from bot.workspace.refusal import CannotDo, SlackRefusal


class Directory:
    """The workspace's people, channels and groups as they are now."""

    def __init__(self, cast: Cast) -> None:
        self.cast = cast
        self.app = cast.app
        self.people = {person.id: person for person in cast.people}
        self.channels = {channel.id: channel for channel in cast.channels}
        self.groups = {group.id: group for group in cast.groups}

    def person(self, ref: str) -> Person:
        """The person with that id, handle or display name; raises CannotDo when there is none."""
        wanted = ref.lstrip("@")
        for person in self.people.values():
            if wanted == person.id or wanted.lower() in (person.name, person.display_name.lower()):
                return person
        known = ", ".join(person.name for person in self.people.values())
        raise CannotDo("user_not_found", f"Nobody here is called {ref!r}. Known: {known}. Use one of these.")

    def channel(self, ref: str) -> Channel:
        """The channel with that id or name; raises CannotDo when there is none."""
        wanted = ref.lstrip("#")
        for channel in self.channels.values():
            if wanted in (channel.id, channel.name):
                return channel
        known = ", ".join(f"#{channel.name}" for channel in self.channels.values() if not channel.is_im)
        raise CannotDo("channel_not_found", f"No channel is called {ref!r}. Known: {known}. Use one of these.")

    def group_named(self, handle: str) -> UserGroup | None:
        """The user group with that handle."""
        return next((group for group in self.groups.values() if group.handle == handle), None)

    def channel_for_bot(self, ref: str) -> Channel:
        """The channel a Web API call names, by id, #name or user id; refuses as Slack does when it cannot see it."""
        if ref in self.people:
            return self.direct_message(ref)
        wanted = ref.lstrip("#")
        found = self.channels.get(ref) or next((c for c in self.channels.values() if c.name == wanted), None)
        if found is None or (found.is_private and self.app.user_id not in found.members):
            raise SlackRefusal("channel_not_found")
        return found

    def channel_to_post(self, ref: str) -> Channel:
        """As `channel_for_bot`, and the bot may write there."""
        channel = self.channel_for_bot(ref)
        if channel.is_archived:
            raise SlackRefusal("is_archived")
        if self.app.user_id not in channel.members:
            raise SlackRefusal("not_in_channel")
        return channel

    def direct_message(self, person: str) -> Channel:
        """The conversation between the app and one person; opened when it does not exist yet."""
        if person not in self.people:
            raise SlackRefusal("user_not_found")
        channel_id = "D" + person[1:]
        if channel_id not in self.channels:
            self.channels[channel_id] = Channel(
                id=channel_id,
                name=self.people[person].name,
                members=frozenset({person, self.app.user_id}),
                is_im=True,
                is_private=True,
            )
        return self.channels[channel_id]

    def visible_to(self, person: str) -> tuple[Channel, ...]:
        """The channels a person is in, and the public ones they may look into."""
        return tuple(
            channel for channel in self.channels.values() if person in channel.members or not channel.is_private
        )

    def archive(self, channel_id: str, archived: bool = True) -> None:
        """Archive a channel, or bring it back."""
        self._replace(channel_id, is_archived=archived)

    def join(self, channel_id: str, member: str) -> None:
        """Put a person or the bot into a channel."""
        self._replace(channel_id, members=self.channels[channel_id].members | {member})

    def leave(self, channel_id: str, member: str) -> None:
        """Take a person or the bot out of a channel."""
        self._replace(channel_id, members=self.channels[channel_id].members - {member})

    def _replace(self, channel_id: str, **changes: object) -> None:
        self.channels[channel_id] = self.channels[channel_id].model_copy(update=changes)
