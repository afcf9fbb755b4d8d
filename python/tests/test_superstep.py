"""Tests of the installed module: captures in the repository, read with pyarrow, and the examples in docs/python.md."""

import inspect
import json
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree

import pandas
import polars
import pyarrow

import superstep

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT / "trace" / "tests" / "captures"


def stream(accesses):
    return pyarrow.RecordBatchReader.from_stream(accesses).read_all()


def run_of(folder, *names):
    """Writes a run of the benchmarks `names` as `superstep suite` would, and opens it."""
    run = json.loads((ROOT / "tools" / "fuzz" / "seeds" / "run.json").read_text())
    run["benchmarks"] = [run["benchmarks"][0] | {"name": name} for name in names]
    (folder / "run.json").write_text(json.dumps(run))
    for name in names:
        capture = folder / "benchmarks" / name / "capture"
        shutil.copytree(CAPTURES / "exchange", capture)
        superstep.open(capture).analyse().write(folder / "tables" / name)
    return superstep.open_run(folder)


class Captures(unittest.TestCase):
    def setUp(self):
        self.capture = superstep.open(CAPTURES / "whole")

    def test_tables(self):
        launches = pyarrow.table(self.capture.launches()).to_pydict()
        self.assertEqual(launches["thread_accesses"], [128, 64, 64, 64])
        self.assertEqual(launches["kernel"], ["step"] * 4)
        self.assertEqual(launches["parent"], [None] * 4)
        sites = pyarrow.table(self.capture.sites()).to_pydict()
        self.assertEqual((sites["op"], sites["line"]), (["load", "store"], [7, 8]))
        self.assertEqual(pyarrow.table(self.capture.allocations()).num_rows, 4)

    def test_frames(self):
        sites = self.capture.sites()
        arrow = pyarrow.table(sites)
        self.assertEqual(sites.to_arrow(), arrow)
        self.assertTrue(sites.to_pandas().equals(arrow.to_pandas()))
        self.assertTrue(sites.to_polars().equals(polars.DataFrame(sites)))
        accesses = self.capture.accesses(launch=0)
        self.assertEqual(accesses.to_arrow(), stream(accesses))
        self.assertEqual(len(accesses.to_pandas()), 128)
        self.assertEqual(accesses.to_polars().shape, (128, 11))

    def test_rows(self):
        analysis = self.capture.analyse()
        tables = [analysis[name] for name in analysis]
        for table in (self.capture.launches(), self.capture.allocations(), self.capture.transfers(), *tables):
            rows = pyarrow.table(table).to_pylist()
            self.assertEqual(list(table), rows)
            frame = pandas.DataFrame(table)
            self.assertEqual(list(frame.columns), table.column_names if rows else [])
            self.assertTrue(frame.equals(pandas.DataFrame(rows)))
        launches = self.capture.launches()
        self.assertEqual((launches[1]["launch"], launches[-1]["launch"]), (1, 3))
        self.assertIsNone(launches[0]["parent"])
        for wrong in (4, -5):
            with self.assertRaises(IndexError):
                launches[wrong]

    def test_communication(self):
        capture = superstep.open(CAPTURES / "exchange")
        transfers = capture.transfers().to_arrow().to_pydict()
        self.assertEqual((transfers["source_cta"], transfers["receiver_cta"], transfers["bytes"]), ([0, 1], [1, 0], [128, 128]))
        [row] = capture.analyse()["line-flows"]
        self.assertEqual((row["writer_line"], row["reader_line"], row["other_cta_bytes"]), (8, 7, 256))

    def test_accesses(self):
        table = stream(self.capture.accesses())
        self.assertEqual(table.num_rows, self.capture.thread_accesses)
        first = {"launch": 0, "site": 0, "op": "load", "cta": 0, "warp": 0, "lane": 0, "sm": 0}
        first |= {"width_bytes": 4, "address": 1 << 20, "allocation": 1, "offset": 0}
        self.assertEqual(table.slice(0, 1).to_pylist(), [first])
        self.assertEqual(table.column("launch").to_pylist(), sorted(table.column("launch").to_pylist()))

    def test_choices(self):
        accesses = self.capture.accesses
        self.assertEqual(stream(accesses(launch=0)).num_rows, 128)
        self.assertEqual(stream(accesses(launch=[1, 3], cta=1)).num_rows, 64)
        self.assertEqual(stream(accesses(kernel="st*", cta="0-7")).num_rows, 320)
        self.assertEqual(stream(accesses(launch=[])).num_rows, 0)
        self.assertEqual(stream(accesses(columns=["offset", "op"])).column_names, ["op", "offset"])
        self.assertEqual(stream(accesses(threads=1)), stream(accesses(threads=3)))

    def test_each_use_reads_again(self):
        accesses = self.capture.accesses()
        self.assertEqual(stream(accesses), stream(accesses))

    def test_unconsumed_capsule_is_released(self):
        self.capture.accesses().__arrow_c_stream__()

    def test_analysis(self):
        for limit in (None, 1):
            analysis = self.capture.analyse(memory_bytes=limit)
            counts = pyarrow.table(analysis["counts-by-launch"])
            self.assertEqual(counts.num_rows, 4)
            self.assertEqual(len(analysis), len(list(analysis)))
            for name in analysis.keys():
                self.assertEqual(pyarrow.table(analysis[name]).column_names, analysis[name].column_names)

    def test_figures(self):
        analysis = self.capture.analyse()
        figures = analysis.figures()
        self.assertEqual([figure.name for figure in figures if figure.name not in analysis], ["data-volume", "density-first", "density-whole"])
        for figure in figures:
            svg = ElementTree.fromstring(figure.svg)
            self.assertEqual(svg.tag, "{http://www.w3.org/2000/svg}svg")
            self.assertEqual(svg.findtext("{*}title"), figure.title)
            self.assertEqual(svg.findtext("{*}desc"), figure.description)
            self.assertEqual(figure.png[:8], b"\x89PNG\r\n\x1a\n")
            # A notebook shows either the SVG or the PNG.
            self.assertNotEqual(figure._repr_svg_() is None, figure._repr_png_() is None)
        degree = analysis.figure("degree")
        self.assertEqual(degree._repr_svg_(), degree.svg)
        # The program is named after its capture's folder; its name is in the table's first column.
        self.assertIn(">whole<", degree.svg)
        table = pyarrow.table(degree.table)
        self.assertEqual(table.drop_columns("application").to_pydict(), pyarrow.table(analysis["degree"]).to_pydict())
        self.assertEqual(set(table["application"].to_pylist()), {"whole"})

        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        degree.save(folder / "degree.svg")
        degree.save(folder / "degree.png")
        self.assertEqual((folder / "degree.svg").read_text(), degree.svg)
        self.assertEqual((folder / "degree.png").read_bytes(), degree.png)
        converter = mock.Mock(svg_to_pdf=lambda svg: b"%PDF " + svg.encode())
        with mock.patch.dict(sys.modules, {"vl_convert": converter}):
            degree.save(folder / "degree.pdf")
        self.assertEqual((folder / "degree.pdf").read_text(), "%PDF " + degree.svg)
        with mock.patch.dict(sys.modules, {"vl_convert": None}), self.assertRaisesRegex(ImportError, "vl-convert-python"):
            degree.save(folder / "degree.pdf")
        with self.assertRaisesRegex(ValueError, ".svg, .png or .pdf"):
            degree.save(folder / "degree.gif")
        with self.assertRaisesRegex(superstep.SuperstepError, "degree.png"):
            degree.save(folder / "nowhere" / "degree.png")

    def test_missing_figures(self):
        with self.assertRaisesRegex(KeyError, "known figures: data-volume, transfer-size"):
            self.capture.analyse().figure("nothing")
        # This capture was written by hand, without launch times.
        analysis = superstep.open(CAPTURES / "notes").analyse()
        self.assertNotIn("timeline", [figure.name for figure in analysis.figures()])
        with self.assertRaisesRegex(superstep.SuperstepError, "failed to draw timeline: it shows when launches ran"):
            analysis.figure("timeline")

    def test_invalid_arguments(self):
        for wrong in ({"launch": 99}, {"kernel": "nothing"}, {"kernel": "regex:("}, {"cta": "3-1"}, {"cta": []},
                      {"columns": ["adress"]}, {"threads": 0}):
            with self.subTest(wrong), self.assertRaises(ValueError):
                self.capture.accesses(**wrong)
        with self.assertRaises(KeyError):
            self.capture.analyse()["nothing"]

    def test_folder_without_capture(self):
        with self.assertRaisesRegex(superstep.SuperstepError, "not a capture"):
            superstep.open(ROOT)

    def test_incomplete_capture(self):
        capture = superstep.open(CAPTURES / "killed")
        self.assertFalse(capture.complete)
        self.assertTrue(capture.problems)
        self.assertEqual(stream(capture.accesses()).num_rows, capture.thread_accesses)

    def test_stub_lists_all_members(self):
        stub = (ROOT / "python" / "superstep" / "__init__.pyi").read_text()
        for kind in ("Capture", "Accesses", "Analysis", "Table", "Figure"):
            body = re.search(rf"^class {kind}:\n((?:    .*\n|\n)+)", stub, re.M).group(1)
            typed = set(re.findall(r"^    def (\w+)", body, re.M))
            members = vars(getattr(superstep, kind))
            found = {name for name in members if not name.startswith("__") or name in typed}
            self.assertEqual(found, typed, kind)

    def test_everything_has_a_docstring(self):
        for name in superstep.__all__:
            found = getattr(superstep, name)
            self.assertTrue(inspect.getdoc(found), name)
            members = vars(found) if inspect.isclass(found) else {}
            for member in members:
                if not member.startswith("_"):
                    self.assertTrue(inspect.getdoc(getattr(found, member)), f"{name}.{member}")


class Runs(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_run_with_one_benchmark_needs_no_name(self):
        run = run_of(self.folder, "hs2d")
        run.summary["benchmarks"][0]["verification"] = [
            {"check": "exit-code", "ok": True, "detail": "native: 0"},
            {"check": "initialised-reads", "ok": True, "detail": "kernel a reads 8 bytes", "warning": True},
        ]
        self.assertEqual(run.warnings, ["hs2d: kernel a reads 8 bytes"])
        self.assertEqual(list(run.benchmarks), ["hs2d"])
        self.assertEqual(superstep.open(self.folder).thread_accesses, 128)
        analysis = run.capture().analyse()
        self.assertEqual(run.tables(), sorted(analysis))
        for name in run.tables():
            self.assertEqual(list(run.table(name)), list(analysis[name]), name)
            self.assertEqual(run.table(name).column_names, analysis[name].column_names)
        figures = {figure.name: figure for figure in analysis.figures()}
        for found in (run.figures(), run.figures("hs2d")):
            self.assertEqual([figure.name for figure in found], list(figures))
        self.assertEqual(run.figure("degree").svg, figures["degree"].svg)
        with self.assertRaisesRegex(KeyError, "there is no table 'flow'; the tables are .*flows"):
            run.table("flow")
        with self.assertRaisesRegex(KeyError, "known figures"):
            run.figure("nothing")

    def test_run_with_two_benchmarks_needs_a_name(self):
        run = run_of(self.folder, "hs2d", "path")
        with self.assertRaisesRegex(ValueError, "the run has 2 benchmarks; name one of them: hs2d, path"):
            run.table("flows")
        with self.assertRaisesRegex(KeyError, "there is no benchmark 'bfs'; the benchmarks are hs2d, path"):
            run.figures("bfs")
        with self.assertRaisesRegex(superstep.CaptureError, "2 captures.*: benchmarks/hs2d/capture, benchmarks/path/capture"):
            superstep.open(self.folder)
        self.assertEqual(run.capture("path").thread_accesses, 128)
        all_benchmarks = run.figure("degree").table.to_pandas()
        self.assertEqual(set(all_benchmarks["application"]), {"hs2d", "path"})
        path = run.figure("degree", "path").table.to_pandas()
        self.assertEqual(set(path["application"]), {"path"})

    def test_processes_are_benchmarks_with_joined_tables(self):
        run = run_of(self.folder, "app")
        whole = self.folder / "benchmarks" / "app" / "capture"
        process = whole / "pid-7"
        process.mkdir()
        for file in [file for file in whole.iterdir() if file.is_file()]:
            file.rename(process / file.name)
        tables = self.folder / "tables" / "app"
        shutil.copytree(tables, tables / "joined")
        run.summary["benchmarks"][0]["processes"] = [run.benchmarks["app"] | {"name": "app/pid-7"}]
        self.assertEqual(list(run.benchmarks), ["app", "app/pid-7"])
        self.assertEqual(run.capture("app/pid-7").thread_accesses, 128)
        self.assertIn("flows", run.tables())

    def test_folder_without_run(self):
        with self.assertRaisesRegex(superstep.SuperstepError, "there is no run.json; give the folder of a run"):
            superstep.open_run(self.folder)
        (self.folder / "run.json").write_text("{")
        with self.assertRaisesRegex(superstep.SuperstepError, "failed to read .*run.json"):
            superstep.open_run(self.folder)


class Page(unittest.TestCase):
    def test_examples_run(self):
        page = (ROOT / "docs" / "python.md").read_text()
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        run_of(folder, "exchange")
        names = {"path": CAPTURES / "exchange", "folder": folder}
        for example in re.findall(r"^```python \w+\n(.*?)^```", page, re.M | re.S):
            exec(example, names)
        self.assertEqual(len(names["launches"]), 2)
        self.assertEqual(names["rows"], 128)
        self.assertIn("bytes", names["flows"].columns)
        self.assertEqual(set(names["writers"].writer_line), {8})
        self.assertEqual(names["table"].to_dict(), names["lines"].to_dict())
        self.assertIn("density-whole", names["names"])
        self.assertIn("</svg>", names["drawing"])
        self.assertEqual(len(names["numbers"]), 2)
        self.assertEqual(len(names["drawings"]), len(names["names"]))
        self.assertTrue(names["passed"])


if __name__ == "__main__":
    unittest.main()
