"""Code that runs in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path


def in_python(code: str, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code of Python in the folder of the project, with words as its arguments."""
    command = [sys.executable, "-W", "ignore", "-c", code, *map(str, words)]
    options = {"cwd": Path(__file__).parents[1], "env": os.environ | environment}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, **options)
