"""The processes of a running lab, as someone with a shell on their machines can hurt them."""

import os
import signal
import time

from bot.lab.errors import LabError
from bot.lab.flink_rest import FlinkRest
from bot.lab.home import Home
from bot.lab.process import pid_in
from bot.lab.waiting import until
from bot.lab.wire import NOTIFICATION, lose


class Machines:
    """Kills, freezes and awaits by the pid files of the lab; its keepers bring back what was killed."""

    def __init__(self, home: Home, flink: FlinkRest) -> None:
        self._home = home
        self._flink = flink

    def kill_taskmanager(self) -> int:
        """Kills the TaskManager with SIGKILL; the answer is the process id that is gone."""
        return self._kill("taskmanager")

    def await_new_taskmanager(self, old: int) -> int:
        """The process id of the TaskManager that took the place of `old`."""
        return self._await_another("taskmanager", old)

    def freeze_taskmanager(self, seconds: float, name: str = "taskmanager") -> None:
        """Stops a TaskManager for a while, as a long garbage collection or a stuck disk would."""
        pid = self._pid_of(name)
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            os.kill(pid, signal.SIGCONT)

    def lose_notifications(self) -> None:
        """From now on no TaskManager hears that a checkpoint is complete; needs a lab with a wire."""
        if pid_in(self._home / "run" / "wire.pid") is None:
            raise LabError(
                "This lab has no wire that could lose a message.",
                "Expected a lab that was started with --wire.",
                "Start one: waterline lab up --wire.",
            )
        lose(self._home / "scratch", NOTIFICATION)

    def restart_jobmanager(self) -> None:
        """Kills the JobManager; without high availability the new one knows no job, so any job id may be used again.

        Returns when the TaskManager has registered with the new one.
        """
        self.await_new_jobmanager(self.kill_jobmanager())

    def kill_jobmanager(self) -> int:
        """Kills the JobManager with SIGKILL, and its jobs with it; the answer is the process id that is gone."""
        return self._kill("jobmanager")

    def await_new_jobmanager(self, old: int) -> None:
        """Returns when the JobManager that took the place of `old` has a TaskManager."""
        self._await_another("jobmanager", old)
        log = str(self._home / "logs" / "jobmanager.log")
        until("the TaskManager at the new JobManager", lambda: self._flink.taskmanagers() or None, 120, log)

    def _kill(self, name: str) -> int:
        pid = self._pid_of(name)
        os.kill(pid, signal.SIGKILL)
        return pid

    def _pid_of(self, name: str) -> int:
        pid_file = self._home / "run" / f"{name}.pid"
        return until(f"the {name}", lambda: pid_in(pid_file), 20, str(self._home / "logs" / f"{name}.log"))

    def _await_another(self, name: str, old: int) -> int:
        def another() -> int | None:
            pid = pid_in(self._home / "run" / f"{name}.pid")
            return pid if pid != old else None

        return until(f"a new {name}", another, 30, str(self._home / "logs" / f"{name}.log"))
