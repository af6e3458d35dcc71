"""Finds the evidence tasks of `spark_tasks/`, runs them through the port, and keeps what they answer."""

from bot.evidence._collector import Collector, check_answer, tag_of
from bot.evidence._scan import TaskModule, find_tasks

__all__ = ["Collector", "TaskModule", "check_answer", "find_tasks", "tag_of"]
