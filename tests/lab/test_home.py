"""A home is the lab's own folder, fresh or used, and never somebody else's."""

import random
import socket
from pathlib import Path

import pytest

from bot.kept_process import free_ports
from bot.lab.errors import LabError
from bot.lab.home import Home


def test_a_used_home_begins_anew(tmp_path: Path) -> None:
    """What an earlier lab left does not leak into the next one."""
    home = Home(tmp_path / "lab")
    home.prepare()
    (home / "warehouse" / "sales").mkdir()

    home.prepare()

    assert list((home / "warehouse").iterdir()) == []


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    """A mistyped --home deletes nothing."""
    thesis = tmp_path / "thesis.tex"
    thesis.write_text("years of work", encoding="utf-8")

    with pytest.raises(LabError) as refused:
        Home(tmp_path).prepare()

    assert "thesis.tex" in refused.value.found
    assert thesis.exists()


def test_without_a_lab_its_state_is_refused_with_what_to_do(tmp_path: Path) -> None:
    """A command against a lab that does not run says how to start one."""
    home = Home(tmp_path)

    with pytest.raises(LabError) as refused:
        home.state()

    assert "waterline lab up" in refused.value.next_step


def test_free_ports_are_all_different_and_the_system_gives_them_to_nobody_else() -> None:
    """Two processes of one lab never want the same port, and no client's outgoing connection takes one meanwhile."""
    ports = free_ports(20)

    assert len(set(ports)) == 20
    with socket.socket() as client:
        client.bind(("127.0.0.1", 0))
        assert all(port < 32_768 <= client.getsockname()[1] for port in ports)


def test_a_port_that_somebody_listens_on_is_not_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the draw names a taken one first, the next one is the answer."""
    taken, free = free_ports(2)
    monkeypatch.setattr(random, "sample", lambda *_: [taken, free])
    with socket.create_server(("127.0.0.1", taken)):
        assert free_ports(1) == [free]
