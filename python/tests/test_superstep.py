"""Tests of the installed module: captures in the repository, read with pyarrow, and the examples in docs/python.md."""

import re
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

import pyarrow

import superstep

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT / "trace" / "tests" / "captures"


def stream(accesses):
    return pyarrow.RecordBatchReader.from_stream(accesses).read_all()


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
            # A notebook shows one of the two.
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
        with self.assertRaisesRegex(ValueError, "svg or .png"):
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

    def test_wrong_arguments(self):
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
            there = {name for name in members if not name.startswith("__") or name in typed}
            self.assertEqual(there, typed, kind)


class Page(unittest.TestCase):
    def test_examples_run(self):
        page = (ROOT / "docs" / "python.md").read_text()
        names = {"path": CAPTURES / "whole"}
        for example in re.findall(r"^```python \w+\n(.*?)^```", page, re.M | re.S):
            exec(example, names)
        self.assertEqual(names["launches"].num_rows, 4)
        # Launches 0 and 1.
        self.assertEqual(names["rows"], 192)
        self.assertEqual(names["by_cta"].rows(), [(0, 160), (1, 160)])
        self.assertIn("bytes", names["flows"].column_names)
        self.assertIn("density-whole", names["names"])
        self.assertIn("</svg>", names["drawing"])
        self.assertEqual(names["numbers"].num_rows, 4)


if __name__ == "__main__":
    unittest.main()
