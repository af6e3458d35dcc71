"""A REST catalog through PyIceberg each of whose requests ends: its client (0.12) waits for ever.

Imported only where a catalog of this kind is opened: it is large.
"""

from functools import partial

from pyiceberg.catalog.rest import RestCatalog
from requests import Session

from bot.adapters.iceberg.limits import ANSWER_WITHIN_S, CONNECT_WITHIN_S, LIMIT


class LimitedRest(RestCatalog):
    """A REST catalog each of whose requests ends, the first ones for its configuration and a token included."""

    def __init__(self, name: str, **properties: str) -> None:
        self._limit_s = float(properties.pop(LIMIT, ANSWER_WITHIN_S))
        super().__init__(name, **properties)

    def _config_headers(self, session: Session) -> None:
        """Called first with each new session."""
        limit = (min(CONNECT_WITHIN_S, self._limit_s), self._limit_s)
        session.request = partial(session.request, timeout=limit)  # type: ignore[method-assign]
        super()._config_headers(session)
