"""How fast accesses become Arrow, beside pandas reading the Parquet file that `superstep export` made of the same capture.

    superstep export --format parquet --table accesses -o exported CAPTURE
    python python/bench/accesses.py CAPTURE exported/accesses.parquet

Needs pandas and pyarrow. Every figure is the best of some repeats, in accesses a second of wall time.
"""

import argparse
import time
from concurrent.futures import ThreadPoolExecutor

import numpy
import pandas
import pyarrow

import superstep

COPIED_BYTES = 128 << 20


def best(work, repeat):
    """The shortest of some runs in seconds, and what the last one returned, which is alive while nothing is timed."""
    seconds = []
    for _ in range(repeat):
        started = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - started)
        if len(seconds) < repeat:
            del result
    return min(seconds), result


def copied_bytes_a_second(threads, repeat):
    """What each thread copies from memory to memory: faster than this, bytes come only from and into caches."""
    pairs = [(numpy.ones(COPIED_BYTES, numpy.uint8), numpy.ones(COPIED_BYTES, numpy.uint8)) for _ in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        seconds, _ = best(lambda: list(pool.map(lambda pair: numpy.copyto(*pair), pairs)), repeat)
    return threads * COPIED_BYTES / seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture")
    parser.add_argument("parquet")
    parser.add_argument("--columns", nargs="+", default=["address", "op,cta,lane,address", "all"], metavar="LIST")
    parser.add_argument("--threads", type=int, default=2, help="of Superstep, pyarrow and the copies [default: 2]")
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()

    pyarrow.set_cpu_count(args.threads)
    pyarrow.set_io_thread_count(args.threads)
    capture = superstep.open(args.capture)
    rows = capture.thread_accesses
    copied = copied_bytes_a_second(args.threads, args.repeat)
    print(f"superstep {superstep.__version__}, pyarrow {pyarrow.__version__}, pandas {pandas.__version__}")
    print(f"{rows} accesses, {args.threads} threads, best of {args.repeat}; copies: {copied / 1e9:.1f} GB/s")
    print(f"{'millions a second':24}{'bytes':>6}{'stream':>9}{'table':>9}{'pandas':>9}{'copies':>9}{'stream/pandas':>15}{'table/pandas':>14}")
    for names in args.columns:
        columns = None if names == "all" else names.split(",")
        accesses = capture.accesses(columns=columns, threads=args.threads)

        def stream():
            batches = pyarrow.RecordBatchReader.from_stream(accesses)
            sizes = [(batch.num_rows, batch.nbytes) for batch in batches]
            return sum(number for number, _ in sizes), sum(size for _, size in sizes)

        streamed, (streamed_rows, size) = best(stream, args.repeat)
        tabled, table = best(lambda: pyarrow.RecordBatchReader.from_stream(accesses).read_all(), args.repeat)
        table_rows = table.num_rows
        del table
        framed, frame = best(lambda: pandas.read_parquet(args.parquet, columns=columns), args.repeat)
        if not rows == streamed_rows == table_rows == len(frame):
            parser.error(f"{args.parquet} is not the export of {args.capture}: it has {len(frame)} accesses, not {rows}")
        del frame
        speeds = [rows / seconds / 1e6 for seconds in (streamed, tabled, framed)] + [rows * copied / size / 1e6]
        print(
            f"{names:24}{size / rows:6.1f}" + "".join(f"{speed:9.1f}" for speed in speeds)
            + f"{framed / streamed:15.1f}{framed / tabled:14.1f}", flush=True
        )


if __name__ == "__main__":
    main()
