"""Example prediction logs: real ones, and synthetic ones whose true curves are known."""

from nci_frames.demo.real import TASKS, Task, write_demo_logs
from nci_frames.demo.synthetic import ScoreLaw, synthetic_laws, write_synthetic_logs

__all__ = ["TASKS", "ScoreLaw", "Task", "synthetic_laws", "write_demo_logs", "write_synthetic_logs"]
