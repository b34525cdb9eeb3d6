"""The ledger of counts, which counts each file once and returns the counts of any files."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import PathLike
from nci_frames.counting.logs.opening import ArrowStream, engine_of
from nci_frames.jobs.ledger.appending import OnChanged, Work, append, run_name
from nci_frames.jobs.ledger.files import SourceFile, Window, check_window, find_logs, named_frame
from nci_frames.jobs.ledger.settings import CountingSettings
from nci_frames.jobs.ledger.storage import Storage
from nci_frames.jobs.ledger.table import LedgerTable
from nci_frames.jobs.ledger.tidying import compact, retire
from nci_frames.jobs.ledger.verifying import find_damage
from nci_frames.jobs.ledger.view import SourceState, View
from nci_frames.schemas import checked


class CountsLedger:
    """Counts of prediction logs by file, in a Delta table that never counts a file twice.

    Files are identified by the hash of their content, so that a renamed or redelivered file is not counted
    again. The ledger stores sparse increments: the rows of each file from each threshold to below the next,
    at most n for n rows. Counts read from the ledger are bit for bit equal to counting all its files at once.
    Other settings (columns, thresholds) start another *generation* in the same ledger.

    Needs the extra ``jobs``: ``pip install 'nci_frames[jobs]'``.

    Parameters
    ----------
    path
        Folder, created if missing, or URL of an object store.
    storage_options
        Options for URLs, passed to delta-rs.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl, tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> log.write_parquet(folder / "monday.parquet")
    >>> ledger = nf.CountsLedger(folder / "ledger")
    >>> ledger.append(folder / "monday.parquet", thresholds=[0.3, 0.5])["event"].to_list()
    ['counted']
    >>> ledger.append(folder / "monday.parquet", thresholds=[0.3, 0.5])["event"].to_list()
    ['known']
    >>> ledger.read().drop("model", "resolution").rows()
    [(0.3, 2, 1, 0, 1), (0.5, 1, 0, 1, 2)]
    """

    @checked
    def __init__(self, path: PathLike, *, storage_options: Mapping[str, str] | None = None) -> None:
        self._table = LedgerTable(Storage(path, storage_options))

    @property
    def uri(self) -> str:
        """Path or URL of the Delta table."""
        return self._table.storage.uri

    @checked
    def append(
        self,
        source: PathLike | Sequence[PathLike] | ArrowStream,
        *,
        name: str | None = None,
        thresholds: Sequence[float] | str = "exact",
        run: str | None = None,
        window: Window | None = None,
        on_changed: OnChanged = "raise",
        keep_going: bool = False,
        **columns: Any,
    ) -> pl.DataFrame:
        """Count the files of a source that are new to the ledger.

        Parameters
        ----------
        source
            A Parquet or CSV file, a folder, a glob, or a list of these; or a Spark DataFrame, which is
            counted in Spark.
        name
            Identifier of a Spark DataFrame: a frame with a known name is not counted again, whatever its
            content.
        thresholds
            Strictly ascending numbers, or "exact" for every distinct score.
        run
            Name of the run; ``read(as_of=...)`` takes it to return the state after the run.
        window
            Start and end (excluded) of the time of the files, both with a time zone.
        on_changed
            How to treat a counted path whose content has changed: "raise"; "keep" the counts of the old
            content; or "recount" to replace them.
        keep_going
            Whether to skip files that cannot be counted, and count the others.
        **columns
            Options of ``scan_predictions``: ``model``, ``label``, ``score``, ``fold``, ``repeat``,
            ``segments``, ``scores``, ``positive``, ``on_invalid``, ``unit`` and ``weight``. With ``unit``,
            rows are also counted by the ``bucket`` of ``unit_buckets``; ``buckets`` is their number, 256 by
            default, at least 20. With ``weight``, rows are counted by weight, up to 1,000 weights per file.
            With ``label=None``, the scores of logs without labels are counted, as in ``count_scores``.

        Returns
        -------
        One row per file, in the order of the source:

        ======= ====== ====================================================== =======================
        column  dtype  meaning                                                null means
        ======= ====== ====================================================== =======================
        path    String path of the file                                       never
        source  String identity: the hash of its content and of the keys in   it could not be read
                       its folders; or of its name
        event   String "counted"; "known": counted before; "recounted":       never
                       replaced older counts; "changed": the old counts are
                       kept; "failed"
        rows    Int64  number of predictions in the file                      not counted this time
        counted Int64  number of counted predictions                          not counted this time
        dropped Int64  number of dropped invalid predictions                  not counted this time
        reason  String why it failed                                          it did not fail
        warning String warning, such as scores on another scale than the      no warning
                       thresholds; the old path of a known file that moved
        ======= ====== ====================================================== =======================

        Raises
        ------
        SourceError
            If the source has no file, or if a file cannot be read, changes meanwhile, or was counted with
            another content.
        SchemaError, InvalidRowsError
            If the columns or rows of a file are not predictions, or the types of its keys differ.
        LedgerError
            If the ledger is damaged.
        ParameterError
            If an option is wrong, or a file has too many groups.
        ConflictError
            If other writers commit first every time.
        OutputError
            If the ledger cannot be written.

        Warns
        -----
        NearlyUniqueKeyWarning, OutsideGridWarning
            For each file, as ``count_confusion`` does.
        SkippedFilesWarning
            If files were skipped, as ``scan_predictions`` skips them.
        """
        settings = CountingSettings.of(thresholds=thresholds, **columns)
        if engine_of(source) is not None:
            files = [named_frame(source, name, check_window(window))]
        elif name is not None:
            raise ParameterError("only a Spark DataFrame has a name; files are known by their content")
        else:
            files = find_logs(source, check_window(window), ledger=self.uri, stacklevel=4)
        work = Work(files, settings, run=run, on_changed=on_changed, keep_going=keep_going)
        appended = append(self._table, work)
        for warning in work.warnings():
            warnings.warn(warning, stacklevel=3)  # the caller of the public method, as above
        return appended

    def append_files(
        self, files: Sequence[SourceFile], settings: CountingSettings, **how: Any
    ) -> pl.DataFrame:
        """Count the given files as ``append`` does; *how* are options of ``Work``.

        Warnings are only in the column ``warning``.
        """
        return append(self._table, Work(files, settings, **how))

    def view(self, generation: str | None = None) -> View:
        """Return the current version of the ledger, for several queries of one version."""
        return View.newest(self._table, generation)

    def states(self, settings: CountingSettings) -> dict[str, SourceState]:
        """Return the state of the sources counted by *settings*; none without a ledger."""
        snapshot = self._table.snapshot()
        return View(self._table, snapshot, settings.generation).states() if snapshot else {}

    def plan(self, files: Sequence[SourceFile], settings: CountingSettings, **how: Any) -> pl.DataFrame:
        """Return what ``append_files`` would do with each file; files to count are "new".

        The columns of new files are checked, but no rows.
        """
        work = Work(files, settings, **how)
        snapshot = self._table.snapshot()
        view = View(self._table, snapshot, settings.generation) if snapshot else None
        work.compare(view.states() if view else {})
        work.look(view.dtypes if view else {})
        return work.report().with_columns(pl.col("event").replace("counted", "new"))

    @checked
    def read(
        self,
        *,
        generation: str | None = None,
        by: str | Sequence[str] | None = None,
        window: Window | None = None,
        as_of: str | int | None = None,
    ) -> pl.DataFrame:
        """Return the counts of the active sources.

        Parameters
        ----------
        generation
            Name of the settings, from ``generations``; None means the last used settings, those without
            labels only if there are no others.
        by
            Keys to keep besides the model; None keeps all keys.
        window
            Start and end (excluded): only sources whose window begins inside.
        as_of
            Run, or version of the Delta table, after which to read the ledger; None reads the current state.

        Returns
        -------
        The counts frame that ``count_confusion`` would return for the same files, also by ``bucket`` if they
        were counted with a unit. For logs without labels, the result of ``count_scores``.

        Raises
        ------
        LedgerError
            If the ledger, generation, run or version does not exist, or data are damaged or deleted.
        ParameterError
            If the window is not a start and a later end, both with a time zone.
        SchemaError
            If a key does not exist.
        """
        return self.view(generation).counts(by=by, window=check_window(window), as_of=as_of)

    @checked
    def sources(self, *, generation: str | None = None) -> pl.DataFrame:
        """Return the sources of the ledger, in the order of arrival.

        Parameters
        ----------
        generation
            Name of the settings; None as in ``read``.

        Returns
        -------
        One row per source:

        ========================= ======== ==================================================== ===========
        column                    dtype    meaning                                              null means
        ========================= ======== ==================================================== ===========
        source                    String   identity: a hash of the content                      never
        path                      String   path when it was counted                             never
        active                    Boolean  whether its rows count                               never
        event                     String   last event: "counted" or "retired"                   never
        run                       String   run of the last event                                never
        sequence                  Int64    version of the Delta table after that event          never
        bytes                     Int64    size of the file                                     never
        rows, counted, dropped    Int64    numbers of all, counted and dropped predictions      never
        positives, negatives      Int64    control totals: the counted predictions by class     never
        window_start, window_end  Datetime time of the file, in UTC                             none given
        ========================= ======== ==================================================== ===========

        Raises
        ------
        LedgerError
            If there is no ledger, or it is damaged.
        """
        return self.view(generation).sources()

    def generations(self) -> pl.DataFrame:
        """Return the settings (generations) of the counts in the ledger.

        Returns
        -------
        One row per generation: ``generation`` (a hash), ``settings`` (as JSON) and ``sequence`` (the version
        of the Delta table that added it).

        Raises
        ------
        LedgerError
            If there is no ledger, or it is damaged.
        """
        snapshot = self._table.existing()
        views = [View(self._table, snapshot, name) for name in snapshot.generations]
        rows = [(view.generation, view.settings.to_json(), view.made["sequence"]) for view in views]
        schema = {"generation": pl.String, "settings": pl.String, "sequence": pl.Int64}
        return pl.DataFrame(rows, schema=schema, orient="row").sort("sequence")

    @checked
    def verify(self, *, files: bool = False) -> pl.DataFrame:
        """Verify all data of the ledger.

        Compare the log of the Delta table and every data file with their hashes, and the increments of every
        source with its control totals.

        Parameters
        ----------
        files
            Whether to check also that each source file exists and has the same content.

        Returns
        -------
        One row per problem, none if all is well: ``what`` ("ledger" or "source"), ``where`` (a file or a
        source) and ``found``.

        Raises
        ------
        LedgerError
            If there is no ledger, or an object store cannot be read.
        """
        schema = {"what": pl.String, "where": pl.String, "found": pl.String}
        return pl.DataFrame(find_damage(self._table, files=files), schema=schema, orient="row")

    @checked
    def retire(self, *identities: str, run: str | None = None, generation: str | None = None) -> None:
        """Exclude the rows of sources; a file with the same content is counted again if it arrives.

        Parameters
        ----------
        *identities
            Sources, as named by ``sources``, or unique prefixes of these names.
        run
            Name of the run.
        generation
            Name of the settings; None as in ``read``.

        Raises
        ------
        LedgerError
            If no source, or more than one, matches.
        """
        retire(self.view(generation), identities, run_name(run))

    @checked
    def rebuild(self, *, generation: str | None = None, run: str | None = None) -> pl.DataFrame:
        """Count the files of all sources again, at their old paths, and replace the counts.

        Missing files keep their counts. Files whose content has changed are recounted.

        Parameters
        ----------
        generation
            Name of the settings; None as in ``read``.
        run
            Name of the run.

        Returns
        -------
        The result of ``append`` for all files.

        Raises
        ------
        NciFramesError
            As ``append`` does.
        """
        view = self.view(generation)
        files = [state.file for state in view.active() if Path(state.path).exists()]
        return self.append_files(files, view.settings, run=run, on_changed="recount", anew=True)

    @checked
    def compact(self, *, generation: str | None = None) -> int:
        """Merge the small files of a generation, delete unused counts, and shorten the log.

        Earlier states with sources that no longer count cannot be read with ``as_of`` afterwards. Running
        readers may fail, since files are deleted: run it while nothing reads the ledger.

        Parameters
        ----------
        generation
            Name of the settings; None as in ``read``.

        Returns
        -------
        The number of merged files.

        Raises
        ------
        LedgerError
            If there is no ledger, or it is damaged.
        ConflictError
            If another writer commits first.
        """
        return compact(self.view(generation))
