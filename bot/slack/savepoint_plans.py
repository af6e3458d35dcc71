"""The form of a planned savepoint -> one call of the service, and the sentence that answers."""

from bot.domain.ids import TableName, UserId
from bot.domain.said_moment import end_of_day, said_moment
from bot.service.services import Services
from bot.slack.requests import Submitted


def planned(services: Services, form: Submitted) -> str:
    """Write the plan down; a day ends at its last second in UTC. Raises Refused, CouldNotLook, UnknownTable."""
    table, channel = TableName(form.about.split("/")[0]), form.about.split("/")[1]
    consumers = services.observer.setup(table).consumers
    ticked = [int(number) for number in form.values.get("told", "").split(",") if number]
    over = form.values.get("over", "").strip()
    incident = services.savepoints.plan(
        table,
        channel,
        reason=form.values["reason"].strip(),
        code_before=form.values["before"].strip(),
        code_after=form.values["after"].strip(),
        told=tuple(consumers[number].name for number in ticked if number < len(consumers)),
        restorers=tuple(UserId(user) for user in form.values.get("restorers", "").split(",") if user),
        until=end_of_day(form.values["until"]),
        over_by=said_moment(over, services.clock.now()) if over else None,
        by=form.user,
    )
    services.duties.settle(incident)
    return f"The plan is on record in {incident}. Nothing is stopped: go on with its card."
