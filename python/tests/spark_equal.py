"""Compares tables from one machine with those from clusters of several sizes: `spark_equal.py FOLDER`.

The folder contains captures at any depth, such as those of suites; large suites take an hour. Prints a line for each
number of workers and buckets, with the captures whose tables differ; the exit code is 1 if there are any.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import superstep
from pyspark.sql import SparkSession
from spark_cluster import Cluster
from superstep import spark


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--buckets", type=int, nargs="+", default=[1, 7, 64, 512])
    parser.add_argument("--between", type=float, nargs=2, default=[0, float("inf")], help="range of accesses per capture")
    arguments = parser.parse_args()
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    minimum, maximum = arguments.between
    captures = sorted(events.parent for events in arguments.folder.rglob("events.sst"))
    captures = [capture for capture in captures if minimum <= superstep.open(capture).thread_accesses < maximum]
    opened = [superstep.open(capture) for capture in captures]
    accesses = sum(capture.thread_accesses for capture in opened)
    expected = [capture.analyse(memory_bytes=1 << 30).digest for capture in opened]
    complete = sum(capture.complete for capture in opened)
    print(f"{len(captures)} captures, {complete} of them complete, with {accesses:,} accesses", flush=True)
    if not captures:
        return 1
    different = 0
    for workers in arguments.workers:
        with Cluster(workers) as cluster:
            builder = SparkSession.builder.master(cluster.url).config("spark.ui.enabled", "false")
            builder = builder.config("spark.executor.memory", "768m").config("spark.driver.memory", "1g")
            session = builder.getOrCreate()
            session.sparkContext.setLogLevel("ERROR")
            for buckets in arguments.buckets:
                started = time.monotonic()
                with tempfile.TemporaryDirectory() as parts:
                    found = spark.analyse(session, captures, parts, buckets=buckets, task_memory=512 << 20)
                    found = [analysis.digest for analysis in found]
                wrong = [str(path) for path, single, cluster_digest in zip(captures, expected, found) if single != cluster_digest]
                different += len(wrong)
                seconds = time.monotonic() - started
                equal = len(found) - len(wrong)
                print(f"workers {workers}, buckets {buckets}: {equal} of {len(captures)} equal, {seconds:.0f} s", *wrong, flush=True)
            session.stop()
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
