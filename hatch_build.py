"""Compile the inner loops of counting, if there is a C compiler; without one, the package uses NumPy."""

import os
import shlex
import subprocess
import sysconfig
import zlib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Without contraction, results are the same on all processors.
_FLAGS = "-std=c11 -O3 -ffp-contract=off -fPIC -shared"


def compile_kernels(folder: Path) -> Path:
    """Compile the loops beside their sources, and return the library, where ``library.py`` expects it.

    Raises
    ------
    RuntimeError
        If no compiler does it.
    """
    sources = sorted(folder.glob("*.[ch]"))
    version = zlib.crc32(b"".join(source.read_bytes() for source in sources))
    library = folder / f"kernels_{version:08x}.so"
    written = library.with_suffix(f".{os.getpid()}.so")
    problems = []
    for compiler in filter(None, (os.environ.get("CC"), sysconfig.get_config_var("CC"), "cc")):
        command = [*shlex.split(compiler), *shlex.split(_FLAGS), str(sources[0]), "-o", str(written)]
        try:
            subprocess.run(command, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            problems.append(str(error))
        else:
            written.replace(library)
            return library
    raise RuntimeError("; ".join(problems))


class KernelsHook(BuildHookInterface[Any]):
    """Adds the compiled loops to a wheel; an editable installation finds them beside their sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the loops for this platform, which the name of the wheel then tells."""
        if self.target_name != "wheel":
            return
        try:
            library = compile_kernels(Path(self.root, "nci_frames", "counting", "kernels"))
        except RuntimeError as error:
            self.app.display_warning(f"counting is slower without loops in C: {error}")
            return
        build_data["artifacts"].append(f"/{library.relative_to(self.root)}")
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data.update(pure_python=False, tag=f"py3-none-{platform}")
