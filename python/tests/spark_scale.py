"""Analyses a capture on one machine and on a cluster of workers with little memory: `spark_scale.py CAPTURE`.

Takes several minutes. Prints how long each analysis took, whether the tables are equal, how much was shuffled and
spilled, and the peak memory of Java and of the tasks outside it. Where version 1 control groups can be created, the
kernel limits each worker and its children to `--memory`; otherwise, only Superstep honours the limit.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import superstep
from spark_cluster import Cluster

GROUPS = Path("/sys/fs/cgroup/memory")


def parents():
    """Returns each process's parent and peak resident memory in bytes, and whether it is Java."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(") ")[2].split()[1])
            status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        except (OSError, ValueError):
            continue
        peak = int(status.get("VmHWM", "0 kB").split()[0]) << 10
        found[int(folder.name)] = (parent, peak, status["Name"].strip() == "java")
    return found


class Peaks(threading.Thread):
    """Watches the processes that workers start."""

    def __init__(self, workers):
        super().__init__(daemon=True)
        self.workers, self.java, self.tasks, self.ended = workers, 0, 0, threading.Event()

    def run(self):
        while not self.ended.wait(0.5):
            processes = parents()
            for number, (parent, peak, is_java) in processes.items():
                ancestors = set()
                while parent in processes and parent not in ancestors:
                    ancestors.add(parent)
                    parent = processes[parent][0]
                if ancestors & self.workers and number not in self.workers:
                    self.java = max(self.java, peak if is_java else 0)
                    self.tasks = max(self.tasks, 0 if is_java else peak)


def confine(process, name, memory):
    """Creates a control group for a process and its children; returns `None` if that fails."""
    group = GROUPS / f"superstep-{os.getpid()}-{name}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(memory))
        (group / "cgroup.procs").write_text(str(process.pid))
    except OSError:
        return None
    return group


def metrics(folder):
    """Returns sums over all tasks of the application; `folder` contains only its log."""
    sums = {"shuffled": 0, "rows": 0, "spilled": 0, "failed": 0}
    (log,) = folder.iterdir()
    with log.open() as lines:
        for line in lines:
            event = json.loads(line)
            if event["Event"] != "SparkListenerTaskEnd":
                continue
            sums["failed"] += event["Task Info"]["Failed"]
            task = event.get("Task Metrics")
            if task is not None:
                sums["shuffled"] += task["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                sums["rows"] += task["Shuffle Write Metrics"]["Shuffle Records Written"]
                sums["spilled"] += task["Disk Bytes Spilled"]
    return sums


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("capture", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", type=int, default=2 << 30, metavar="BYTES", help="limit for a worker and its children")
    parser.add_argument("--java", type=int, default=768 << 20, metavar="BYTES", help="heap of an executor")
    parser.add_argument("--task", type=int, default=512 << 20, metavar="BYTES", help="--task-memory")
    parser.add_argument("--buckets", type=int, default=64)
    parser.add_argument("--skip-one-machine", action="store_true")
    arguments = parser.parse_args()
    accesses = superstep.open(arguments.capture).thread_accesses
    stored = sum(file.stat().st_size for file in arguments.capture.iterdir())
    print(f"accesses {accesses:,}, capture {stored:,} bytes", flush=True)
    digest = None
    if not arguments.skip_one_machine:
        started = time.monotonic()
        digest = superstep.open(arguments.capture).analyse(memory_bytes=arguments.memory).digest
        print(f"one machine, all its cores, {arguments.memory:,} bytes: {time.monotonic() - started:.0f} s", flush=True)
    with tempfile.TemporaryDirectory() as out, Cluster(arguments.workers, memory=f"{arguments.java >> 20}m") as cluster:
        log = Path(out, "log")
        log.mkdir()
        groups = [confine(one, number, arguments.memory) for number, one in enumerate(cluster.workers)]
        peaks = Peaks({worker.pid for worker in cluster.workers})
        peaks.start()
        settings = {
            "spark.driver.memory": "1g",
            "spark.executor.memory": f"{arguments.java >> 20}m",
            "spark.ui.enabled": "false",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": log.as_uri(),
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
        }
        command = [sys.executable, "-m", "superstep.spark", "--spark", cluster.url, "-o", Path(out, "tables")]
        command += [f"--buckets={arguments.buckets}", f"--task-memory={arguments.task}", arguments.capture]
        command += [f"--spark-conf={name}={value}" for name, value in settings.items()]
        started = time.monotonic()
        ended = subprocess.run(command, env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"}, stdout=subprocess.PIPE, text=True)
        seconds = time.monotonic() - started
        peaks.ended.set()
        equal = "not compared" if digest is None else "equal" if digest in ended.stdout else "DIFFERENT"
        print(f"{arguments.workers} workers, {arguments.buckets} buckets: {seconds:.0f} s, code {ended.returncode}, {equal}")
        sums = metrics(log)
        print(f"shuffles: {sums['shuffled'] / accesses:.2f} bytes per access, {sums['rows']:,} rows in total")
        print(f"spilled by Spark: {sums['spilled']:,} bytes; failed tasks: {sums['failed']}")
        print(f"peak resident memory: Java {peaks.java:,} bytes, a task process {peaks.tasks:,} bytes")
        for group in filter(None, groups):
            peak, hits = ((group / f"memory.{name}").read_text().strip() for name in ("max_usage_in_bytes", "failcnt"))
            print(f"worker in a group of {arguments.memory:,} bytes: peak {int(peak):,} including cached files; limit reached {hits} times")
        print(f"code {ended.returncode}", flush=True)
    for group in filter(None, groups):
        try:
            group.rmdir()
        except OSError:
            # A process has not exited yet.
            pass
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main())
