"""Where tests keep their files: in memory, where there is enough of it.

A record and a catalog on SQLite wait for the disk at each commit, and a run makes some hundred thousand of those.
What is tested is a killed process, never a power cut of the machine: for that, memory is as good as a disk.
"""

import os
import shutil
from pathlib import Path

import psutil

MEMORY = Path("/dev/shm")
ENOUGH_FREE = 8 * 2**30
"""A run leaves half a gigabyte, and the servers of the tests need some themselves."""
ROOT = "PYTEST_DEBUG_TEMPROOT"
"""Where pytest makes the folders of a run; say another one to have them on a disk."""


def keep_in_memory() -> None:
    """Unless the environment says where; in a container with a little of it, nothing changes."""
    if ROOT in os.environ or not os.access(MEMORY, os.W_OK):
        return
    if min(shutil.disk_usage(MEMORY).free, psutil.virtual_memory().available) >= ENOUGH_FREE:
        os.environ[ROOT] = str(MEMORY)
