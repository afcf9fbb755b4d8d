//! Published and measured values side by side, as a complete table and as lines for human readers.

use super::measured::Reproduction;
use super::{Data, Quantity, Series, Unit, data};
use crate::html::grouped;
use superstep_table::table;

table! {
    /// A published value and the measured one.
    pub(crate) struct Comparison = "published" {
        figure: String = "figure of the thesis";
        application: String = "name in the manifest";
        quantity: Quantity = "published quantity";
        at: u64 =
            "start of the bin (degrees, strides), superstep, or launches in between; else 0";
        published: f64 = "bytes; percent for degrees, strides and shares; CTAs for mean degrees";
        measured: f64 = "value in the run, in the same unit";
        agreement: Agreement = "equal, close (a value read off a plot, within 1 %) or differs";
        reason: String = "reason for the difference, if any";
    }
}

/// Agreement of a measured value with the published one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Agreement {
    #[default]
    Equal,
    /// Equal within the precision of a value read off a plot.
    Close,
    /// Differs for a known reason.
    Explained,
    Differs,
}

impl Agreement {
    /// Relative precision of values read off a plot.
    const CLOSE: f64 = 0.01;

    fn of(quantity: Quantity, published: f64, measured: f64) -> Self {
        let difference = (measured - published).abs();
        let is_equal = match quantity.unit() {
            Unit::Percent => difference < 1e-9,
            Unit::Bytes | Unit::Ctas => difference == 0.0,
        };
        let is_close = quantity.is_read_off() && difference <= Self::CLOSE * published.abs();
        match (is_equal, is_close) {
            (true, _) => Self::Equal,
            (_, true) => Self::Close,
            _ => Self::Differs,
        }
    }

    pub(crate) fn is_difference(self) -> bool {
        matches!(self, Self::Explained | Self::Differs)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Close => "close",
            Self::Explained | Self::Differs => "differs",
        }
    }
}

crate::text_column!(Agreement);

/// Reason given for an unexplained difference.
const UNEXPLAINED: &str = "not explained";
const BETWEEN_REASONS: &str = "; ";

/// Returns every published value with the measured one, figure by figure.
pub(crate) fn beside(measured: &Reproduction) -> Vec<Comparison> {
    let data = data();
    let mut rows: Vec<Comparison> = Vec::new();
    for series in &data.series {
        let matches = |s: &&Series| (&s.program, s.quantity) == (&series.program, series.quantity);
        let Some(found) = measured.series.iter().find(matches) else {
            continue;
        };
        let mut places: Vec<u64> = series.values.iter().map(|(at, _)| *at).collect();
        if series.quantity.bins().is_some() {
            places.extend(found.values.iter().map(|(at, _)| *at));
            places.sort_unstable();
            places.dedup();
        }
        for at in places {
            let (published, value) = (series.value(at), found.value(at));
            let (agreement, reason) = match Agreement::of(series.quantity, published, value) {
                Agreement::Differs => match reason(&data, measured, series) {
                    Some(reason) => (Agreement::Explained, reason),
                    None => (Agreement::Differs, UNEXPLAINED.to_owned()),
                },
                same => (same, String::new()),
            };
            rows.push(Comparison {
                figure: series.quantity.figure().to_owned(),
                application: series.program.clone(),
                quantity: series.quantity,
                at,
                published,
                measured: value,
                agreement,
                reason,
            });
        }
    }
    rows.sort_by(|a, b| a.figure.cmp(&b.figure));
    rows
}

/// Returns the known reasons why a series differs.
fn reason(data: &Data, measured: &Reproduction, series: &Series) -> Option<String> {
    let has_input = |sha256: &String| {
        let mut programs = measured.programs.iter();
        programs.any(|it| it.name == series.program && it.inputs.contains(sha256))
    };
    let reasons = data.reasons.iter().filter(|reason| {
        reason.program == series.program
            && (reason.quantities.is_empty() || reason.quantities.contains(&series.quantity))
            && !reason.unless_input.as_ref().is_some_and(has_input)
    });
    let reasons: Vec<&str> = reasons.map(|reason| reason.because.as_str()).collect();
    (!reasons.is_empty()).then(|| reasons.join(BETWEEN_REASONS))
}

/// One or more consecutive values of a program, formatted for human readers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) application: String,
    pub(crate) what: String,
    pub(crate) published: String,
    pub(crate) measured: String,
    pub(crate) agreement: Agreement,
    /// "equal", "within 1 %", or the difference from the published value.
    pub(crate) difference: String,
}

/// Returns a figure's rows as lines. Consecutive supersteps with the same values share a line.
pub(crate) fn lines(rows: &[Comparison], figure: &str) -> Vec<Line> {
    let rows: Vec<&Comparison> = rows.iter().filter(|row| row.figure == figure).collect();
    let is_next = |a: &&Comparison, b: &&Comparison| {
        (&a.application, a.quantity) == (&b.application, b.quantity)
            && a.quantity.bins().is_none()
            && a.at + 1 == b.at
            && (a.published, a.measured) == (b.published, b.measured)
    };
    rows.chunk_by(is_next).map(line).collect()
}

fn line(rows: &[&Comparison]) -> Line {
    let (first, last) = (rows[0], rows[rows.len() - 1]);
    let quantity = first.quantity;
    let name = quantity.name();
    let what = match (quantity, quantity.bins()) {
        (_, Some(bins)) => format!("{name} {}", bin(bins, first.at)),
        (Quantity::Distance, _) => format!("{name}: {}", first.at),
        (Quantity::SuperstepStores | Quantity::SuperstepLoads | Quantity::MeanOutDegree, _) => {
            match first.at == last.at {
                true => format!("{name} {}", first.at),
                false => format!("{name}s {} to {}", first.at, last.at),
            }
        }
        _ => name.to_owned(),
    };
    let show = |value: f64| match quantity.unit() {
        Unit::Bytes => grouped(value as u64),
        Unit::Percent => format!("{value:.3} %"),
        Unit::Ctas => format!("{value:.2}"),
    };
    Line {
        application: first.application.clone(),
        what,
        published: show(first.published),
        measured: show(first.measured),
        agreement: first.agreement,
        difference: difference(first),
    }
}

fn bin(bins: &[u64], first: u64) -> String {
    let next = bins.iter().find(|&&bin| bin > first);
    match next {
        Some(next) if next - 1 == first => first.to_string(),
        Some(next) => format!("{} to {}", grouped(first), grouped(next - 1)),
        None => format!("{} or more", grouped(first)),
    }
}

fn difference(row: &Comparison) -> String {
    let difference = row.measured - row.published;
    let sign = if difference < 0.0 { '−' } else { '+' };
    let size = difference.abs();
    match (row.agreement, row.quantity.unit()) {
        (Agreement::Equal, _) => "equal".to_owned(),
        (Agreement::Close, _) => "within 1 %".to_owned(),
        (_, Unit::Percent) if size < 0.0005 => format!("{sign}< 0.001 points"),
        (_, Unit::Percent) => format!("{sign}{size:.3} points"),
        (_, unit) => {
            let relative = match 100.0 * size / row.published.abs() {
                relative if relative < 0.1 => format!("{sign}{relative:.4} %"),
                relative if relative < 1000.0 => format!("{sign}{relative:.1} %"),
                _ => "more than ten times".to_owned(),
            };
            match unit {
                Unit::Bytes => format!("{sign}{} ({relative})", grouped(size as u64)),
                _ => relative,
            }
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Summary {
    pub(crate) figure: String,
    pub(crate) application: String,
    pub(crate) equal: u64,
    pub(crate) close: u64,
    pub(crate) differ: u64,
    /// Differences without a known reason.
    pub(crate) unexplained: u64,
    /// Distinct reasons for all differences.
    pub(crate) reasons: String,
}

/// Counts the values that agree, by figure and program.
pub(crate) fn summary(rows: &[Comparison]) -> Vec<Summary> {
    let same =
        |a: &Comparison, b: &Comparison| (&a.figure, &a.application) == (&b.figure, &b.application);
    rows.chunk_by(same).map(|rows| sum(rows.iter())).collect()
}

/// Counts the values that agree over all figures, by program.
pub(crate) fn by_program(rows: &[Comparison]) -> Vec<Summary> {
    let mut names: Vec<&str> = Vec::new();
    for row in rows {
        if !names.contains(&&*row.application) {
            names.push(&row.application);
        }
    }
    let sum_of = |name: &&str| sum(rows.iter().filter(|row| row.application == *name));
    names.iter().map(sum_of).collect()
}

fn sum<'a>(rows: impl Iterator<Item = &'a Comparison>) -> Summary {
    let mut summary = Summary::default();
    let mut reasons: Vec<&str> = Vec::new();
    for row in rows {
        summary.figure.clone_from(&row.figure);
        summary.application.clone_from(&row.application);
        let count = match row.agreement {
            Agreement::Equal => &mut summary.equal,
            Agreement::Close => &mut summary.close,
            Agreement::Explained | Agreement::Differs => &mut summary.differ,
        };
        *count += 1;
        summary.unexplained += u64::from(row.agreement == Agreement::Differs);
        for reason in row.reason.split(BETWEEN_REASONS) {
            if !reason.is_empty() && !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
    }
    summary.reasons = reasons.join(BETWEEN_REASONS);
    summary
}
