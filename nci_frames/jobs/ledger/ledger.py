"""The ledger of counts: files in, each counted once; counts of any of them out."""

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
    """Counts of prediction logs, file by file, in a Delta table: a file is never counted twice.

    A file is known by the hash of its content, so that it is not counted again when it is renamed or
    delivered once more. What is kept are sparse increments: of each file, the rows from each threshold to
    before the next, so that a file of n rows takes at most n of them. Counts read from the ledger are
    bit for bit those of counting all its files at once. Other settings (columns, thresholds) start another
    *generation* in the same ledger.

    Needs the extra ``jobs``: ``pip install 'nci_frames[jobs]'``.

    Parameters
    ----------
    path
        A folder, which is created if missing, or a URL of an object store.
    storage_options
        Passed to delta-rs for URLs.

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
        """Where the Delta table is."""
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
        """Count the files of a source that the ledger does not know yet.

        Parameters
        ----------
        source
            A Parquet or CSV file, a folder, a glob, or a list of them; or a Spark DataFrame, which is
            counted in Spark.
        name
            By which a Spark DataFrame is known: one of a known name is not counted again, whatever is in it.
        thresholds
            Strictly ascending numbers, or "exact" for every distinct score.
        run
            Name of the run that counts them, by which ``read(as_of=...)`` finds this state again.
        window
            Start and end (excluded) of the time that the files belong to, both with a time zone.
        on_changed
            What to do with a path whose file was counted with another content: "raise"; "keep" the counts
            of the old content; or "recount", whereby the new content takes the place of the old.
        keep_going
            Whether to count the good files where others cannot be counted.
        **columns
            Options of ``scan_predictions``: ``model``, ``label``, ``score``, ``fold``, ``repeat``,
            ``segments``, ``scores``, ``positive``, ``on_invalid``, and ``unit``: rows are then counted by the
            ``bucket`` of ``unit_buckets`` as well, of which there are ``buckets``, 256 by default and 20 at
            least; and ``weight``: rows are counted by what they weigh, up to 1,000 weights in a file. Of logs
            without labels, ``label=None``: their scores are counted, as ``count_scores`` does.

        Returns
        -------
        One row for each file, in the order of the source:

        ======= ====== ====================================================== =======================
        column  dtype  meaning                                                null means
        ======= ====== ====================================================== =======================
        path    String where the file is                                      never
        source  String its identity: the hash of its content, and of keys     it could not be read
                       that its folders spell out; or of its name
        event   String "counted"; "known": it was counted before;             never
                       "recounted": in place of older counts; "changed": the
                       older content counts; "failed"
        rows    Int64  predictions in the file                                not counted this time
        counted Int64  predictions that were counted                          not counted this time
        dropped Int64  invalid predictions that were dropped                  not counted this time
        reason  String why it failed                                          it did not
        warning String what is doubtful, such as scores that are not on the   nothing, or not counted
                       scale of the thresholds                                this time
        ======= ====== ====================================================== =======================

        Raises
        ------
        SourceError
            If the source has no file, a file cannot be read, changes meanwhile, or was counted with another
            content.
        SchemaError, InvalidRowsError
            If a file's columns or rows are not those of predictions, or its keys have other types.
        LedgerError
            If the ledger is damaged.
        ParameterError
            If an option is wrong, or a file has too many groups.
        ConflictError
            If other writers always come first.
        OutputError
            If the ledger cannot be written.

        Warns
        -----
        NearlyUniqueKeyWarning, OutsideGridWarning
            Of each file, as ``count_confusion`` does.
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
            warnings.warn(warning, stacklevel=3)  # whoever called the checked method, as above
        return appended

    def append_files(
        self, files: Sequence[SourceFile], settings: CountingSettings, **how: Any
    ) -> pl.DataFrame:
        """Count files that were found already, as ``append`` does; *how* is of ``Work``.

        What is doubtful is told in the column ``warning`` alone.
        """
        return append(self._table, Work(files, settings, **how))

    def view(self, generation: str | None = None) -> View:
        """Return what the ledger says now, for several questions about one version."""
        return View.newest(self._table, generation)

    def states(self, settings: CountingSettings) -> dict[str, SourceState]:
        """Return what became of the sources that were counted by some settings; none without a ledger."""
        snapshot = self._table.snapshot()
        return View(self._table, snapshot, settings.generation).states() if snapshot else {}

    def plan(self, files: Sequence[SourceFile], settings: CountingSettings, **how: Any) -> pl.DataFrame:
        """Say of each file what ``append_files`` would do; files that it would count are "new".

        Of a file that is new, the columns are looked at, and none of its rows.
        """
        work = Work(files, settings, **how)
        work.compare(self.states(settings))
        work.look()
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
        """Return the counts of the sources that count.

        Parameters
        ----------
        generation
            The settings, as ``generations`` names them; None takes those that were used last, and those
            without labels only if there are no others.
        by
            The keys to keep besides the model; None keeps every key there is.
        window
            Start and end (excluded): only sources whose window begins within.
        as_of
            The run, or the version of the Delta table, after which the ledger is looked at; None looks at it
            as it is now.

        Returns
        -------
        A counts frame, as ``count_confusion`` would return of the same files; if they were counted with a
        unit, by ``bucket`` as well. Of logs without labels, what ``count_scores`` would return.

        Raises
        ------
        LedgerError
            If there is no ledger, no such generation, run or version, or data is damaged or no longer there.
        ParameterError
            If the window is not a start and a later end, both with a time zone.
        SchemaError
            If there is no such key.
        """
        return self.view(generation).counts(by=by, window=check_window(window), as_of=as_of)

    @checked
    def sources(self, *, generation: str | None = None) -> pl.DataFrame:
        """Return the sources that the ledger knows, in the order in which they came.

        Parameters
        ----------
        generation
            The settings; None takes those that ``read`` takes.

        Returns
        -------
        One row for each source:

        ========================= ======== ==================================================== ===========
        column                    dtype    meaning                                              null means
        ========================= ======== ==================================================== ===========
        source                    String   its identity: a hash of its content                  never
        path                      String   where it was when it was counted                     never
        active                    Boolean  whether its rows count                               never
        event                     String   what happened last: "counted", "retired"             never
        run                       String   the run that did so                                  never
        sequence                  Int64    the version of the Delta table that it made          never
        bytes                     Int64    size of the file                                     never
        rows, counted, dropped    Int64    predictions in it, and what became of them           never
        positives, negatives      Int64    control totals: the counted predictions by class     never
        window_start, window_end  Datetime the time that it belongs to, in UTC                  none given
        ========================= ======== ==================================================== ===========

        Raises
        ------
        LedgerError
            If there is no ledger, or it is damaged.
        """
        return self.view(generation).sources()

    def generations(self) -> pl.DataFrame:
        """Return the settings by which the ledger holds counts.

        Returns
        -------
        One row for each: ``generation`` (a hash), ``settings`` (as JSON) and ``sequence`` (the version of the
        Delta table that it came with).

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
        """Check everything the ledger holds.

        The log of the Delta table and every data file against their hashes, and the increments of every
        source against its control totals.

        Parameters
        ----------
        files
            Whether to read the source files, too: whether each is still there, and has the same content.

        Returns
        -------
        One row for each problem, none if all is well: ``what`` ("ledger" or "source"), ``where`` (a file,
        or a source) and ``found``.

        Raises
        ------
        LedgerError
            If there is no ledger, or an object store cannot be read.
        """
        schema = {"what": pl.String, "where": pl.String, "found": pl.String}
        return pl.DataFrame(find_damage(self._table, files=files), schema=schema, orient="row")

    @checked
    def retire(self, *identities: str, run: str | None = None, generation: str | None = None) -> None:
        """Let the rows of sources count no longer; a file of that content is counted again if it comes.

        Parameters
        ----------
        *identities
            The sources, as ``sources`` names them, or the beginnings of their names.
        run
            Name of the run that does so.
        generation
            The settings; None takes those that ``read`` takes.

        Raises
        ------
        LedgerError
            If there is no such source, or several begin so.
        """
        retire(self.view(generation), identities, run_name(run))

    @checked
    def rebuild(self, *, generation: str | None = None, run: str | None = None) -> pl.DataFrame:
        """Count the files of all sources anew, from where they were, and let the new counts take their place.

        Files that have vanished keep the counts they have. Files whose content changed are recounted.

        Parameters
        ----------
        generation
            The settings; None takes those that ``read`` takes.
        run
            Name of the run that does so.

        Returns
        -------
        What ``append`` returns, of all files.

        Raises
        ------
        NciFramesError
            Whatever ``append`` raises.
        """
        view = self.view(generation)
        files = [state.file for state in view.active() if Path(state.path).exists()]
        return self.append_files(files, view.settings, run=run, on_changed="recount", anew=True)

    @checked
    def compact(self, *, generation: str | None = None) -> int:
        """Gather the many small files of a generation, leave out what counts no longer, and shorten the log.

        The states before can no longer be read with ``as_of``, where sources counted in them that count no
        longer. Readers that began before may lose files under them: run it when nobody reads.

        Parameters
        ----------
        generation
            The settings; None takes those that ``read`` takes.

        Returns
        -------
        The number of files that were gathered.

        Raises
        ------
        LedgerError
            If there is no ledger, or it is damaged.
        ConflictError
            If another writer came first.
        """
        return compact(self.view(generation))
