"""Nobody lowers the number of approvals that their own proposal needs."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

from bot.domain.execution import ProposalView
from bot.service.severity import change_severity
from bot.slack.blocks.approval import by_severity
from tests.actions.scene import Scene
from tests.rewound import ANA, BEN


def test_a_lowering_by_the_proposer_does_not_choose_the_policy(tmp_path: Path) -> None:
    """It counts for everybody else's proposals; what the proposer raises counts."""
    scene = Scene.made_in(tmp_path, 1)
    for to in ("sev1", "sev3"):
        change_severity(scene.store, scene.incident, to, "as it looks", by=ANA, then=lambda _incident: None)
    incident = scene.store.get(scene.incident)

    view = SimpleNamespace(proposal=SimpleNamespace(proposed_by=ANA))
    theirs = SimpleNamespace(proposal=SimpleNamespace(proposed_by=BEN))

    assert (incident.severity, incident.severity_for(ANA), incident.severity_for(BEN)) == ("sev3", "sev1", "sev3")
    assert "By the rules of sev1" in by_severity(incident, cast(ProposalView, view))[0]
    assert by_severity(incident, cast(ProposalView, theirs)) == []
