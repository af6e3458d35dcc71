"""Signed HTTP: the other way to an app, a request URL that checks Slack's v0 signature."""

import hashlib
import hmac
import json
import time
from urllib.parse import urlencode

import httpx

from bot.workspace.clock import WorkspaceClock
from bot.workspace.deliveries import Ack, Delivery
from bot.workspace.people import Payload

JSON_TYPE = "application/json"
FORM_TYPE = "application/x-www-form-urlencoded"


def signature(secret: str, timestamp: str, body: str) -> str:
    """Slack's `X-Slack-Signature` for a raw body."""
    base = f"v0:{timestamp}:{body}".encode()
    return "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()


class SignedHttp:
    """Posts deliveries to the app's request URL; a carrier for deliveries."""

    def __init__(self, clock: WorkspaceClock, signing_secret: str) -> None:
        self._clock = clock
        self._secret = signing_secret
        self.request_url: str | None = None
        self._client: httpx.AsyncClient | None = None

    async def carry(self, delivery: Delivery, within_s: float) -> Ack:
        if self.request_url is None:
            return Ack(outcome="unreachable", detail="no request URL is set")
        content_type, body = _encoded(delivery)
        started = time.perf_counter()
        try:
            answer = await self._post(body, self._headers(delivery, content_type, body), within_s)
        except httpx.TimeoutException:
            return Ack(outcome="timed-out", took_ms=_ms_since(started), detail="http_timeout")
        except httpx.TransportError as error:
            return Ack(outcome="unreachable", took_ms=_ms_since(started), detail=f"connection_failed: {error}")
        if answer.status_code != httpx.codes.OK:
            detail = f"http_error: {answer.status_code} {answer.text[:200]}"
            return Ack(outcome="refused", took_ms=_ms_since(started), detail=detail)
        return Ack(outcome="acked", took_ms=_ms_since(started), payload=_payload_of(answer))

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _post(self, body: str, headers: dict[str, str], within_s: float) -> httpx.Response:
        if self._client is None:
            self._client = httpx.AsyncClient(trust_env=False)
        return await self._client.post(self.request_url or "", content=body, headers=headers, timeout=within_s)

    def _headers(self, delivery: Delivery | None, content_type: str, body: str) -> dict[str, str]:
        timestamp = str(int(self._clock.seconds()))
        headers = {
            "Content-Type": content_type,
            "X-Slack-Request-Timestamp": timestamp,
            "X-Slack-Signature": signature(self._secret, timestamp, body),
        }
        if delivery is not None and delivery.retry_attempt:
            headers |= {
                "X-Slack-Retry-Num": str(delivery.retry_attempt),
                "X-Slack-Retry-Reason": delivery.retry_reason or "unknown_error",
            }
        return headers


def _encoded(delivery: Delivery) -> tuple[str, str]:
    match delivery.kind:
        case "slash_commands":
            return FORM_TYPE, urlencode(delivery.payload)
        case "interactive":
            return FORM_TYPE, urlencode({"payload": json.dumps(delivery.payload)})
        case "events_api":
            return JSON_TYPE, json.dumps(delivery.payload)


def _payload_of(answer: httpx.Response) -> Payload | None:
    if not answer.text:
        return None
    if answer.headers.get("content-type", "").startswith(JSON_TYPE):
        body = answer.json()
        return body if isinstance(body, dict) else None
    return {"text": answer.text}


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 1)
