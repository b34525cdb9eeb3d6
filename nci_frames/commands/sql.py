"""The command ``sql``: arguments only."""

from typing import Any, cast, get_args

import click

from nci_frames.base.typing import Dialect
from nci_frames.commands.ending import Command
from nci_frames.options.kinds import VALUE
from nci_frames.options.logs import choice_option, column_options, segments_option, thresholds_option


@click.command(cls=Command)
@click.argument("table")
@click.option(
    "--dialect",
    "-d",
    type=click.Choice(get_args(Dialect)),
    required=True,
    help="Database that will run the query.",
)
@thresholds_option("uniform:101", exact=False)
@segments_option("Column to count by; may be repeated.")
@column_options("model", "label", "score", "fold", "weight")
@click.option("--positive", type=VALUE, default="1", help="Label that means positive.")
@click.option("--negative", type=VALUE, help="Label that means negative.  [default: 0, or false]")
@choice_option("--score-type", ["float64", "float32"], "Precision of the score column.")
def sql(table: str, thresholds: str, **options: Any) -> None:
    """Print a SQL query that counts the predictions in TABLE with one GROUP BY.

    Its result is small; read it with nci_frames.read_counts. Needs sqlglot: pip install
    'nci_frames[sql]'.

    \b
    Example:
      nci-frames sql analytics.predictions --dialect bigquery --segments country
      nci-frames sql "read_parquet('logs/*.parquet')" --dialect duckdb | duckdb
    """
    from nci_frames.counting.sql import counting_sql
    from nci_frames.counting.thresholds.grids import named_thresholds

    click.echo(counting_sql(table, thresholds=cast("Any", named_thresholds(thresholds)), **options))
