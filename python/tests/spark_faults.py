"""Runs an analysis on a cluster whose processes are killed: `spark_faults.py CAPTURE`. Takes several minutes.

Prints a line for each fault: its name, how the analysis ended, how long it took, and whether its tables equal those
from one machine.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import superstep
from spark_cluster import Cluster

BUCKETS = 37
SETTINGS = {"spark.driver.memory": "1g", "spark.executor.memory": "768m", "spark.ui.enabled": "false"}


def kill(*processes):
    for process in processes:
        os.kill(process, signal.SIGKILL)


def executor(cluster, driver):
    kill(cluster.executors()[0])


def worker(cluster, driver):
    lost = cluster.workers[0]
    shutil.rmtree(lost.args[-2], ignore_errors=True)
    kill(cluster.executors()[0], lost.pid)


def all_workers(cluster, driver):
    kill(*cluster.executors(), *(worker.pid for worker in cluster.workers))


def driver_itself(cluster, driver):
    # The driver's JVM exits with it.
    kill(driver.pid)


def nothing(cluster, driver):
    pass


MAP, REDUCE, JOIN = "map", "reduce", "join"
# Name, settings, moment and action.
FAULTS = [
    ("none", {}, MAP, nothing),
    ("speculation", {"spark.speculation": "true", "spark.speculation.multiplier": "1.1"}, MAP, nothing),
    ("executor killed during the map", {}, MAP, executor),
    ("executor killed while pages are analysed and written", {}, REDUCE, executor),
    ("executor killed while CTAs are joined and written", {}, JOIN, executor),
    ("worker killed and its files removed while pages are analysed", {}, REDUCE, worker),
    ("driver killed while CTAs are joined, then restarted", {}, JOIN, driver_itself),
    ("all workers killed", {}, REDUCE, all_workers),
]


def moment(line, tasks):
    """Returns the stage in which some, but not all, tasks have finished."""
    match = re.fullmatch(r"(\w+): (\d+) of (\d+) tasks", line.strip())
    if match is None or not 0 < int(match[2]) < int(match[3]):
        return None
    name, count = match[1], int(match[3])
    if name == "ctas":
        return JOIN if count == BUCKETS else None
    return REDUCE if count == BUCKETS else MAP


def run(cluster, capture, out, settings, when=None, action=nothing):
    """Runs the analysis; returns its exit code, its output lines, and whether `action` was called."""
    settings = [f"--spark-conf={name}={value}" for name, value in (SETTINGS | settings).items()]
    command = [sys.executable, "-m", "superstep.spark", "--spark", cluster.url, "-o", out, f"--buckets={BUCKETS}"]
    command += ["--executor-wait=10", "--task-memory=512M", *settings, capture]
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    driver = subprocess.Popen(command, env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"}, **pipe)
    lines, done = [], False
    for line in driver.stdout:
        lines.append(line.strip())
        if not done and when is not None and moment(line, BUCKETS) == when:
            action(cluster, driver)
            done = True
    return driver.wait(), lines, done


def main():
    capture = Path(sys.argv[1])
    wanted = sys.argv[2:]
    digest = superstep.open(capture).analyse(memory_bytes=1 << 30).digest
    for name, settings, when, action in FAULTS:
        if wanted and not any(word in name for word in wanted):
            continue
        with tempfile.TemporaryDirectory() as out, Cluster(2, memory="1g") as cluster:
            started = time.monotonic()
            code, lines, done = run(cluster, capture, out, settings, when, action)
            if action is driver_itself:
                code, lines, _ = run(cluster, capture, out, settings)
                lines = [line for line in lines if "already finished" in line] + lines
                name += f" ({lines[0]})"
            seconds = time.monotonic() - started
        outcome = f"{seconds:5.0f} s, code {code}"
        if code == 0:
            outcome += ", equal" if lines[-1].endswith(digest) else ", DIFFERENT"
        else:
            outcome += f": {lines[-1]}"
        missed = "" if done or action is nothing else " (the fault was never injected)"
        print(f"{name}{missed}: {outcome}", flush=True)


if __name__ == "__main__":
    main()
