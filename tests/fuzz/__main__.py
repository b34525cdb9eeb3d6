"""Run the campaigns, print what came of them, and write how to run each failing case again.

``python -m tests.fuzz --seed 1 --scale 0.1 --campaign 'odd values'``
"""

import sys
from pathlib import Path

import click

from tests.fuzz.campaigns import CAMPAIGNS
from tests.fuzz.runner import Outcome, run_cases
from tests.fuzz.table import failing_lines, table

FAILURES = Path("fuzz-failures.txt")


@click.command()
@click.option("--seed", default=1, show_default=True, help="Seed of every case.")
@click.option("--scale", default=1.0, show_default=True, help="Factor of the number of cases.")
@click.option("--case", "only", metavar="CAMPAIGN/NUMBER", help="Run one case, as a failing line names it.")
@click.option("--campaign", "names", multiple=True, help="Run these campaigns; may be repeated.")
@click.option("--workers", default=2, show_default=True, help="Processes at a time.")
def main(seed: int, scale: float, only: str | None, names: tuple[str, ...], workers: int) -> None:
    by_name = {campaign.name: campaign for campaign in CAMPAIGNS}
    for name in (*names, *([only.rsplit("/", 1)[0]] if only else [])):
        if name not in by_name:
            raise click.UsageError(f"{name!r} is none of {', '.join(by_name)}")
    if only:
        name, number = only.rsplit("/", 1)
        wanted = [(by_name[name], int(number))]
    else:
        chosen = [by_name[name] for name in names] or list(CAMPAIGNS)
        wanted = [(c, number) for c in chosen for number in range(max(1, round(c.size * scale)))]
    outcomes: list[Outcome] = []
    for outcome in run_cases(wanted, seed, workers):
        outcomes.append(outcome)
        if sys.stderr.isatty():
            click.echo(f"\r{len(outcomes):,} of {len(wanted):,}", nl=False, err=True)
    click.echo(table(outcomes, seed, scale))
    lines = failing_lines(outcomes, seed)
    FAILURES.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if only:
        click.echo("\n".join(f"{o.label}: {o.found.kind}: {o.found.detail}" for o in outcomes))
    if lines:
        click.echo("\n".join(["", *lines[:20], f"all {len(lines):,} failing cases: {FAILURES}"]))
    sys.exit(1 if lines else 0)


if __name__ == "__main__":
    main()
