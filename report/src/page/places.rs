//! The tables of one benchmark: which arrays and lines communicate, in which pattern, over several GPUs, and what launches touch.

use crate::figures::escape;
use crate::figures::numbers::{bytes, percent};
use crate::html::{Cell, Meaning, fold, table};
use std::fmt::Write as _;
use superstep_analysis::metrics::Metrics;
use superstep_analysis::metrics::scaling::ScalingRow;
use superstep_trace::display_name;

/// Rows of a table that the page shows; the files have all of them.
const ROWS: usize = 16;

/// Arrays and lines; before them what is to be looked at.
pub(super) fn carriers(out: &mut String, name: &str, metrics: &Metrics) {
    uninitialised(out, name, metrics);
    let arrays: Vec<_> = (metrics.arrays.iter())
        .filter(|array| array.received_bytes > 0)
        .collect();
    if !arrays.is_empty() {
        let columns = [
            ("Array", false),
            ("Allocated at", false),
            ("Size", true),
            ("Received", true),
            ("Share", true),
            ("Stored", true),
            ("Communicated", true),
            ("Read by", false),
        ];
        let rows = arrays.iter().take(ROWS).map(|array| {
            let communicated = match array.stored_bytes {
                0 => "–".to_owned(),
                stored => percent(array.communicated_stored_bytes as f64 / stored as f64),
            };
            vec![
                Cell::Code(display_name(&array.array)),
                Cell::Text(array.place.clone()),
                size(array.bytes),
                size(array.received_bytes),
                Cell::Number(percent(array.share)),
                size(array.stored_bytes),
                Cell::Number(communicated),
                Cell::Code(array.kernels.clone()),
            ]
        });
        heading(out, "Arrays that carry the communication");
        let caption = format!("Arrays of {name}, by bytes that CTAs received from others");
        table(out, &caption, &columns, rows);
        rest(out, arrays.len(), name, "arrays");
    }
    if !metrics.lines.is_empty() {
        let columns = [
            ("Line", false),
            ("Function", false),
            ("Communicated bytes loaded", true),
            ("Share", true),
        ];
        let rows = metrics.lines.iter().take(ROWS).map(|line| {
            vec![
                Cell::Code(place(&line.file, line.line)),
                Cell::Code(display_name(&line.function)),
                Cell::count(Some(line.communicated_loaded_bytes)),
                Cell::Number(percent(line.share)),
            ]
        });
        heading(out, "Source lines that communicate most");
        let caption = format!("Loads of {name}, by bytes that another CTA or kernel had written");
        table(out, &caption, &columns, rows);
        rest(out, metrics.lines.len(), name, "lines");
    }
}

/// Reads of what nothing has written; nothing where there are none.
fn uninitialised(out: &mut String, name: &str, metrics: &Metrics) {
    if metrics.uninitialised.is_empty() {
        return;
    }
    let columns = [
        ("Kernel", false),
        ("Line", false),
        ("Array", false),
        ("Allocated at", false),
        ("Bytes", true),
        ("Loaded", true),
        ("Launches", true),
        ("First superstep", true),
    ];
    let rows = metrics.uninitialised.iter().take(ROWS).map(|row| {
        let first = match row.stream {
            0 => row.superstep.to_string(),
            stream => format!("{}, stream {stream}", row.superstep),
        };
        vec![
            match row.is_copy() {
                true => Cell::Text("copies to the host".to_owned()),
                false => Cell::Code(row.kernel.clone()),
            },
            Cell::Code(place(&row.file, row.line)),
            Cell::Code(display_name(&row.array)),
            Cell::Text(row.place.clone()),
            Cell::count(Some(row.bytes)),
            Cell::count(Some(row.loaded_bytes)),
            Cell::count(Some(row.launches)),
            Cell::Number(first),
        ]
    });
    heading(out, "Warning: reads of memory that nothing has written");
    let caption = format!(
        "Loads of {name} from device memory that no kernel, copy or fill had written since its allocation"
    );
    table(out, &caption, &columns, rows);
    rest(out, metrics.uninitialised.len(), name, "uninitialised");
}

/// File and line, without the folder.
fn place(file: &str, line: u32) -> String {
    let file = file.rsplit('/').next().unwrap_or(file);
    match line {
        0 => "unknown".to_owned(),
        number => format!("{file}:{number}"),
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
    let columns = [
        ("From", false),
        ("To", false),
        ("Pattern", false),
        ("Sources", true),
        ("Receivers", true),
        ("Pairs", true),
        ("Complete", true),
        ("Most receivers", true),
        ("Most sources", true),
        ("Neighbours", true),
        ("Replication", true),
        ("Bytes", true),
    ];
    let kernel = |stream: u32, superstep: u32| {
        let found = (metrics.supersteps.iter())
            .find(|row| (row.stream, row.superstep) == (stream, superstep));
        let kernel = found.map_or("", |row| row.kernel.as_str());
        match stream {
            0 => format!("{superstep} {kernel}"),
            stream => format!("{superstep} {kernel}, stream {stream}"),
        }
    };
    let rows = metrics.patterns.iter().take(ROWS).map(|row| {
        vec![
            Cell::Text(kernel(row.source_stream, row.source_superstep)),
            Cell::Text(kernel(row.receiver_stream, row.receiver_superstep)),
            Cell::Word(row.pattern.clone(), Meaning::Neutral),
            Cell::count(Some(row.sources)),
            Cell::count(Some(row.receivers)),
            Cell::count(Some(row.pairs)),
            Cell::Number(percent(row.completeness)),
            Cell::count(Some(row.max_out)),
            Cell::count(Some(row.max_in)),
            Cell::Number(percent(row.neighbour_share)),
            Cell::Number(format!("{:.2}", row.replication)),
            size(row.bytes),
        ]
    });
    let caption =
        format!("Pairs of launches of {name} in which the second received data from the first");
    table(out, &caption, &columns, rows);
    rest(out, metrics.patterns.len(), name, "pattern");
}

fn scaling(out: &mut String, name: &str, metrics: &Metrics) {
    let columns = [
        ("GPUs", false),
        ("Cut", false),
        ("", false),
        ("Crossing", true),
        ("Share", true),
        ("Imbalance", true),
        ("Time on links", true),
    ];
    let rows = metrics.scaling.iter().map(|row| {
        let (word, meaning) = match row.best {
            true => ("best", Meaning::Good),
            false => ("", Meaning::Neutral),
        };
        vec![
            Cell::Text(row.gpus.to_string()),
            Cell::Text(row.cut.clone()),
            Cell::Word(word.to_owned(), meaning),
            size(row.crossing_bytes),
            Cell::Number(percent(row.share)),
            Cell::Number(format!("{:.2}", row.imbalance)),
            Cell::Number(format!("{:.3} ms", row.link_s * 1e3)),
        ]
    });
    let caption = format!("Bytes of {name} that would cross between GPUs");
    table(out, &caption, &columns, rows);
}

fn footprints(out: &mut String, name: &str, metrics: &Metrics) {
    let columns = [
        ("Superstep", false),
        ("Kernel", false),
        ("Read", true),
        ("Written", true),
        ("Touched", true),
        ("Accesses per byte", true),
        ("Touched by the previous launch", true),
        ("Touched by any earlier launch", true),
    ];
    let rows = metrics.footprints.iter().take(ROWS).map(|row| {
        let number = match row.stream {
            0 => row.superstep.to_string(),
            stream => format!("{}, stream {stream}", row.superstep),
        };
        vec![
            Cell::Text(number),
            Cell::Code(row.kernel.clone()),
            size(row.read_bytes),
            size(row.written_bytes),
            size(row.touched_bytes),
            Cell::Number(format!("{:.2}", row.accesses_per_byte)),
            Cell::Number(percent(row.reused_share)),
            Cell::Number(percent(row.known_share)),
        ]
    });
    let caption = format!("Distinct bytes that the launches of {name} touch");
    table(out, &caption, &columns, rows);
    rest(out, metrics.footprints.len(), name, "footprint");
}

fn size(value: u64) -> Cell {
    Cell::Number(bytes(value as f64))
}

fn heading(out: &mut String, text: &str) {
    let _ = writeln!(out, "<h3>{}</h3>", escape(text));
}

/// Where the rows are that the page leaves out.
fn rest(out: &mut String, rows: usize, name: &str, table: &str) {
    if rows > ROWS {
        let _ = writeln!(
            out,
            "<p class=\"soft\">The first {ROWS} of {rows} rows; <code>tables/{}/{table}.csv</code> has all of them.</p>",
            escape(name)
        );
    }
}
