"""The output of a job and its sources: what a run writes, the next one must not find as a log."""

import os
from collections.abc import Sequence
from pathlib import Path

from nci_frames.base.errors import ParameterError
from nci_frames.base.folders import found_again
from nci_frames.base.urls import local_path
from nci_frames.jobs.job_file.loading import JobFile
from nci_frames.jobs.job_file.windows import check_template

#: What a run writes, as far down as a glob may name it.
_RUNS = ("x", "x/points.parquet", "x/tables", "x/tables/counts.parquet")
_LEDGER = (
    "ledger_part=x",
    "ledger_part=x/ledger_generation=x",
    "ledger_part=x/ledger_generation=x/x.parquet",
)


def check_output_apart(file: JobFile) -> None:
    """Refuse a folder of runs, or a ledger, that lies among the sources.

    A path with the date of a window names the folders of its windows, and so none of these.

    Raises
    ------
    ParameterError
        If a source would find one of them.
    """
    job = file.job
    sources = [job.source, *([] if job.traffic is None else [job.traffic])]
    paths = [path for source in sources for path in _listed(source.path) if check_template(path) is None]
    for key, output, below in (
        ("folder", os.path.join(job.output.folder, "runs"), _RUNS),  # noqa: PTH118  # may be a URL
        ("ledger", job.output.ledger, _LEDGER),
    ):
        target = file.resolve(output)
        if "://" in target:
            continue
        for path in paths:
            source = local_path(file.resolve(path))
            if "://" not in source and found_again(source, Path(os.path.realpath(target)), below):
                raise ParameterError(
                    f"output.{key} lies among the sources, which would find it as a log",
                    found=f"source {path!r}, output {output!r}",
                    hint="name another folder for the output, or one for the logs",
                )


def _listed(path: str | Sequence[str]) -> Sequence[str]:
    return [path] if isinstance(path, str) else path
