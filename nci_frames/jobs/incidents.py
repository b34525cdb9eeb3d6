"""The history of a job's gates -> incidents: failures with their first run, and resolved failures."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from nci_frames.jobs.gates.verdicts import as_json
from nci_frames.jobs.job_file.gates import Gate
from nci_frames.reporting.gates import bounded, promised, segment_name
from nci_frames.tables.names import printable
from nci_frames.tables.numbers import format_grid

#: Incremented if a field of the summary changes its meaning or is removed.
SUMMARY_VERSION = 1
_PLACE = ("gate", "model", "segment")
INCIDENTS: dict[str, Any] = {
    **dict.fromkeys(("state", *_PLACE, "metric"), pl.String),
    **dict.fromkeys(("prevalence", "value", "lower", "upper"), pl.Float64),
    **dict.fromkeys(("promise", "since_run", "run", "severity", "owner"), pl.String),
    "tags": pl.List(pl.String),
}


def incidents(history: pl.DataFrame, run: str, gates: Sequence[Gate]) -> pl.DataFrame:
    """Return the failures as of a run, and the incidents that it resolved.

    An undecided run neither begins nor resolves an incident. If a gate asks for another metric than before,
    its earlier verdicts are left out.

    Parameters
    ----------
    history
        One row per run, gate, model and segment, up to the run itself.
    run
        The run.
    gates
        The gates of the job; incidents of removed gates are left out.

    Returns
    -------
    The columns of ``INCIDENTS``: ``state`` is "failing" or "resolved", ``since_run`` the first failed run,
    and ``run`` the last decided run, which has the value. Failing incidents come first.
    """
    known = {gate.name: gate for gate in gates}
    # Each prevalence of a champion is a separate condition.
    apart = pl.when(pl.col("kind") == "champion").then("prevalence").alias("__apart")
    asked = pl.col("metric") == pl.col("metric").last().over("gate")
    alike = history.sort("sequence", maintain_order=True).filter(pl.col("gate").is_in(list(known)), asked)
    places = alike.filter(pl.col("verdict").is_in(["pass", "fail"])).with_columns(apart)
    found = []
    for rows in places.partition_by(*_PLACE, "__apart", maintain_order=True):
        failed = (rows["verdict"] == "fail").to_list()
        last = rows.row(-1, named=True)
        resolved = not failed[-1] and last["run"] == run
        if not failed[-1] and not (resolved and failed[-2:-1] == [True]):
            continue
        # The consecutive failures that end with the last row, or, if resolved, before it.
        end = len(failed) - resolved
        first = next((at + 1 for at in reversed(range(end)) if not failed[at]), 0)
        gate = known[last["gate"]]
        told = {"state": "resolved" if resolved else "failing", "promise": promised(last)}
        of_gate = {"owner": gate.owner, "tags": list(gate.tags)}
        found.append(last | told | of_gate | {"since_run": rows["run"][first]})
    table = pl.DataFrame([{name: row[name] for name in INCIDENTS} for row in found], schema=INCIDENTS)
    return table.sort("state", maintain_order=True)


def summary_json(line: str, facts: Mapping[str, Any], table: pl.DataFrame) -> str:
    """Return the JSON for a webhook: the line for a chat, facts of the run, and its incidents."""
    return as_json({"version": SUMMARY_VERSION, "line": line, **facts}, "incidents", table)


def summary_text(line: str, table: pl.DataFrame) -> str:
    """Return the text of a mail: the line for a chat, and one line per incident."""
    return "\n".join([line, *_lines(table)]) + "\n"


def _lines(table: pl.DataFrame) -> Iterator[str]:
    for row in table.to_dicts():
        when = f"since run {row['since_run']}"
        state = (
            f"FAILING {when}" if row["state"] == "failing" else f"RESOLVED in run {row['run']}, failed {when}"
        )
        where = f"{row['gate']}: {row['model']}, {segment_name(row['segment'])}"
        at = "" if row["prevalence"] is None else f" at prevalence {format_grid(row['prevalence'])}"
        told = f"{row['metric']} {bounded(row)}{at}, promised {row['promise']}"
        owner = f"; owner {row['owner']}" if row["owner"] else ""
        tags = f" [{', '.join(row['tags'])}]" if row["tags"] else ""
        yield printable(f"{state}: {where}: {told}{owner}{tags}")
