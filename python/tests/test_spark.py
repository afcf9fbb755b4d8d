"""Tests of `superstep.spark`: in local mode, and on a cluster of two worker processes."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import superstep

try:
    import pyspark
except ImportError:
    pyspark = None
else:
    from spark_cluster import Cluster
    from superstep import spark

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = [ROOT / "trace" / "tests" / "captures" / name for name in ("whole", "killed", "exchange")]
SMALL = {"spark.driver.memory": "512m", "spark.executor.memory": "512m", "spark.ui.enabled": "false"}

# One session analyses several captures in turn.
TWICE = """
import sys
from pyspark.sql import SparkSession
from superstep import spark
url, parts, *captures = sys.argv[1:]
builder = SparkSession.builder.master(url).config("spark.driver.memory", "512m").config("spark.executor.memory", "512m")
session = builder.getOrCreate()
for number, capture in enumerate(captures):
    (analysis,) = spark.analyse(session, [capture], f"{parts}-{number}", buckets=2)
    print(analysis.digest)
session.stop()
"""


def digests():
    return [superstep.open(path).analyse().digest for path in CAPTURES]


@unittest.skipIf(pyspark is None, "pyspark is not installed")
class Local(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = pyspark.sql.SparkSession.builder.master("local[2]")
        for setting in SMALL.items():
            builder = builder.config(*setting)
        cls.session = builder.getOrCreate()
        cls.session.sparkContext.setLogLevel("OFF")

    @classmethod
    def tearDownClass(cls):
        cls.session.stop()

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def analyse(self, captures, parts="parts", **arguments):
        found = spark.analyse(self.session, captures, self.folder / parts, **arguments)
        return [analysis.digest for analysis in found]

    def test_equals_one_machine_and_resumes_after_finished_steps(self):
        lines = []
        self.assertEqual(self.analyse(CAPTURES, buckets=2, report=lines.append), digests())
        self.assertNotIn("pages: already finished", lines)
        # Simulates an interruption in the last step.
        (self.folder / "parts" / "ctas" / "_SUCCESS").unlink()
        self.assertEqual(self.analyse(CAPTURES, buckets=2, report=lines.append), digests())
        self.assertIn("pages: already finished", lines)
        self.assertNotIn("ctas: already finished", lines)

    def test_session_settings_are_restored(self):
        name = "spark.sql.execution.arrow.maxRecordsPerBatch"
        before = self.session.conf.get(name)
        self.analyse(CAPTURES[:1], buckets=1)
        self.assertEqual(self.session.conf.get(name), before)

    def test_damaged_chunk_is_reported(self):
        capture = self.folder / "capture"
        shutil.copytree(CAPTURES[0], capture)
        stream = sorted(capture.glob("stream-*.sst"))[0]
        data = bytearray(stream.read_bytes())
        # This byte is after the headers of the file and of its first chunk.
        data[32 + 48 + 5] ^= 1
        stream.write_bytes(data)
        with self.assertRaisesRegex(superstep.CaptureError, f"{stream.name}.*checksum"):
            self.analyse([capture], buckets=2)


@unittest.skipIf(pyspark is None, "pyspark is not installed")
class Standalone(unittest.TestCase):
    def run_main(self, cluster, out, *arguments):
        settings = [f"--spark-conf={name}={value}" for name, value in SMALL.items()]
        command = [sys.executable, "-m", "superstep.spark", "--spark", cluster.url, "-o", out, *settings, *arguments]
        environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"}
        return subprocess.run([*command, *CAPTURES], env=environment, capture_output=True, text=True, timeout=300)

    def test_analysis_needs_workers(self):
        with tempfile.TemporaryDirectory() as out, Cluster(0) as cluster:
            without_workers = self.run_main(cluster, out, "--executor-wait=2")
            self.assertEqual(without_workers.returncode, 11, without_workers.stderr)
            self.assertIn("no executor for 2 seconds", without_workers.stderr)
            cluster.workers = [cluster.worker() for _ in range(2)]
            with_workers = self.run_main(cluster, out, "--buckets=7")
            # One of the captures is from a killed program.
            self.assertEqual(with_workers.returncode, 9, with_workers.stderr)
            self.assertEqual([line.split()[-1] for line in with_workers.stdout.splitlines()], digests())
            self.assertEqual(sorted(os.listdir(out)), ["0-whole", "1-killed", "2-exchange"])
            twice = subprocess.run(
                [sys.executable, "-c", TWICE, cluster.url, Path(out, "parts"), *CAPTURES],
                env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
                capture_output=True,
                text=True,
                timeout=300,
            )
            self.assertEqual(twice.stdout.split(), digests(), twice.stderr)


if __name__ == "__main__":
    unittest.main()
