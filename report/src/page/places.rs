//! The tables of one benchmark: arrays and lines that communicate, communication patterns, the multi-GPU model,
//! and footprints of launches.

use crate::figures::numbers::{bytes, duration, percent};
use crate::html::{Cell, DASH, Meaning, first_of, fold, table};
use maud::{Markup, html};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use superstep_analysis::metrics::Metrics;
use superstep_analysis::metrics::arrays::ArrayRow;
use superstep_analysis::metrics::scaling::ScalingRow;
use superstep_trace::display_name;

/// Maximum number of rows of a table on the page; the files contain all rows.
const MAX_ROWS: usize = 20;

/// Renders the tables of arrays and lines, after bounds and a warning about uninitialised reads.
pub(super) fn carriers(name: &str, metrics: &Metrics) -> Markup {
    html! {
        (bounds(name, metrics))
        (uninitialised(name, metrics))
        (within_launch(name, metrics))
        (arrays(name, metrics))
        (lines(name, metrics))
        (line_flows(name, metrics))
    }
}

/// Bytes that one line loaded from an array and another line stored, over all launches.
#[derive(Default)]
pub(super) struct Flow {
    pub(super) bytes: u64,
    other_cta_bytes: u64,
    pairs: u64,
}

/// The storing line, the loading line and the array.
pub(super) type Ends<'a> = ((&'a str, u32), (&'a str, u32), &'a str);

/// Returns the flows between lines, those with the most bytes first.
pub(super) fn flows(metrics: &Metrics) -> Vec<(Ends<'_>, Flow)> {
    let mut flows = BTreeMap::<Ends<'_>, Flow>::new();
    for row in &metrics.line_flows {
        let writer = (row.writer_file.as_str(), row.writer_line);
        let reader = (row.reader_file.as_str(), row.reader_line);
        let flow = flows.entry((writer, reader, &row.array)).or_default();
        flow.bytes += row.communicated_loaded_bytes;
        flow.other_cta_bytes += row.other_cta_bytes;
        flow.pairs += 1;
    }
    let mut flows: Vec<_> = flows.into_iter().collect();
    flows.sort_by_key(|(_, flow)| Reverse(flow.bytes));
    flows
}

fn line_flows(name: &str, metrics: &Metrics) -> Markup {
    let caption = format!(
        "Bytes that a line of {name} loaded after another line stored them in an earlier launch; every load counts"
    );
    let table = [name, "line-flows", &caption];
    let heading = "Lines that store what other lines load";
    listed(heading, table, &flows(metrics), |(ends, flow)| {
        [
            ("Loading line", Cell::Code(place(ends.1))),
            ("Storing line", Cell::Code(place(ends.0))),
            ("Array", Cell::Code(display_name(ends.2))),
            ("Loaded", size(flow.bytes)),
            ("From other CTAs", size(flow.other_cta_bytes)),
            ("Pairs of launches", Cell::count(flow.pairs)),
        ]
    })
}

fn arrays(name: &str, metrics: &Metrics) -> Markup {
    let arrays = metrics.arrays.iter();
    let arrays: Vec<_> = arrays.filter(|array| array.received_bytes > 0).collect();
    let caption = format!(
        "Arrays of {name}, by bytes that CTAs received from others: each byte counts once for each of its writers"
    );
    let table = [name, "arrays", &caption];
    let heading = "Arrays that carry the communication";
    listed(heading, table, &arrays, |array: &&ArrayRow| {
        let communicated = match array.stored_bytes {
            0 => Cell::Number(DASH.to_owned()),
            stored => share(array.communicated_stored_bytes as f64 / stored as f64),
        };
        [
            ("Array", Cell::Code(display_name(&array.array))),
            ("Allocated at", Cell::Text(array.place.clone())),
            ("Size", size(array.bytes)),
            ("Received", size(array.received_bytes)),
            ("Share", share(array.share)),
            ("Stored", size(array.stored_bytes)),
            ("Communicated", communicated),
            ("Read by", Cell::Code(array.kernels.clone())),
        ]
    })
}

fn lines(name: &str, metrics: &Metrics) -> Markup {
    let caption = format!(
        "Loads of {name}, by bytes that another CTA or kernel had written; every load counts, regardless of the number of writers"
    );
    let table = [name, "lines", &caption];
    let heading = "Source lines that communicate most";
    listed(heading, table, &metrics.lines, |line| {
        [
            ("Line", Cell::Code(place((&line.file, line.line)))),
            ("Function", Cell::Code(display_name(&line.function))),
            ("Communicated", size(line.communicated_loaded_bytes)),
            ("Share", share(line.share)),
        ]
    })
}

fn within_launch(name: &str, metrics: &Metrics) -> Markup {
    let caption = format!("Loads by {name} of bytes that another CTA stores in the same launch");
    let table = [name, "within-launch", &caption];
    let heading = "Communication within launches";
    listed(heading, table, &metrics.within_launch, |line| {
        [
            ("Kernel", Cell::Code(line.kernel.clone())),
            ("Line", Cell::Code(place((&line.file, line.line)))),
            ("Array", Cell::Code(display_name(&line.array))),
            ("Loaded", size(line.loaded_bytes)),
            ("Share of loads", share(line.share)),
            ("By atomics", size(line.atomic_bytes)),
        ]
    })
}

/// Renders the bounds of inexact quantities of an in-situ run.
fn bounds(name: &str, metrics: &Metrics) -> Markup {
    let caption = format!(
        "Inexact quantities of the launches of {name}. All other numbers are exact. Figures and other tables show the \
         counted value, which is between the bounds."
    );
    let table = [name, "bounds", &caption];
    let heading = "Quantities with bounds";
    listed(heading, table, &metrics.bounds, |row| {
        let superstep = in_stream(row.superstep, row.stream);
        [
            ("Superstep", Cell::Number(superstep)),
            ("Kernel", Cell::Code(row.kernel.clone())),
            ("Quantity", Cell::Code(row.quantity.clone())),
            ("At least", Cell::count(row.at_least)),
            ("At most", Cell::count(row.at_most)),
        ]
    })
}

fn uninitialised(name: &str, metrics: &Metrics) -> Markup {
    let caption = format!(
        "Loads of {name} from device memory that no kernel, copy or fill had written since its allocation"
    );
    let table = [name, "uninitialised", &caption];
    let heading = "Warning: reads of uninitialised memory";
    listed(heading, table, &metrics.uninitialised, |row| {
        let kernel = match row.is_copy() {
            true => Cell::Text("copies to the host".to_owned()),
            false => Cell::Code(row.kernel.clone()),
        };
        let first = in_stream(row.superstep, row.stream);
        [
            ("Kernel", kernel),
            ("Line", Cell::Code(place((&row.file, row.line)))),
            ("Array", Cell::Code(display_name(&row.array))),
            ("Allocated at", Cell::Text(row.place.clone())),
            ("Bytes", Cell::count(row.bytes)),
            ("Loaded", Cell::count(row.loaded_bytes)),
            ("Launches", Cell::count(row.launches)),
            ("First superstep", Cell::Number(first)),
        ]
    })
}

/// Formats file and line, without the folder.
pub(super) fn place((file, line): (&str, u32)) -> String {
    match line {
        0 => "unknown".to_owned(),
        number => format!("{}:{number}", file_name(file)),
    }
}

pub(super) fn file_name(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// Appends the stream to a superstep, unless it is the first stream.
fn in_stream(superstep: impl ToString, stream: u32) -> String {
    match stream {
        0 => superstep.to_string(),
        stream => format!("{}, stream {stream}", superstep.to_string()),
    }
}

pub(super) fn details(name: &str, metrics: &Metrics) -> Markup {
    let crosses = |row: &&ScalingRow| row.crossing_bytes > 0;
    html! {
        @if !metrics.patterns.is_empty() {
            (fold(&format!("Communication patterns of {name}, by superstep"), false, patterns(name, metrics)))
        }
        @if let Some(row) = metrics.scaling.iter().find(crosses) {
            (fold(&format!("{name} on several GPUs"), false, scaling(name, metrics, row.link_gb_per_s)))
        }
        @if !metrics.footprints.is_empty() {
            (fold(&format!("Footprint and reuse of each launch of {name}"), false, footprints(name, metrics)))
        }
    }
}

fn patterns(name: &str, metrics: &Metrics) -> Markup {
    let kernel = |stream: u32, superstep: u32| {
        let found = (metrics.supersteps.iter())
            .find(|row| (row.stream, row.superstep) == (stream, superstep));
        let kernel = found.map_or("", |row| row.kernel.as_str());
        Cell::Text(in_stream(format!("{superstep} {kernel}"), stream))
    };
    let caption =
        format!("Pairs of launches of {name} in which the second received data from the first");
    let table = [name, "pattern", &caption];
    let table = listed("", table, &metrics.patterns, |row| {
        let pattern = Cell::Word(row.pattern.clone(), Meaning::Neutral);
        [
            ("From", kernel(row.source_stream, row.source_superstep)),
            ("To", kernel(row.receiver_stream, row.receiver_superstep)),
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
    html! {
        p {
            "The first matching rule determines the pattern. Complete: CTA pairs that communicate, as a share of all pairs of a source \
             and a receiver. Neighbours: share of the bytes that pass between CTAs at most 1 apart in each dimension. \
             Replication: mean number of receivers of a byte."
        }
        (table)
    }
}

fn scaling(name: &str, metrics: &Metrics, link_gb_per_s: f64) -> Markup {
    let rows = metrics.scaling.iter().map(|row| {
        let (word, meaning) = match row.best {
            true => ("best", Meaning::Good),
            false => ("", Meaning::Neutral),
        };
        let time = duration(row.link_s * 1e9);
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
    html! {
        p {
            "This is a model: the CTAs are divided among the GPUs along a coordinate or by linear index, data stays on the GPU that \
             wrote it, and each launch waits for the busiest link, at " (link_gb_per_s) " GB/s in each direction. The best cut is \
             the even cut that takes the least time."
        }
        (table(&format!("Bytes of {name} that would cross between GPUs"), rows))
    }
}

fn footprints(name: &str, metrics: &Metrics) -> Markup {
    let caption = format!("Distinct bytes that the launches of {name} touch");
    let table = [name, "footprint", &caption];
    listed("", table, &metrics.footprints, |row| {
        [
            (
                "Superstep",
                Cell::Text(in_stream(row.superstep, row.stream)),
            ),
            ("Kernel", Cell::Code(row.kernel.clone())),
            ("Read", size(row.read_bytes)),
            ("Written", size(row.written_bytes)),
            ("Touched", size(row.touched_bytes)),
            ("Accesses per byte", ratio(row.accesses_per_byte)),
            ("Touched by the previous launch", share(row.reused_share)),
            ("Touched by any earlier launch", share(row.known_share)),
        ]
    })
}

pub(super) fn size(value: u64) -> Cell {
    Cell::Number(bytes(value as f64))
}

fn share(value: f64) -> Cell {
    Cell::Number(percent(value))
}

fn ratio(value: f64) -> Cell {
    Cell::Number(format!("{value:.2}"))
}

/// Renders a heading and a table with at most [`MAX_ROWS`] of the `rows`, if there are any. `file` contains all rows.
fn listed<R, const COLUMNS: usize>(
    heading: &str,
    [name, file, caption]: [&str; 3],
    rows: &[R],
    cells: impl Fn(&R) -> [(&'static str, Cell); COLUMNS],
) -> Markup {
    html! {
        @if !rows.is_empty() {
            @if !heading.is_empty() { h3 { (heading) } }
            (table(caption, rows.iter().take(MAX_ROWS).map(cells)))
            (first_of(MAX_ROWS, rows.len(), &format!("{name}/{file}.csv")))
        }
    }
}
