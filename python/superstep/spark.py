"""The analysis on a Spark cluster: `analyse(session, captures, parts)`, or `python3 -m superstep.spark`.

docs/cluster.md describes its use. The native part of the module does the work in three steps, with shuffles in between:
1. cut chunks at page boundaries and pack them by bucket of pages,
2. analyse the pages of each bucket,
3. join the buckets' results for the same CTAs.
Rows are packets of a few hundred kilobytes.
"""

from __future__ import annotations

import argparse
import atexit
import itertools
import json
import os
import shutil
import sys
import tempfile
import threading
import time
import uuid
import zipfile
from pathlib import Path

import superstep
from superstep import _native

# Columns of a shuffle.
SCHEMA = "capture int, bucket int, kind tinyint, chunk bigint, number int, blob binary"
# The accesses of a bucket must arrive in program order.
ORDER = ["capture", "bucket", "chunk", "number"]
MODULE = "superstep-module"
BATCH_BYTES = 4 << 20
BATCH_ROWS = 16
# Spark's default batches have thousands of rows, which is too many for rows of this size.
SETTINGS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": BATCH_ROWS,
    "spark.sql.parquet.columnarReaderBatchSize": BATCH_ROWS,
}
# See docs/exit-codes.md.
EXIT_TOOL, EXIT_CAPTURE, EXIT_INCOMPLETE, EXIT_CLUSTER, EXIT_INTERNAL = 5, 8, 9, 11, 70


class ClusterError(superstep.SuperstepError):
    """The cluster did not finish the analysis. Finished steps are kept; the same call resumes after them."""


def analyse(session, captures, parts, *, buckets=None, task_memory=1 << 30, wait=120.0, report=lambda line: None):
    """Analyses captures on the cluster of a Spark session; yields an `Analysis` for each, in order.

    All machines must have access to the captures and the folder `parts`. Finished steps are kept in `parts`, and a call
    with the same arguments resumes after them. The caller must remove `parts`. A task uses about `task_memory` bytes
    outside Java's heap. The analysis fails after `wait` seconds without an executor. `report` is called with progress
    lines.
    """
    job = _Job(session, [str(Path(path).resolve()) for path in captures], Path(parts).resolve(), buckets, task_memory)
    with _Settings(session), _Watch(session, wait, report) as watch:
        job.run(watch)
    spill = tempfile.gettempdir()
    for number, capture in enumerate(job.opened):
        if capture.in_situ:
            yield capture.analyse(memory_bytes=task_memory)
        else:
            yield _native.merge(capture, task_memory, spill, iter(job.merged(number)))


class _Job:
    def __init__(self, session, paths, parts, buckets, task_memory):
        self.session, self.paths, self.parts = session, paths, parts
        self.opened = [superstep.open(path) for path in paths]
        accesses = sum(capture.thread_accesses for capture in self.opened)
        self.buckets = buckets or min(max(accesses >> 26, 64), 4096)
        size = min(max(accesses // self.buckets, 1 << 20), 1 << 26)
        self.tasks = [
            (number, *task)
            for number, capture in enumerate(self.opened)
            if not capture.in_situ
            for task in _native.tasks(capture, size)
        ]
        self.arguments = (paths, str(parts / "errors"), self.buckets, task_memory)
        # Finished parts are reused only if this description of their inputs is unchanged.
        files = [sorted((f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in c.folder.iterdir()) for c in self.opened]
        inputs = {"version": superstep.__version__, "buckets": self.buckets, "captures": paths, "files": files}
        self.description = json.dumps(inputs)

    def run(self, watch):
        job_file = self.parts / "job.json"
        if not job_file.is_file() or job_file.read_text() != self.description:
            shutil.rmtree(self.parts, ignore_errors=True)
            self.parts.mkdir(parents=True)
            job_file.write_text(self.description)
        shutil.rmtree(self.parts / "errors", ignore_errors=True)
        (self.parts / "errors").mkdir()
        if not self.tasks:
            return
        module = _ship(self.session)

        def step(rows, name, *more):
            return rows.mapInArrow(_in_task(module, name, *self.arguments, *more), SCHEMA)

        def joined(rows):
            return rows.repartition(self.buckets, "bucket").sortWithinPartitions(*ORDER)

        chunks = step(self.session.range(0, len(self.tasks), 1, len(self.tasks)), "map_chunks", self.tasks)
        self.write("pages", lambda: step(joined(chunks), "reduce_pages"), watch)
        pages = self.session.read.parquet(str(self.parts / "pages"))
        self.write("ctas", lambda: step(joined(pages), "combine_ctas"), watch)

    def write(self, name, rows, watch):
        folder = self.parts / name
        if (folder / "_SUCCESS").is_file():
            watch.report(f"{name}: already finished")
            return
        writer = rows().write.mode("overwrite").option("compression", "none")
        # The rows of a task stay in Java's heap until a block is complete.
        writer = writer.option("parquet.block.size", 16 << 20).option("parquet.enable.dictionary", "false")
        with watch.step(name):
            try:
                writer.parquet(str(folder))
            except Exception as error:
                raise self.failure(name, error, watch) from error

    def failure(self, name, error, watch):
        """Returns the error of a failed step. A message written by a task takes precedence over Spark's."""
        for path in sorted((self.parts / "errors").glob("*.json")):
            recorded = json.loads(path.read_text())
            kind = superstep.CaptureError if recorded["kind"] == "CaptureError" else ClusterError
            return kind(recorded["message"])
        if watch.is_lost:
            reason = f"there was no executor for {watch.wait:.0f} seconds; start workers"
        else:
            reason = f"Spark reported: {_cause(error)}"
        return ClusterError(
            f"failed to run step {name}: {reason}. Finished steps are in {self.parts}; the same command skips them"
        )

    def merged(self, number):
        """Yields the rows of the last step that belong to a capture."""
        from pyarrow import parquet

        for path in sorted((self.parts / "ctas").glob("*.parquet")):
            with parquet.ParquetFile(path) as file:
                for batch in file.iter_batches(batch_size=BATCH_ROWS):
                    yield from (row[1:] for row in _rows([batch]) if row[0] == number)


def _cause(error):
    """Returns the first line of Java's message about the innermost cause."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while java is not None and java.getCause() is not None:
        java = java.getCause()
    text = str(error) if java is None else java.toString()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


class _Settings:
    """Changes settings of the caller's session while the analysis runs."""

    def __init__(self, session):
        self.conf, self.original = session.conf, {}

    def __enter__(self):
        for name, value in SETTINGS.items():
            self.original[name] = self.conf.get(name, None)
            self.conf.set(name, str(value))

    def __exit__(self, *_):
        for name, value in self.original.items():
            self.conf.unset(name) if value is None else self.conf.set(name, value)


class _Watch(threading.Thread):
    """Reports progress, and cancels a step that has no executor."""

    GROUP = "superstep"

    def __init__(self, session, wait, report):
        super().__init__(daemon=True)
        self.context, self.wait, self.report = session.sparkContext, wait, report
        self.is_local = self.context.master.startswith("local")
        self.step_name, self.is_lost, self.ended = None, False, threading.Event()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()

    def step(self, name):
        self.context.setJobGroup(self.GROUP, f"superstep: {name}", True)
        return _Step(self, name)

    def executors(self):
        # One entry is the driver.
        return self.context._jsc.sc().getExecutorMemoryStatus().size() - 1

    def run(self):
        last, seen = None, time.monotonic()
        while not self.ended.wait(1.0):
            name = self.step_name
            try:
                if name is None or self.is_local or self.executors() > 0:
                    seen = time.monotonic()
                elif time.monotonic() - seen > self.wait:
                    self.is_lost = True
                    self.context.cancelJobGroup(self.GROUP)
                    seen = time.monotonic()
                line = self.progress(name)
            except Exception:
                # The session is ending; the step itself raises the error.
                return
            if line not in (None, last):
                self.report(line)
                last = line

    def progress(self, name):
        tracker = self.context.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        counts = [f"{stage.numCompletedTasks} of {stage.numTasks} tasks" for stage in stages if stage is not None]
        return f"{name}: {', '.join(counts)}" if name is not None and counts else None


class _Step:
    def __init__(self, watch, name):
        self.watch, self.name = watch, name

    def __enter__(self):
        self.watch.step_name = self.name

    def __exit__(self, *_):
        self.watch.step_name = None


# IDs of applications whose executors have this module.
_shipped: set[str] = set()


def _ship(session):
    """Sends this module to executors in other processes. Returns the name of its folder there."""
    context = session.sparkContext
    if context.master.startswith("local"):
        return None
    if context.applicationId not in _shipped:
        # Later executors also fetch the archive, so it is kept until this process ends.
        folder = tempfile.mkdtemp(prefix="superstep-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        archive = Path(folder, f"{MODULE}.zip")
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
            for path in sorted(Path(superstep.__file__).parent.iterdir()):
                if path.is_file():
                    file.write(path, f"superstep/{path.name}")
        context.addArchive(f"{archive.as_uri()}#{MODULE}")
        _shipped.add(context.applicationId)
    return MODULE


def _in_task(module, name, *arguments):
    """Returns a function that executors can call even if they do not have this module yet."""

    def call(batches):
        import os
        import sys

        from pyspark import SparkFiles, TaskContext

        # Use as many threads as the task has CPUs.
        os.environ.setdefault("RAYON_NUM_THREADS", str(TaskContext.get().cpus()))
        if module is not None:
            folder = SparkFiles.get(module)
            if folder not in sys.path:
                sys.path.insert(0, folder)
        from superstep import spark

        return spark.in_task(name, batches, *arguments)

    # Pickled by value, since executors cannot import this module yet.
    call.__module__ = "__main__"
    return call


_opened: dict[str, superstep.Capture] = {}


def _open(path):
    """Returns an open capture; the worker keeps it open for its next tasks."""
    if path not in _opened:
        _opened.clear()
        _opened[path] = superstep.open(path)
    return _opened[path]


def in_task(name, batches, paths, errors, buckets, memory, tasks=None):
    """Runs a step in an executor, on Arrow batches. Writes failures to a file, since Spark only reports text."""
    try:
        yield from _batches(_step(name, batches, paths, buckets, memory, tasks))
    except (superstep.SuperstepError, OSError, MemoryError) as error:
        recorded = {"kind": type(error).__name__, "message": str(error)}
        try:
            path = Path(errors, f"{uuid.uuid4()}.json")
            path.with_suffix(".part").write_text(json.dumps(recorded))
            path.with_suffix(".part").rename(path)
        except OSError:
            # The disk is full or the folder is gone; Spark also reports the message.
            pass
        raise


def _step(name, batches, paths, buckets, memory, tasks):
    if tasks is not None:
        for task in itertools.chain.from_iterable(batch.column(0).to_pylist() for batch in batches):
            number, *chunks = tasks[task]
            for row in _native.map_chunks(_open(paths[number]), tuple(chunks), buckets):
                yield (number, *row)
        return
    # Spark removes its own folders when the application ends.
    spill = os.environ.get("SPARK_LOCAL_DIRS") or os.environ.get("SPARK_EXECUTOR_DIRS") or tempfile.gettempdir()
    spill = spill.split("," if "SPARK_LOCAL_DIRS" in os.environ else os.pathsep)[0]
    is_last = name == "combine_ctas"
    for (number, bucket), rows in itertools.groupby(_rows(batches), key=lambda row: row[:2]):
        rows = (row[1:] for row in rows)
        for row in _native.run_step(_open(paths[number]), is_last, (bucket, buckets), memory, spill, rows):
            yield (number, *row)


def _rows(batches):
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns))


def _batches(rows):
    import pyarrow

    types = {"int": pyarrow.int32(), "tinyint": pyarrow.int8(), "bigint": pyarrow.int64(), "binary": pyarrow.binary()}
    columns = [column.split() for column in SCHEMA.split(", ")]
    schema = pyarrow.schema([(name, types[kind]) for name, kind in columns])
    pending, size = [], 0
    for row in itertools.chain(rows, [None]):
        if row is not None:
            pending.append(row)
            size += len(row[-1])
        if pending and (row is None or size >= BATCH_BYTES):
            arrays = [pyarrow.array(column, field.type) for column, field in zip(zip(*pending), schema)]
            yield pyarrow.RecordBatch.from_arrays(arrays, schema=schema)
            pending, size = [], 0


def _bytes(text):
    """Parses a size in bytes, such as 512M or 2G."""
    units = {"K": 10, "M": 20, "G": 30, "T": 40}
    number, shift = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 0)
    return int(number) << shift


def names(paths):
    """Returns a relative folder for the tables of each capture, or an empty path if there is only one capture."""
    if len(paths) == 1:
        return [Path()]
    labels = [path.parent.name if path.name == "capture" else path.name for path in (Path(p).resolve() for p in paths)]
    return [Path(f"{number}-{name}") for number, name in enumerate(labels)]


def main():
    parser = argparse.ArgumentParser(prog="python3 -m superstep.spark", description="Analyses captures on a Spark cluster.")
    parser.add_argument("captures", nargs="+", metavar="CAPTURE")
    parser.add_argument("--spark", required=True, metavar="URL", help="master of the cluster, or local[2]")
    parser.add_argument("-o", "--out", required=True, type=Path, metavar="DIR")
    parser.add_argument("--buckets", type=int, metavar="N")
    parser.add_argument("--task-memory", type=_bytes, default=1 << 30, metavar="SIZE")
    parser.add_argument("--executor-wait", type=float, default=120.0, metavar="SECONDS")
    parser.add_argument("--spark-conf", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    try:
        import pandas  # noqa: F401
        import pyarrow  # noqa: F401
        from pyspark.sql import SparkSession
    except ImportError as error:
        print(f"error: failed to find Spark for Python: {error}; install pyspark, pandas and pyarrow", file=sys.stderr)
        return EXIT_TOOL
    # Local executors use the same Python.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = None
    try:
        builder = SparkSession.builder.master(arguments.spark).appName("superstep analyse")
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        for setting in arguments.spark_conf:
            builder = builder.config(*setting.partition("=")[::2])
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        return _write(session, arguments)
    except superstep.CaptureError as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_CAPTURE
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_CLUSTER
    except (superstep.SuperstepError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_INTERNAL
    except Exception as error:
        if session is not None:
            raise
        print(f"error: failed to start Spark at {arguments.spark}: {error}", file=sys.stderr)
        return EXIT_CLUSTER
    finally:
        if session is not None:
            session.stop()


def _write(session, arguments):
    parts = arguments.out / "parts"
    found = analyse(
        session,
        arguments.captures,
        parts,
        buckets=arguments.buckets,
        task_memory=arguments.task_memory,
        wait=arguments.executor_wait,
        report=lambda line: print(line, file=sys.stderr, flush=True),
    )
    for name, analysis in zip(names(arguments.captures), found):
        analysis.write(arguments.out / name)
        print(f"{arguments.out / name}: {len(analysis)} tables, digest {analysis.digest}", flush=True)
    shutil.rmtree(parts)
    opened = [superstep.open(path) for path in arguments.captures]
    for problem in itertools.chain.from_iterable(capture.problems for capture in opened):
        print(f"warning: {problem}", file=sys.stderr)
    if any(capture.damaged for capture in opened):
        return EXIT_CAPTURE
    return 0 if all(capture.complete for capture in opened) else EXIT_INCOMPLETE


if __name__ == "__main__":
    sys.exit(main())
