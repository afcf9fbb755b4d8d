"""A Spark cluster of processes on this machine, for tests."""

import os
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pyspark

SPARK = Path(pyspark.__file__).parent / "bin" / "spark-class"


class Cluster:
    """A master, and workers with one core each."""

    def __init__(self, workers, memory="768m"):
        self.folder = tempfile.TemporaryDirectory()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url, self.memory = f"spark://127.0.0.1:{port}", memory
        self.started = []
        self.master = self.start("master.Master", "--port", str(port))
        self.workers = [self.worker() for _ in range(workers)]

    def start(self, name, *arguments):
        log = open(Path(self.folder.name, f"{len(self.started)}.log"), "w+")
        process = subprocess.Popen(
            [SPARK, f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", "--webui-port", "0", *arguments],
            env=os.environ | {"SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": "127.0.0.1"},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        self.started.append((process, log))
        return process

    def worker(self):
        folder = tempfile.mkdtemp(dir=self.folder.name)
        return self.start("worker.Worker", "--cores", "1", "--memory", self.memory, "--work-dir", folder, self.url)

    def executors(self):
        """Returns the process IDs of all workers' executors."""
        workers = {worker.pid for worker in self.workers if worker.poll() is None}
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((process / "stat").read_text().rpartition(") ")[2].split()[1])
                command = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if parent in workers and b"CoarseGrainedExecutorBackend" in command:
                found.append(int(process.name))
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process, log in self.started:
            process.terminate()
            process.wait()
            log.close()
        # Executors exit after their workers.
        for _ in range(50):
            try:
                return self.folder.cleanup()
            except OSError:
                time.sleep(0.1)
