"""Finds the evidence tasks of `spark_tasks/`, runs them through the port, and keeps what they answer."""

from bot.evidence._collector import Collector, TaskModule, check_answer, find_tasks, tag_of

__all__ = ["Collector", "TaskModule", "check_answer", "find_tasks", "tag_of"]
