"""The sink of a real job gets another uid: Flink leaves the old sink's state behind, and nothing else."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from bot.lab.lab import Lab
from bot.lab.orders import with_sink_options
from tests.lab_fixtures import FreshLab
from tests.walks.world import Incident, incident

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]


def test_a_job_whose_last_commit_was_expired_goes_on_under_another_uid(fresh_lab: FreshLab, tmp_path: Path) -> None:
    """Before, it fails in a loop for a manifest that was deleted after its commit (F8). Every position is there once,
    and the next restart, which leaves no state behind, finds the new sink's."""
    lab = fresh_lab("v2")
    told = lab.tell("last-commit-expired")
    with incident(lab, tmp_path) as world:
        declares_a_suffix(world, lab)
        with world.bot():
            world.walk("last-commit-expired", runbook="job-will-not-restore")

            [made] = [e["proposal"] for e in world.journal("proposal-made")]
            start = made["effects"][-1]  # type: ignore[index]
            suffix = start["uid_suffix"]
            assert made["action"] == "change_operator_uid"  # type: ignore[index]
            assert start["checkpoint_id"] == told.facts["good_checkpoint"]
            assert [e["outcome"] for e in world.journal("execution-ended")] == ["applied"]
            [verified] = world.journal("verified")
            assert all(check["passed"] for check in verified["checks"]), verified  # type: ignore[attr-defined]
            assert_whole(world)
            assert world.checkpoints_of_the_last_run()[0] == start["checkpoint_id"] + 1

            world.opens("planned-savepoint")
            world.asks_for("/waterline propose restart_from_stop_savepoint")
            world.carries_out(2)

        again = world.journal("proposal-made")[-1]["proposal"]["effects"][-1]  # type: ignore[index]
        assert again["uid_suffix"] == suffix
        assert [e["passed"] for e in world.journal("verified")] == [True, True]
        assert_whole(world)


def declares_a_suffix(world: Incident, lab: Lab) -> None:
    """The job's start is declared with a place for it; until it is changed, the uid is the one that the job has."""
    yaml = YAML()
    told = yaml.load(world.config.read_text(encoding="utf-8"))
    [job] = told["jobs"].values()
    *before, insert = lab.state.start_statements
    job["start"]["statements"] = [*before, with_sink_options(insert, {"uid-suffix": "{uid_suffix}"})]
    with world.config.open("w", encoding="utf-8") as file:
        yaml.dump(told, file)


def assert_whole(world: Incident) -> None:
    """Position 0 is the other engine's row."""
    positions = world.positions()
    assert positions == list(range(len(positions)))
