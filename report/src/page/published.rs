//! Published values in the page: marks in the figures, a table below each, and one of what differs and why.

use crate::figures::multiples::{Mark, Multiples, Plot};
use crate::figures::palette;
use crate::html::{self, Cell, Meaning, fold, table};
use crate::published::{
    self, Agreement, Beside, FIGURES, Quantity, SIZE, Unit, has_programs, lines, summary,
};
use std::fmt::Write as _;
use superstep_analysis::bins::{DEGREE_BINS, STRIDE_BINS};
use superstep_analysis::run_summary::RunSummary;

/// What stands before the figures.
pub(super) fn introduction(out: &mut String, run: &RunSummary, rows: &[Beside]) {
    if !has_programs(run) {
        return;
    }
    let text = match rows.is_empty() {
        false => {
            "Lines in vermilion are what the thesis published; below each figure stand published and measured values."
                .to_owned()
        }
        true => format!(
            "The values that the thesis published are of the size <code>{SIZE}</code>, and stand beside the measured ones in runs of that size that trace whole programs."
        ),
    };
    let _ = writeln!(out, "<p>{text}</p>");
}

/// Adds the published values to a figure of all programs.
pub(super) fn mark(figure: &mut Multiples, rows: &[Beside]) {
    let Some(number) = number(figure.name) else {
        return;
    };
    let mut marked = false;
    for row in rows.iter().filter(|row| row.figure == number) {
        marked |= mark_one(figure, row, rows);
    }
    if marked {
        let legend = ("published".to_owned(), palette::VERMILLION);
        figure.legend.push(legend);
    }
}

fn number(name: &str) -> Option<&'static str> {
    let mut figures = FIGURES.iter();
    let (number, ..) = figures.find(|(.., ours)| *ours == name)?;
    Some(number)
}

/// A line where the measured value's bar ends, if it were as large as the published one.
fn mark_one(figure: &mut Multiples, row: &Beside, rows: &[Beside]) -> bool {
    let bin = |bins: &[u64]| bins.iter().position(|&bin| bin == row.at);
    let named = |plot: &Plot| {
        let names = plot.x.ticks.iter();
        names
            .map(|(_, name)| name)
            .position(|it| *it == row.application)
    };
    let of_program = figure
        .plots
        .iter()
        .position(|it| it.title == row.application);
    // Its plot, its band, and from where to where in a band of width 1.
    let at = row.at as usize;
    let (plot, band, from, to) = match row.quantity {
        Quantity::Loaded => (Some(0), figure.plots.first().and_then(named), 0.1, 0.5),
        Quantity::Stored => (Some(0), figure.plots.first().and_then(named), 0.5, 0.9),
        Quantity::Communicated => (Some(1), figure.plots.get(1).and_then(named), 0.1, 0.9),
        Quantity::OutDegree => (of_program, bin(&DEGREE_BINS), 0.1, 0.5),
        Quantity::InDegree => (of_program, bin(&DEGREE_BINS), 0.5, 0.9),
        Quantity::LoadStride => (of_program, bin(&STRIDE_BINS), 0.1, 0.5),
        Quantity::StoreStride => (of_program, bin(&STRIDE_BINS), 0.5, 0.9),
        Quantity::CutXShare => (of_program, Some(0), 0.5, 0.9),
        Quantity::CutYShare => (of_program, Some(1), 0.5, 0.9),
        Quantity::SuperstepLoads => (of_program, Some(at), 0.1, 0.5),
        Quantity::SuperstepStores => (of_program, Some(at), 0.5, 0.9),
        Quantity::Distance => (of_program, Some(at), 0.15, 0.85),
        Quantity::MeanOutDegree => (of_program, Some(at), 0.2, 0.8),
        // Texts over the bars of the shares.
        Quantity::CutX | Quantity::CutY => return false,
    };
    let height = match row.quantity {
        Quantity::Communicated => {
            let stored =
                |it: &&Beside| it.quantity == Quantity::Stored && it.application == row.application;
            let stored = rows.iter().find(stored).map(|it| it.published);
            stored.map(|stored| row.published / stored)
        }
        quantity if quantity.unit() == Unit::Percent => Some(row.published / 100.0),
        _ => Some(row.published),
    };
    let plot = plot.and_then(|plot| figure.plots.get_mut(plot));
    let (Some(plot), Some(band), Some(height)) = (plot, band, height) else {
        return false;
    };
    if row.published == 0.0 {
        return false;
    }
    plot.y.high = plot.y.high.max(height);
    let band = band as f64;
    let line = vec![(band + from, height), (band + to, height)];
    // Below the texts over the bars.
    let mut marks = plot.marks.iter();
    let place = marks.position(|mark| matches!(mark, Mark::Text(..)));
    let line = Mark::Line(line, 2.5, palette::VERMILLION);
    plot.marks.insert(place.unwrap_or(plot.marks.len()), line);
    true
}

/// What stands below a figure.
pub(super) fn beneath(out: &mut String, name: &str, rows: &[Beside]) {
    let Some(number) = number(name).filter(|_| !rows.is_empty()) else {
        return;
    };
    let Some(source) = published::source(number) else {
        let _ = writeln!(
            out,
            "<p>The thesis published no numbers of figure {number}.</p>"
        );
        return;
    };
    let lines = lines(rows, number);
    if lines.is_empty() {
        return;
    }
    fold(
        out,
        &format!("Figure {number}: published and measured"),
        false,
    );
    let lines = lines.into_iter().map(|line| {
        [
            ("Benchmark", Cell::Text(line.application)),
            ("Value", Cell::Text(line.what)),
            ("Published", Cell::Number(line.published)),
            ("Measured", Cell::Number(line.measured)),
            (
                "Difference",
                Cell::Word(line.difference, meaning(line.agreement)),
            ),
        ]
    });
    let caption = format!("Figure {number}, published values from {source}");
    table(out, &caption, lines);
    out.push_str("</details>\n");
}

fn meaning(agreement: Agreement) -> Meaning {
    match agreement {
        Agreement::Equal | Agreement::Close => Meaning::Good,
        Agreement::Differs => Meaning::Bad,
    }
}

/// What differs, and why.
pub(super) fn section(out: &mut String, rows: &[Beside]) {
    if rows.is_empty() {
        return;
    }
    let heading = "Published and measured values";
    html::section(out, "published", heading);
    out.push_str(
        "<p>How many of the values that the thesis published (<a href=\"#references\">Rieber 2017</a>) this run found. \
         Those of figures 6.7 and 6.9 are read off plots, and <em>close</em> within 1 %. \
         All values: <code>tables/published.csv</code>.</p>\n",
    );
    let rows = summary(rows).into_iter().map(|one| {
        let agreement = match one.differ {
            0 => Agreement::Equal,
            _ => Agreement::Differs,
        };
        let differ = Cell::Word(html::grouped(one.differ), meaning(agreement));
        [
            ("Figure", Cell::Text(one.figure)),
            ("Benchmark", Cell::Text(one.application)),
            ("Equal", Cell::count(one.equal)),
            ("Close", Cell::count(one.close)),
            ("Differ", differ),
            ("Reason", Cell::Text(one.reasons)),
        ]
    });
    table(out, "Values of the thesis, by figure and program", rows);
    out.push_str("</section>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::index;
    use crate::page::tests::{check_nesting, metrics, run};
    use superstep_analysis::run_summary::{ByteCounts, CommunicationSummary};

    /// A run of two programs at the thesis's size; `hs2d` has the published volumes.
    fn published_run() -> RunSummary {
        let mut run = run();
        run.size = SIZE.to_owned();
        let hs2d = &mut run.benchmarks[0];
        hs2d.bytes = Some(ByteCounts {
            loaded: 18_496_000,
            stored: 5_242_880,
            atomic: 0,
        });
        hs2d.communication = Some(CommunicationSummary::new(5_242_880, 2_300_928));
        run
    }

    #[test]
    fn published_values_stand_in_the_figures_and_below_them() {
        let measured = vec![("hs2d".to_owned(), metrics())];
        let page = index(&published_run(), &measured, &[]).unwrap();
        check_nesting(&page);
        for text in [
            "Lines in vermilion",
            "href=\"#published\"",
            "Figure 6.1, published values from the thesis&#39;s notebook write-com-ration",
            "18,496,000",
            "The thesis published no numbers of figure 6.2.",
            "The thesis published no numbers of figure 6.6.",
            "Figure 6.9: published and measured",
            "not explained",
        ] {
            assert!(page.contains(text), "the page lacks {text}");
        }
        // Figures 6.1, 6.3, 6.4, 6.7 and 6.9: these metrics have no strides, and distances are published of bfs alone.
        assert_eq!(page.matches("\npublished\n</text>").count(), 5);
        assert_eq!(page.matches("published and measured</summary>").count(), 5);
    }

    #[test]
    fn other_sizes_say_where_published_values_are_and_other_suites_nothing() {
        let measured = vec![("hs2d".to_owned(), metrics())];
        let page = index(&run(), &measured, &[]).unwrap();
        assert!(page.contains("are of the size <code>thesis</code>"));
        assert!(!page.contains("id=\"published\"") && !page.contains("Lines in vermilion"));
        let mut other = published_run();
        other.suite = "rodinia".to_owned();
        let page = index(&other, &measured, &[]).unwrap();
        assert!(!page.contains("vermilion") && !page.contains("that the thesis published"));
    }

    #[test]
    fn a_part_of_a_program_has_nothing_beside_it() {
        let measured = vec![("hs2d".to_owned(), metrics())];
        let mut run = published_run();
        run.benchmarks[0].in_situ = true;
        assert!(published::of_run(&run, &measured).is_empty());
        run.benchmarks[0].in_situ = false;
        let rows = published::of_run(&run, &measured);
        let stored = rows.iter().find(|row| row.quantity == Quantity::Stored);
        assert_eq!(stored.unwrap().agreement, Agreement::Equal);
    }
}
