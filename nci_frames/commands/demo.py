"""The command ``demo``: arguments only."""

from pathlib import Path
from typing import Any

import click

from nci_frames.base.interrupts import clean_up_when_interrupted
from nci_frames.commands.ending import Command
from nci_frames.options.kinds import ROWS
from nci_frames.options.logs import out_option, verbose_option
from nci_frames.options.report import ReportOptions
from nci_frames.options.setting import options_of, taken


@click.command(cls=Command)
@options_of(ReportOptions, "title")
@out_option("demo-output", "Folder for the logs and the reports; created if missing.")
@verbose_option
@click.option("--seed", type=ROWS, default=0, help="Seed of the cross-validation.")
def demo(out: Path, seed: int, *, verbose: bool, **given: Any) -> None:
    """Train classifiers on three real data sets, log their predictions, and report on the logs.

    A fourth, synthetic log has a rare event: 1 in 200 of 100,000 rows.

    Needs scikit-learn: pip install 'nci_frames[demo]'.

    \b
    Example:
      nci-frames demo --out demo-output
    """
    from rich.console import Console

    from nci_frames.commands.shown_report import run_shown
    from nci_frames.demo import write_demo_logs, write_synthetic_logs
    from nci_frames.reporting.terminal import print_conclusion

    clean_up_when_interrupted()
    # Check the options before training.
    taken(ReportOptions, dict(given)).question()
    click.echo("training ten classifiers by 2 x 5-fold cross-validation ...", err=True)
    logs = write_demo_logs(out / "logs", seed=seed)
    # The logs of scikit-learn are too small for prevalences below 1 in 50.
    rare = logs / "dataset=rare_event"
    rare.mkdir(exist_ok=True)
    write_synthetic_logs(rare, rows=400_000, models=4, segments=4, prevalence=0.005, seed=seed)
    answers = {}
    for dataset in sorted(path for path in logs.iterdir() if path.is_dir()):
        name = dataset.name.removeprefix("dataset=")
        words = name.replace("_", " ")
        models, more = ("four models", {}) if dataset == rare else ("ten classifiers", {"repeat": "repeat"})
        answers[words] = run_shown(
            str(dataset),
            out / "reports" / name,
            taken(ReportOptions, {**given, "title": f"{words}: {models} as the class balance changes"}),
            segments=("segment",),
            columns={"fold": "fold", "unit": "unit", **more},
            show="tables" if verbose else "nothing",
        ).said
    print_conclusion(answers, Console(highlight=False))
