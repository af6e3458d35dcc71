"""Builds what lets people decide on the pages, where the settings name some."""

import secrets

from bot.notices.answer_link import link_secrets
from bot.ports import Directory
from bot.service.services import Services
from bot.settings import NoticeSecrets, WebSettings
from bot.web.decider import Decider
from bot.web.own_forms import OwnForms
from bot.web.proposal_pages import Decisions


def decisions(web: WebSettings, services: Services, shown_members: Directory) -> Decisions | None:
    """None: nobody decides on pages. Raises BadConfiguration for a secret that is too short.

    Forms are signed with WATERLINE_ANSWER_SECRET, which all replicas have; without one by a secret of this process, and
    a form from before its start is not taken.
    """
    if not web.people:
        return None
    given = NoticeSecrets().waterline_answer_secret
    signing = link_secrets(given.get_secret_value()) if given is not None else (secrets.token_bytes(32),)
    return Decisions(Decider(services, shown_members, web.people), OwnForms(signing, web.public_url))
