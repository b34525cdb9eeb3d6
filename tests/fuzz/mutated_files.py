"""Parquet files with changed bytes: counted right, refused, or counted wrong."""

import random
from functools import cache, partial
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import nci_frames as nf
from tests.fuzz.campaign import Campaign, Case, judged
from tests.logs import random_log

THRESHOLDS = [-0.5, 0.0, 0.5, 1.0]


@cache
def log() -> pl.DataFrame:
    return random_log(1_500, seed=3)


@cache
def truth() -> pl.DataFrame:
    return nf.count_confusion(nf.scan_predictions(log(), fold="fold"), thresholds=THRESHOLDS)


@cache
def written(checksums: bool, version: str, compression: str, dictionary: bool) -> bytes:
    sink = pa.BufferOutputStream()
    options: dict[str, Any] = {"row_group_size": 400, "data_page_size": 1_000}
    pq.write_table(
        log().to_arrow(),
        sink,
        data_page_version=version,
        compression=compression,
        use_dictionary=dictionary,
        write_page_checksum=checksums,
        **options,
    )
    return bytes(sink.getvalue().to_pybytes())


def mutated(whole: bytes, draw: random.Random) -> tuple[str, bytes]:
    """Return what was done to the bytes, and the result."""
    data = bytearray(whole)
    # Much of the damage is at the end, in the footer, where little can do much harm.
    place = draw.randrange(len(data)) if draw.random() < 0.7 else max(0, len(data) - draw.randint(1, 3_000))
    length = draw.choice([1, 2, 8, 100])
    kind = draw.choice(["bit", "bit", "byte", "zeroed", "cut", "gone", "inserted", "swapped"])
    if kind == "bit":
        data[place] ^= 1 << draw.randrange(8)
    elif kind == "byte":
        data[place] = draw.randrange(256)
    elif kind == "zeroed":
        data[place : place + length] = bytes(len(data[place : place + length]))
    elif kind == "cut":
        del data[place:]
    elif kind == "gone":
        del data[place : place + length]
    elif kind == "inserted":
        data[place:place] = draw.randbytes(length)
    else:
        other = draw.randrange(len(data) - length)
        place = min(place, len(data) - length)
        one, two = bytes(data[place : place + length]), bytes(data[other : other + length])
        data[place : place + length], data[other : other + length] = two, one
    return f"{kind} at {place:,} of {len(whole):,}", bytes(data)


def _case(seed: int, number: int, *, checksums: bool) -> Case:
    draw = random.Random(f"{seed} file {number}")
    version, compression = draw.choice(["1.0", "2.0"]), draw.choice(["none", "snappy", "zstd"])
    whole = written(checksums, version, compression, draw.random() < 0.5)
    told, damaged = mutated(whole, draw)

    def run(folder: Path) -> str | None:
        file = folder / "log.parquet"
        file.write_bytes(damaged)

        def count() -> str | None:
            scan = nf.scan_predictions(file, fold="fold")
            counts = nf.count_confusion(scan, thresholds=THRESHOLDS)
            return None if counts.equals(truth()) else "other counts"

        def count_in_a_ledger() -> str | None:
            ledger = nf.CountsLedger(folder / "ledger")
            ledger.append(file, thresholds=THRESHOLDS, fold="fold")
            return None if ledger.read().equals(truth()) else "other counts in a ledger"

        return judged(count) or judged(count_in_a_ledger)

    return Case(f"pages {version}, {compression}: {told}", run)


PLAIN = Campaign(
    "mutated files, no checksums",
    1_000,
    30,
    partial(_case, checksums=False),
    memory=8 << 30,
    silent="a page without a checksum is a page with other values",
)
CHECKSUMS = Campaign("mutated files, checksums", 1_000, 40, partial(_case, checksums=True), memory=8 << 30)
