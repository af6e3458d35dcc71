"""Asks a job's Kafka broker what it still holds. Changes nothing, joins no group, and makes no topic.

Needs the right to Describe the topics; with DescribeConfigs it also tells how long records are kept.
"""

import os
import re
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec, ResourceType

from bot.observation.errors import CouldNotLook
from bot.observation.kafka import KafkaPartition, OffsetTime
from bot.ports import Clock
from bot.settings import KafkaSettings
from bot.settings.secrets import secret_of

LIMIT_S = 10.0
"""Of one look, from the first connection on."""
GIVE_UP_S = 3.0
"""After so long without any connection none is tried any more."""
MOMENTS = 30
"""So many moments are looked up between the oldest record and now: `kept_until` is at most 4 % of that span early."""
_SLICE_S = 0.1
_LONGEST = timedelta(days=36_500)
"""A retention above that is none."""
_RIGHTS = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
}
_LOGIN = {KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED}
_PROTOCOL = re.compile(r"security\.protocol|SSL")
"""In the reason of a connection that came about and was closed."""
_PASSING = {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT, KafkaError._RESOLVE}

T = TypeVar("T")
Place = tuple[str, int]
"""Topic and partition."""


class Kafka:
    """One look is one connection; the password is read anew for each."""

    def __init__(
        self,
        settings: KafkaSettings,
        clock: Clock,
        environment: Mapping[str, str] = os.environ,
        limit_s: float = LIMIT_S,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._environment = environment
        self._limit_s = limit_s

    def partitions(self) -> tuple[KafkaPartition, ...]:
        """See `KafkaBroker`. Ends within `limit_s`."""
        look = _Look(self._settings, self._limit_s, self._environment)
        topics = look.topics()
        places = [(topic, number) for topic, (_, numbers) in topics.items() for number in numbers]
        kept, oldest = look.kept(topics), look.offsets(places, OffsetSpec.for_timestamp(0))
        earliest, latest = look.offsets(places, OffsetSpec.earliest()), look.offsets(places, OffsetSpec.latest())
        begins = {place: look.answer(asked, _named(place)).offset for place, asked in earliest.items()}
        ends = {place: look.answer(asked, _named(place)).offset for place, asked in latest.items()}
        times = look.times({place: _found(look, asked) for place, asked in oldest.items()}, self._clock.now())
        rules = {topic: _rules(look, asked) for topic, asked in kept.items()}
        return tuple(
            KafkaPartition(
                topic=topic,
                topic_id=topics[topic][0],
                partition=number,
                earliest=begins[topic, number],
                latest=ends[topic, number],
                times=times.get((topic, number), ()),
                **rules[topic],
            )
            for topic, number in sorted(places)
        )


class _Look:
    def __init__(self, settings: KafkaSettings, limit_s: float, environment: Mapping[str, str]) -> None:
        """Raises CouldNotLook for a password, certificate or key that cannot be read."""
        self._settings = settings
        self._limit_s = limit_s
        self._began = time.monotonic()
        self._errors: list[KafkaError] = []
        self._secret = ""
        try:
            self._secret = secret_of(settings, environment) if settings.protocol.startswith("SASL") else ""
            self._admin = AdminClient({**_client(settings, self._secret), "error_cb": self._errors.append})
        except (OSError, ValueError, KafkaException) as error:
            raise CouldNotLook(
                f"The login of Kafka at {settings.servers} cannot be used.",
                f"Expected password, certificate and key as `kafka` names them; found: {self._veiled(str(error))}",
                "Check the files and the variable that `kafka` of the job names, and that they can be read here.",
            ) from error

    def topics(self) -> dict[str, tuple[str | None, list[int]]]:
        """Topic -> its id, and its partitions."""
        asked = self._admin.describe_topics(TopicCollection(list(self._settings.topics)), request_timeout=self._limit_s)
        told = {topic: self.answer(future, topic) for topic, future in asked.items()}
        return {
            topic: (str(each.topic_id) if each.topic_id is not None else None, [part.id for part in each.partitions])
            for topic, each in told.items()
        }

    def kept(self, topics: Iterable[str]) -> dict[str, Future[Any]]:
        """Topic -> its configuration, asked for."""
        asked = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
        return {each.name: future for each, future in self._admin.describe_configs(asked, **self._within()).items()}

    def offsets(self, places: Iterable[Place], at: OffsetSpec) -> dict[Place, Future[Any]]:
        """One offset of each, asked for."""
        asked = {TopicPartition(topic, number): at for topic, number in places}
        if not asked:
            return {}
        told = self._admin.list_offsets(asked, **self._within())
        return {(place.topic, place.partition): future for place, future in told.items()}

    def times(self, oldest: Mapping[Place, OffsetTime | None], now: datetime) -> dict[Place, tuple[OffsetTime, ...]]:
        """By moments between the oldest record of all and now. What is not told in time is left out."""
        known = [each for each in oldest.values() if each is not None]
        if not known:
            return {}
        first = min(each.at for each in known)
        places = [place for place, each in oldest.items() if each is not None]
        step = max((now - first) / MOMENTS, timedelta(milliseconds=1))
        moments = [first + step * number for number in range(1, MOMENTS)]
        asked = [self.offsets(places, OffsetSpec.for_timestamp(int(at.timestamp() * 1000))) for at in moments]
        found = {place: {each.offset: each} for place, each in oldest.items() if each is not None}
        for at_once in asked:
            for place, future in at_once.items():
                if (each := _found(self, future)) is not None:
                    found[place].setdefault(each.offset, each)
        return {place: tuple(each for _, each in sorted(by.items())) for place, by in found.items()}

    def answer(self, asked: "Future[T]", what: str) -> T:
        """Waits for it. `what`: topic, or topic and partition. Raises CouldNotLook."""
        while True:
            self._admin.poll(0)
            if (why := self._hopeless()) is not None:
                raise self._trouble(why, what)
            try:
                return asked.result(_SLICE_S)
            except TimeoutError:
                continue
            except KafkaException as error:
                self._admin.poll(0)
                raise self._trouble(error.args[0], what) from error

    def _within(self) -> dict[str, float]:
        """At least a moment: librdkafka would refuse less."""
        return {"request_timeout": max(self._limit_s - (time.monotonic() - self._began), 0.1)}

    def _hopeless(self) -> KafkaError | None:
        """Why waiting longer is no use."""
        codes = {error.code() for error in self._errors}
        spent = time.monotonic() - self._began
        if codes & _LOGIN or (KafkaError._ALL_BROKERS_DOWN in codes and spent > GIVE_UP_S):
            return self._errors[-1]
        if KafkaError._SSL in codes and spent > 1:
            return self._errors[-1]
        return KafkaError(KafkaError._TIMED_OUT) if spent > self._limit_s else None

    def _trouble(self, error: KafkaError, what: str) -> CouldNotLook:
        """In words. What the connections said goes before what became of the request: that only ran out of time."""
        said = [error, *self._errors] if error.code() not in _PASSING else [*self._errors, error]
        by_code = {each.code(): each for each in reversed(said)}
        at = f"Kafka at {self._settings.servers}"

        def told(happened: str, expected: str, codes: Iterable[int], remedy: str) -> CouldNotLook:
            found = next((by_code[code] for code in codes if code in by_code), said[0])
            return CouldNotLook(happened, f"Expected {expected}; found: {self._veiled(found.str())}.", remedy)

        if codes := by_code.keys() & _LOGIN:
            return told(
                f"{at} refused the login.",
                f"it to accept {self._settings.user or 'Waterline'}",
                codes,
                "Check `user`, `mechanism` and the password under `kafka` of the job.",
            )
        if KafkaError._SSL in by_code:
            return told(
                f"TLS with {at} failed.",
                "a trusted certificate",
                [KafkaError._SSL],
                "Name the brokers' certificate authority under `kafka` of the job (`ca_file`). If they ask for a "
                "client certificate, name `certificate_file`.",
            )
        if codes := by_code.keys() & _RIGHTS:
            return told(
                f"{at} does not let Waterline look at {what}.",
                f"the right to describe {what}",
                codes,
                f"Give {self._settings.user or 'its user'} the ACL `Describe` for the topic.",
            )
        if KafkaError.UNKNOWN_TOPIC_OR_PART in by_code:
            return told(
                f"{at} has no topic {what}.",
                "a topic of this name, or the right to see it",
                [KafkaError.UNKNOWN_TOPIC_OR_PART],
                "Correct `topics` under `kafka` of the job, or give its user the ACL `Describe` for the topic.",
            )
        if by_code.keys() <= _PASSING:
            hint = next((each for each in said if _PROTOCOL.search(each.str())), None)
            return CouldNotLook(
                f"{at} is not reachable.",
                f"Expected an answer within {self._limit_s:g} s; found: {self._veiled((hint or said[0]).str())}.",
                "Check `protocol` under `kafka` of the job: the broker may expect TLS or a login."
                if hint is not None
                else "Check `servers` under `kafka` of the job, and that the brokers' advertised addresses are "
                "reachable from here.",
            )
        return told(f"{at} did not tell of {what}.", "an answer", [error.code()], "Ask again, then ask its operators.")

    def _veiled(self, text: str) -> str:
        return text.replace(self._secret, "***").rstrip(".") if self._secret else text.rstrip(".")


def _client(settings: KafkaSettings, secret: str) -> dict[str, object]:
    files = {
        "ssl.ca.location": settings.ca_file,
        "ssl.certificate.location": settings.certificate_file,
        "ssl.key.location": settings.key_file,
    }
    is_tls, is_sasl = settings.protocol.endswith("SSL"), settings.protocol.startswith("SASL")
    return {
        "bootstrap.servers": settings.servers,
        "security.protocol": settings.protocol,
        "client.id": "waterline",
        "log_level": 0,  # it writes to stderr; what is wrong comes back as errors
        "reconnect.backoff.max.ms": 1000,
        **({name: str(file) for name, file in files.items() if file is not None} if is_tls else {}),
        **(
            {"sasl.mechanism": settings.mechanism, "sasl.username": settings.user or "", "sasl.password": secret}
            if is_sasl
            else {}
        ),
    }


def _named(place: Place) -> str:
    return f"{place[0]}, partition {place[1]}"


def _quietly(look: _Look, asked: "Future[T]") -> T | None:
    """None where it is not told: less is said then."""
    with suppress(CouldNotLook):
        return look.answer(asked, "")
    return None


def _found(look: _Look, asked: Future[Any]) -> OffsetTime | None:
    """The record that a moment led to; None where there is none, where it has no time, and where nobody told."""
    told = _quietly(look, asked)
    if told is None or told.offset < 0 or not 0 < told.timestamp < _LONGEST.total_seconds() * 1000:
        return None
    return OffsetTime(offset=told.offset, at=datetime.fromtimestamp(told.timestamp / 1000, UTC))


def _rules(look: _Look, asked: Future[Any]) -> dict[str, Any]:
    """How long records of a topic are kept, as fields of its partitions."""
    told: Mapping[str, Any] | None = _quietly(look, asked)
    if told is None:
        return {"is_retention_known": False}
    policy, age, size = (told[name].value for name in ("cleanup.policy", "retention.ms", "retention.bytes"))
    is_deleted = "delete" in policy
    return {
        "retention": _age(int(age)) if is_deleted else None,
        "retention_bytes": int(size) if is_deleted and int(size) >= 0 else None,
        "is_compacted": "compact" in policy,
    }


def _age(milliseconds: int) -> timedelta | None:
    is_limit = 0 <= milliseconds < _LONGEST.total_seconds() * 1000
    return timedelta(milliseconds=milliseconds) if is_limit else None
