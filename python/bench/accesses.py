"""Measures how fast accesses are read as Arrow, and how fast pandas reads them from a Parquet export.

    superstep export --format parquet --table accesses -o exported CAPTURE
    python python/bench/accesses.py CAPTURE exported/accesses.parquet

Needs pandas and pyarrow. `batches` reads and discards all batches; `table` keeps them, like a data frame. `copies`
copies the same number of bytes from memory to memory. `pandas` stores text as Python objects, `arrow` as Arrow data.
Each figure is the best of several runs, by wall time and by processor time divided by the number of threads.
"""

import argparse
import time
from concurrent.futures import ThreadPoolExecutor

import numpy
import pandas
import pyarrow

import superstep

COPIED_BYTES = 128 << 20
KINDS = ("batches", "table", "pandas", "arrow", "copies")


def best(work, threads, repeat):
    """Returns the size of the result and the shortest wall time and processor time of all runs."""
    walls, processors = [], []
    for _ in range(repeat):
        wall, processor = time.perf_counter(), time.process_time()
        result = work()
        walls.append(time.perf_counter() - wall)
        processors.append((time.process_time() - processor) / threads)
        size = len(result)
        # Free the result before the next run is timed.
        del result
    return size, (min(walls), min(processors))


def copied(threads, repeat):
    """Returns the number of seconds per copied byte, by wall time and by processor time."""
    pairs = [(numpy.ones(COPIED_BYTES, numpy.uint8), numpy.ones(COPIED_BYTES, numpy.uint8)) for _ in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        _, times = best(lambda: list(pool.map(lambda pair: numpy.copyto(*pair), pairs)), threads, repeat)
    return [seconds / (threads * COPIED_BYTES) for seconds in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture")
    parser.add_argument("parquet")
    parser.add_argument("--columns", nargs="+", default=["address", "op,cta,lane,address", "all"], metavar="LIST")
    parser.add_argument("--threads", type=int, default=2, help="threads for Superstep, pyarrow and the copies [default: 2]")
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()

    pyarrow.set_cpu_count(args.threads)
    pyarrow.set_io_thread_count(args.threads)
    capture = superstep.open(args.capture)
    rows = capture.thread_accesses
    copies = copied(args.threads, args.repeat)
    versions = f"superstep {superstep.__version__}, pyarrow {pyarrow.__version__}, pandas {pandas.__version__}"
    print(f"{versions}; {rows} accesses, {args.threads} threads, best of {args.repeat}; millions of accesses per second:")
    print(f"{'':30}" + "".join(f"{kind:>9}" for kind in KINDS) + "   batches/pandas  table/arrow")
    for names in args.columns:
        columns = None if names == "all" else names.split(",")
        accesses = capture.accesses(columns=columns, threads=args.threads)

        def batches():
            found = pyarrow.RecordBatchReader.from_stream(accesses)
            return range(sum(batch.num_rows for batch in found))

        def table():
            return pyarrow.RecordBatchReader.from_stream(accesses).read_all()

        def frame(**arguments):
            return lambda: pandas.read_parquet(args.parquet, columns=columns, **arguments)

        times = []
        for work in (batches, table, frame(), frame(dtype_backend="pyarrow")):
            found, seconds = best(work, args.threads, args.repeat)
            times.append(seconds)
            if found != rows:
                parser.error(f"{args.parquet} is not an export of {args.capture}: expected {rows} rows, found {found}")
        schema = pyarrow.RecordBatchReader.from_stream(accesses).schema
        width = sum(field.type.index_type.byte_width if field.name == "op" else field.type.byte_width for field in schema)
        times.append([seconds * rows * width for seconds in copies])
        for clock, seconds in zip(("wall", "processor"), zip(*times)):
            speeds = "".join(f"{rows / duration / 1e6:9.1f}" for duration in seconds)
            ratios = f"{seconds[2] / seconds[0]:17.1f}{seconds[3] / seconds[1]:13.1f}"
            print(f"{names}, {width} bytes, {clock}".ljust(30) + speeds + ratios, flush=True)


if __name__ == "__main__":
    main()
