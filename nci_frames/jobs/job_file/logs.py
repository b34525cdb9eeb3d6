"""Which files a job counts: those with labels, and those without."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from nci_frames.jobs.job_file.gates import Model, as_problem
from nci_frames.jobs.job_file.windows import check_template


def _path(path: str) -> str:
    with as_problem():
        check_template(path)
    return path


#: An empty path would be the folder of the job file.
LogPath = Annotated[str, Field(min_length=1), AfterValidator(_path)]
#: As windows are days or hours: more of them than there are years.
_MOST_WINDOWS = 100_000_000


class Source(Model):
    """Which files are counted."""

    path: Annotated[
        LogPath | Annotated[list[LogPath], Field(min_length=1)],
        Field(
            description="Parquet file, folder or glob, or a list of them, relative to the job file. "
            "{date:%Y-%m-%d} stands for the date of a window (with %H: of an hour), in UTC."
        ),
    ]
    lookback: Annotated[
        int | None,
        Field(
            ge=0,
            le=_MOST_WINDOWS,
            description="Windows before the newest that are looked at again; all if absent.",
        ),
    ] = None
    on_changed: Annotated[
        Literal["raise", "keep", "recount"],
        Field(description="What to do with a file that was counted with another content."),
    ] = "raise"


class TrafficColumns(Model):
    """Which column of the logs without labels plays which part."""

    model: str = "model"
    score: str = "score"
    scores: Annotated[dict[str, str], Field(default_factory=dict, description="Score column by model.")]
    on_invalid: Annotated[
        Literal["raise", "drop"], Field(description="What to do with rows without a valid score.")
    ] = "raise"


class Traffic(Source):
    """Logs without labels, whose prevalence is estimated from their scores."""

    columns: Annotated[
        TrafficColumns | None, Field(description="Columns of these logs; those of the job if absent.")
    ] = None
    segments: Annotated[
        tuple[str, ...] | None,
        Field(description="Keys by whose values it is estimated, too; all of segments.keys if absent."),
    ] = None
    windows: Annotated[
        Annotated[int, Field(ge=1)] | Literal["all"],
        Field(description="Newest windows whose rows are taken together."),
    ] = 1
    method: Annotated[
        Literal["em", "adjusted_count", "matching"], Field(description="How the mixture is fitted.")
    ] = "em"
    level: Annotated[float, Field(gt=0, lt=1, description="Confidence of the intervals.")] = 0.95
