"""The session's real cluster, for the slow tests of this folder."""

from tests.lab_fixtures import fresh_lab, lab_cluster

__all__ = ["fresh_lab", "lab_cluster"]
