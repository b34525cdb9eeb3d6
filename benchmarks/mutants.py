"""Change the package by chance in many places, one by one, and tell how many changes the quick tests notice.

    python -m benchmarks.mutants --seed 1 --count 120

A site is an operator, a number, a truth value, a condition or a returned value; sites are drawn uniformly.
The quick tests run once under coverage, which tells the tests of each line. A mutant then meets the tests of
its lines (of its whole file, where only the import runs them) and those of the mirrored folder, until one
fails or takes too long. Not seen: what tests do in other processes. A line that runs once for several tests,
whose result is kept, counts for the first of them.
"""

import argparse
import ast
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from coverage import Coverage, CoverageData

QUICK = (
    "-m",
    "not browser and not thorough and not long and not spark and not slow",
    "--hypothesis-profile",
    "quick",
)
REPEATABLE = ("-q", "-p", "no:randomly", "-p", "no:cacheprovider", "--hypothesis-seed", "1")
KINDS = "Lt LtE Gt GtE Eq NotEq Is IsNot In NotIn And Or Add Sub Mult Div FloorDiv Mod Pow BitAnd BitOr"
OTHERS = "<=,<,>=,>,!=,==,is not,is,not in,in,or,and,-,+,/,*,*,*,*,|,&"
SWAPPED = {getattr(ast, kind): other for kind, other in zip(KINDS.split(), OTHERS.split(","), strict=True)}


def changes(node: ast.AST) -> list[str]:
    """Return what may stand in place of an expression."""
    match node:
        case ast.Constant(value=bool(value)):
            return [str(not value)]
        case ast.Constant(value=int(value) | float(value)):
            return [repr(value + 1), *([f"(-{value!r})", "0"] if value else [])]
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return [f"({ast.unparse(left)} {SWAPPED[type(op)]} {ast.unparse(right)})"]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in SWAPPED:
            return [f"(({ast.unparse(left)}) {SWAPPED[type(op)]} ({ast.unparse(right)}))"]
        case ast.BoolOp(op=op, values=values):
            return ["(" + f" {SWAPPED[type(op)]} ".join(f"({ast.unparse(value)})" for value in values) + ")"]
    return []


def sites(node: ast.AST, statement: ast.stmt | None = None) -> Iterator[tuple[ast.expr, ast.stmt, list[str]]]:
    """Go through the expressions that may change, each with its statement and what may stand there."""
    for name, field in ast.iter_fields(node):
        for child in field if isinstance(field, list) else [field]:
            typing = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
            if typing or name in {"annotation", "returns"}:
                continue
            if isinstance(child, ast.JoinedStr | ast.pattern) or not isinstance(child, ast.AST):
                continue
            inner = child if isinstance(child, ast.stmt) else statement
            if isinstance(child, ast.expr) and inner is not None:
                options = changes(child)
                if name in {"test", "ifs"}:
                    options += [f"(not ({ast.unparse(child)}))"]
                if isinstance(node, ast.Return) and ast.unparse(child) != "None":
                    truth = isinstance(child, ast.Compare | ast.BoolOp | ast.UnaryOp)
                    options += [f"(not ({ast.unparse(child)}))" if truth else "None"]
                if options:
                    yield child, inner, options
            yield from sites(child, inner)


def replaced(text: str, node: ast.expr, new: str) -> str:
    """Put other code in place of an expression."""
    lines = text.encode().splitlines(keepends=True)
    first, last = node.lineno - 1, (node.end_lineno or 0) - 1
    start, end = lines[first][: node.col_offset], lines[last][node.end_col_offset :]
    return b"".join([*lines[:first], start, new.encode(), end, *lines[last + 1 :]]).decode()


class Learner:
    """Tell coverage which test runs, and note how long those that pass take."""

    def __init__(self, measured):
        self.measured, self.seconds, self.failed = measured, Counter(), set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.measured.switch_context(item.nodeid)
        return (yield)

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] += report.duration
        if report.outcome != "passed":
            self.failed.add(report.nodeid)


def learn(folder: Path) -> None:
    """Run the quick tests of the current folder once, and keep the lines and the seconds of each."""
    measured = Coverage(folder / "lines", include=[f"{Path.cwd()}/nci_frames/*"], messages=False)
    learner = Learner(measured)
    measured.start()
    pytest.main([*QUICK, *REPEATABLE], plugins=[learner])
    measured.stop()
    measured.save()
    passed = {test: seconds for test, seconds in learner.seconds.items() if test not in learner.failed}
    (folder / "seconds.json").write_text(json.dumps(passed), encoding="utf-8")


class Tests:
    """The tests of each line of a tree."""

    def __init__(self, tree: Path, learned: Path):
        self.tree, self.seconds = tree, json.loads((learned / "seconds.json").read_text("utf-8"))
        data = CoverageData(learned / "lines")
        data.read()
        self.lines = {file: data.contexts_by_lineno(file) for file in data.measured_files()}
        self.breadth = Counter(
            test for file in self.lines.values() for tests in file.values() for test in tests
        )

    def of(self, file: str, node: ast.expr, statement: ast.stmt) -> list[str]:
        """Return the tests of an expression, first those of its folder that run the least."""
        lines = self.lines.get(str(self.tree / file), {})
        end = statement.body[0].lineno - 1 if hasattr(statement, "body") else statement.end_lineno
        own, around = range(node.lineno, node.end_lineno + 1), range(statement.lineno, end + 1)
        wider = (
            {test for number in numbers for test in lines.get(number, ())} for numbers in (own, around, lines)
        )
        found = next((tests for tests in ({*tests} & {*self.seconds} for tests in wider) if tests), set())
        home = Path("tests", *Path(file).parts[1:-1])
        mirrored = {test for test in self.seconds if Path(test.split("::")[0]).parent == home}
        order = {
            test: (test not in found, test not in mirrored, self.breadth[test], test)
            for test in found | mirrored
        }
        return sorted(order, key=order.__getitem__)


def survives(tree: Path, file: str, text: str, tests: list[str], limit: float) -> bool:
    """Try a changed file in a copy of the tree."""
    with tempfile.TemporaryDirectory() as folder:
        copy, names = shutil.copytree(tree, Path(folder, "tree")), Path(folder, "names")
        Path(copy, file).write_text(text, encoding="utf-8")
        names.write_text("\n".join(tests), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-x", *QUICK[2:], *REPEATABLE, f"@{names}"]
        settings = {"cwd": copy, "env": environment(copy), "capture_output": True, "timeout": limit}
        with contextlib.suppress(subprocess.TimeoutExpired):
            return bool(tests) and subprocess.run(command, check=False, **settings).returncode == 0
    return False


def environment(*path: Path) -> dict[str, str]:
    """Return the environment in which modules come from these folders, and are compiled once."""
    own = {"PYTHONPATH": os.pathsep.join(map(str, path)), "OPENBLAS_NUM_THREADS": "1"}
    return os.environ | own | {"PYTHONDONTWRITEBYTECODE": ""}


def measure(source: Path, seed: int, count: int, folder: Path) -> None:
    """Draw mutants, try each, and print those that nobody notices."""
    known = subprocess.run(["git", "ls-files"], cwd=source, capture_output=True, check=True, text=True).stdout
    for name in known.splitlines():
        (folder / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / name, folder / "tree" / name)
    tree, own = folder / "tree", Path(__file__).parents[1]
    command = [sys.executable, "-m", "benchmarks.mutants", "--learn", folder]
    subprocess.run(command, cwd=tree, env=environment(tree, own), check=True, stdout=sys.stderr)
    tests, draw, killed = Tests(tree, folder), random.Random(seed), 0  # noqa: S311
    files = [str(file.relative_to(tree)) for file in sorted(tree.glob("nci_frames/**/*.py"))]
    texts = {file: (tree / file).read_text("utf-8") for file in files}
    found = [(file, *site) for file, text in texts.items() for site in sites(ast.parse(text))]
    print(f"{len(found):,} sites, {len(tests.seconds):,} tests", flush=True)
    for file, node, statement, ways in draw.sample(found, count):
        new, chosen = draw.choice(ways), tests.of(file, node, statement)
        limit = 60 + 5 * sum(tests.seconds[test] for test in chosen)
        if survives(tree, file, replaced(texts[file], node, new), chosen, limit):
            print(f"{file}:{node.lineno}: {ast.unparse(node)} -> {new} ({len(chosen)} tests)", flush=True)
        else:
            killed += 1
    print(f"seed {seed}: {killed} of {count} killed: {killed / count:.1%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--tree", type=Path, default=Path.cwd(), help="another tree, such as one of before")
    parser.add_argument("--learn", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.learn:
            learn(options.learn)
        else:
            measure(options.tree, options.seed, options.count, Path(folder).resolve())


if __name__ == "__main__":
    main()
