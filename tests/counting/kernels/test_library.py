"""The loops in C are those of the sources, and compile without a warning."""

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from nci_frames.counting.kernels import library

COMPILER = (sysconfig.get_config_var("CC") or "cc").split()[0]


def test_where_there_is_a_compiler_the_package_has_the_loops_in_c() -> None:
    here = library.library_path().exists()
    assert here or shutil.which(COMPILER) is None, "the loops are older than their sources: install again"


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which(COMPILER) is None, reason="no C compiler")
def test_the_loops_compile_without_a_warning(tmp_path: Path) -> None:
    strict = ["-std=c11", "-O3", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-fPIC", "-shared"]
    subprocess.run([COMPILER, *strict, library.sources()[0], "-o", tmp_path / "loops"], check=True)
