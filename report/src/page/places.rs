//! The tables of one benchmark: which arrays and lines communicate, in which pattern, over several GPUs, and what launches touch.

use crate::figures::escape;
use crate::figures::numbers::{bytes, percent};
use crate::html::{Cell, DASH, Meaning, fold, table};
use std::fmt::Write as _;
use superstep_analysis::metrics::Metrics;
use superstep_analysis::metrics::scaling::ScalingRow;
use superstep_trace::display_name;

/// Rows of a table that the page shows; the files have all of them.
const ROWS: usize = 16;

/// Arrays and lines; before them what is to be looked at.
pub(super) fn carriers(out: &mut String, name: &str, metrics: &Metrics) {
    uninitialised(out, name, metrics);
    let arrays = metrics.arrays.iter();
    let arrays: Vec<_> = arrays.filter(|array| array.received_bytes > 0).collect();
    if !arrays.is_empty() {
        heading(out, "Arrays that carry the communication");
        let caption = format!("Arrays of {name}, by bytes that CTAs received from others");
        listed(out, &caption, &arrays, [name, "arrays"], |array| {
            let communicated = match array.stored_bytes {
                0 => DASH.to_owned(),
                stored => percent(array.communicated_stored_bytes as f64 / stored as f64),
            };
            [
                ("Array", Cell::Code(display_name(&array.array))),
                ("Allocated at", Cell::Text(array.place.clone())),
                ("Size", size(array.bytes)),
                ("Received", size(array.received_bytes)),
                ("Share", share(array.share)),
                ("Stored", size(array.stored_bytes)),
                ("Communicated", Cell::Number(communicated)),
                ("Read by", Cell::Code(array.kernels.clone())),
            ]
        });
    }
    if !metrics.lines.is_empty() {
        heading(out, "Source lines that communicate most");
        let caption = format!("Loads of {name}, by bytes that another CTA or kernel had written");
        listed(out, &caption, &metrics.lines, [name, "lines"], |line| {
            let communicated = Cell::count(line.communicated_loaded_bytes);
            [
                ("Line", Cell::Code(place(&line.file, line.line))),
                ("Function", Cell::Code(display_name(&line.function))),
                ("Communicated bytes loaded", communicated),
                ("Share", share(line.share)),
            ]
        });
    }
}

/// What is not exact in a run in situ; nothing where all is.
pub(super) fn bounds(out: &mut String, name: &str, metrics: &Metrics) {
    let rows = &metrics.bounds;
    if rows.is_empty() {
        return;
    }
    heading(out, "What lies between bounds");
    out.push_str(
        "<p>All other numbers are exact. Figures and other tables have what was counted, which lies between the bounds.</p>\n",
    );
    let caption = format!("Quantities of launches of {name} that are not exact");
    listed(out, &caption, rows, [name, "bounds"], |row| {
        let superstep = in_stream(row.superstep.to_string(), row.stream);
        [
            ("Superstep", Cell::Number(superstep)),
            ("Kernel", Cell::Code(row.kernel.clone())),
            ("Quantity", Cell::Code(row.quantity.clone())),
            ("At least", Cell::count(row.at_least)),
            ("At most", Cell::count(row.at_most)),
        ]
    });
}

/// Reads of what nothing has written; nothing where there are none.
fn uninitialised(out: &mut String, name: &str, metrics: &Metrics) {
    let rows = &metrics.uninitialised;
    if rows.is_empty() {
        return;
    }
    heading(out, "Warning: reads of memory that nothing has written");
    let caption = format!(
        "Loads of {name} from device memory that no kernel, copy or fill had written since its allocation"
    );
    listed(out, &caption, rows, [name, "uninitialised"], |row| {
        let kernel = match row.is_copy() {
            true => Cell::Text("copies to the host".to_owned()),
            false => Cell::Code(row.kernel.clone()),
        };
        let first = in_stream(row.superstep.to_string(), row.stream);
        [
            ("Kernel", kernel),
            ("Line", Cell::Code(place(&row.file, row.line))),
            ("Array", Cell::Code(display_name(&row.array))),
            ("Allocated at", Cell::Text(row.place.clone())),
            ("Bytes", Cell::count(row.bytes)),
            ("Loaded", Cell::count(row.loaded_bytes)),
            ("Launches", Cell::count(row.launches)),
            ("First superstep", Cell::Number(first)),
        ]
    });
}

/// File and line, without the folder.
fn place(file: &str, line: u32) -> String {
    let file = file.rsplit('/').next().unwrap_or(file);
    match line {
        0 => "unknown".to_owned(),
        number => format!("{file}:{number}"),
    }
}

/// A superstep, and its stream where it is not the first.
fn in_stream(superstep: String, stream: u32) -> String {
    match stream {
        0 => superstep,
        stream => format!("{superstep}, stream {stream}"),
    }
}

/// Patterns, several GPUs and footprints, all folded away.
pub(super) fn details(out: &mut String, name: &str, metrics: &Metrics) {
    if !metrics.patterns.is_empty() {
        let summary = format!("Communication patterns of {name}, by superstep");
        fold(out, &summary, false);
        out.push_str(
            "<p>The first rule that matches names the pattern. Complete: pairs of CTAs that communicate, of all pairs of a source \
             and a receiver. Neighbours: share of the bytes that pass between CTAs at most 1 apart in each dimension. \
             Replication: mean number of receivers of a byte.</p>\n",
        );
        patterns(out, name, metrics);
        out.push_str("</details>\n");
    }
    let crosses = |row: &&ScalingRow| row.crossing_bytes > 0;
    if let Some(row) = metrics.scaling.iter().find(crosses) {
        fold(out, &format!("{name} on several GPUs"), false);
        let _ = writeln!(
            out,
            "<p>This is a model: the CTAs are divided among the GPUs along a coordinate or by number, data stays on the GPU that \
             wrote it, and each launch waits for the busiest link, at {} GB/s in each direction. The best cut is the even one \
             that takes the least time.</p>",
            row.link_gb_per_s
        );
        scaling(out, name, metrics);
        out.push_str("</details>\n");
    }
    if !metrics.footprints.is_empty() {
        let summary = format!("Footprint and reuse of each launch of {name}");
        fold(out, &summary, false);
        footprints(out, name, metrics);
        out.push_str("</details>\n");
    }
}

fn patterns(out: &mut String, name: &str, metrics: &Metrics) {
    let kernel = |stream: u32, superstep: u32| {
        let found = (metrics.supersteps.iter())
            .find(|row| (row.stream, row.superstep) == (stream, superstep));
        let kernel = found.map_or("", |row| row.kernel.as_str());
        Cell::Text(in_stream(format!("{superstep} {kernel}"), stream))
    };
    let caption =
        format!("Pairs of launches of {name} in which the second received data from the first");
    listed(out, &caption, &metrics.patterns, [name, "pattern"], |row| {
        let to = kernel(row.receiver_stream, row.receiver_superstep);
        let pattern = Cell::Word(row.pattern.clone(), Meaning::Neutral);
        [
            ("From", kernel(row.source_stream, row.source_superstep)),
            ("To", to),
            ("Pattern", pattern),
            ("Sources", Cell::count(row.sources)),
            ("Receivers", Cell::count(row.receivers)),
            ("Pairs", Cell::count(row.pairs)),
            ("Complete", share(row.completeness)),
            ("Most receivers", Cell::count(row.max_out)),
            ("Most sources", Cell::count(row.max_in)),
            ("Neighbours", share(row.neighbour_share)),
            ("Replication", ratio(row.replication)),
            ("Bytes", size(row.bytes)),
        ]
    });
}

fn scaling(out: &mut String, name: &str, metrics: &Metrics) {
    let rows = metrics.scaling.iter().map(|row| {
        let (word, meaning) = match row.best {
            true => ("best", Meaning::Good),
            false => ("", Meaning::Neutral),
        };
        let time = format!("{:.3} ms", row.link_s * 1e3);
        [
            ("GPUs", Cell::Text(row.gpus.to_string())),
            ("Cut", Cell::Text(row.cut.clone())),
            ("", Cell::Word(word.to_owned(), meaning)),
            ("Crossing", size(row.crossing_bytes)),
            ("Share", share(row.share)),
            ("Imbalance", ratio(row.imbalance)),
            ("Time on links", Cell::Number(time)),
        ]
    });
    let caption = format!("Bytes of {name} that would cross between GPUs");
    table(out, &caption, rows);
}

fn footprints(out: &mut String, name: &str, metrics: &Metrics) {
    let caption = format!("Distinct bytes that the launches of {name} touch");
    let rows = &metrics.footprints;
    listed(out, &caption, rows, [name, "footprint"], |row| {
        let number = in_stream(row.superstep.to_string(), row.stream);
        [
            ("Superstep", Cell::Text(number)),
            ("Kernel", Cell::Code(row.kernel.clone())),
            ("Read", size(row.read_bytes)),
            ("Written", size(row.written_bytes)),
            ("Touched", size(row.touched_bytes)),
            ("Accesses per byte", ratio(row.accesses_per_byte)),
            ("Touched by the previous launch", share(row.reused_share)),
            ("Touched by any earlier launch", share(row.known_share)),
        ]
    });
}

fn size(value: u64) -> Cell {
    Cell::Number(bytes(value as f64))
}

fn share(value: f64) -> Cell {
    Cell::Number(percent(value))
}

fn ratio(value: f64) -> Cell {
    Cell::Number(format!("{value:.2}"))
}

fn heading(out: &mut String, text: &str) {
    let _ = writeln!(out, "<h3>{}</h3>", escape(text));
}

/// A table of the first of `rows`; below it where the others are: in which file of which benchmark.
fn listed<R, const COLUMNS: usize>(
    out: &mut String,
    caption: &str,
    rows: &[R],
    [name, file]: [&str; 2],
    cells: impl Fn(&R) -> [(&'static str, Cell); COLUMNS],
) {
    table(out, caption, rows.iter().take(ROWS).map(cells));
    if rows.len() > ROWS {
        let _ = writeln!(
            out,
            "<p class=\"soft\">The first {ROWS} of {} rows; <code>tables/{}/{file}.csv</code> has all of them.</p>",
            rows.len(),
            escape(name)
        );
    }
}
