//! Small multiples: plots of the same kind, one for each application.

use super::canvas::{Canvas, bold, look};
use super::numbers::bytes;
use super::palette;
use crate::error::Result;
use plotters::backend::DrawingBackend;
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{FontTransform, RGBColor};
use superstep_table::Table;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scale {
    pub low: f64,
    pub high: f64,
    pub logarithmic: bool,
    pub ticks: Vec<(f64, String)>,
    /// Name of the values, with their unit.
    pub label: String,
}

impl Scale {
    pub fn new(low: f64, high: f64, label: &str, ticks: Vec<(f64, String)>) -> Self {
        Self {
            low,
            high,
            logarithmic: false,
            ticks,
            label: label.to_owned(),
        }
    }

    /// Returns a scale with one band of width 1 for each name, labelled in its middle.
    pub fn bands(names: impl IntoIterator<Item = String>, label: &str) -> Self {
        let middles = (0..).map(|index| f64::from(index) + 0.5);
        let ticks: Vec<_> = middles.zip(names).collect();
        Self::new(0.0, ticks.len().max(1) as f64, label, ticks)
    }

    pub fn shares(label: &str) -> Self {
        let tick = |quarter| (f64::from(quarter) / 4.0, format!("{} %", 25 * quarter));
        Self::new(0.0, 1.0, label, (0..=4).map(tick).collect())
    }

    /// Returns a scale from 0 to at least `max`, with round ticks.
    pub fn linear(max: f64, label: &str, show: impl Fn(f64) -> String) -> Self {
        let max = if max > 0.0 { max } else { 1.0 };
        let step = round_step(max);
        Self::stepped(0.0, (max / step).ceil() * step, step, label, show)
    }

    /// Returns a scale of bytes from 0 to at least `max`, with ticks that are round in their unit.
    pub fn bytes(max: f64, label: &str) -> Self {
        let max = max.max(1.0);
        let unit = 1024f64.powf(max.log(1024.0).floor());
        let step = round_step(max / unit) * unit;
        Self::stepped(0.0, (max / step).ceil() * step, step, label, bytes)
    }

    /// Returns a scale from exactly `low` to `high`, with round ticks.
    pub fn within(low: f64, high: f64, label: &str, show: impl Fn(f64) -> String) -> Self {
        Self::stepped(low, high, round_step(high - low), label, show)
    }

    fn stepped(low: f64, high: f64, step: f64, label: &str, show: impl Fn(f64) -> String) -> Self {
        let first = (low / step).ceil();
        let values = (0..).map(|k| (first + f64::from(k)) * step);
        let ticks = values.take_while(|&value| value <= high);
        Self::new(low, high, label, ticks.map(|v| (v, show(v))).collect())
    }

    /// Returns a scale of the integers below `count`, each in its own band, with as many labels as fit.
    pub fn numbers(count: u64, label: &str) -> Self {
        let mut every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].into_iter();
        let every = every.find(|every| count / every <= 10);
        let numbers = (0..count).step_by(every.unwrap_or(count / 10) as usize);
        let ticks = numbers.map(|k| (k as f64 + 0.5, k.to_string())).collect();
        Self::new(0.0, count.max(1) as f64, label, ticks)
    }

    /// Returns a logarithmic scale between powers of `base` that enclose `low` and `high`, both positive.
    pub fn powers(
        base: u32,
        low: f64,
        high: f64,
        label: &str,
        show: impl Fn(f64) -> String,
    ) -> Self {
        let base = f64::from(base);
        let exponent = |value: f64| value.max(1.0).log(base);
        let first = (exponent(low) + 1e-9).floor();
        let last = (exponent(high) - 1e-9).ceil().max(first + 1.0);
        let every = ((last - first) / 5.0).ceil();
        let shown = (0..=(last - first) as u32).map(f64::from);
        let values = (shown.filter(|k| k % every == 0.0)).map(|k| base.powf(first + k));
        let ticks = values.map(|value| (value, show(value))).collect();
        Self {
            logarithmic: true,
            ..Self::new(base.powf(first), base.powf(last), label, ticks)
        }
    }

    /// Returns the position of a value: 0 at the low end, 1 at the high end.
    fn place(&self, value: f64) -> f64 {
        let place = if self.logarithmic {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        place.clamp(0.0, 1.0)
    }
}

/// Returns the smallest round step that fits at most five times into `length`, which must be positive.
fn round_step(length: f64) -> f64 {
    let unit = 10f64.powf((length / 4.0).log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|s| s * unit).into_iter();
    steps
        .filter(|&step| length / step <= 5.0)
        .fold(f64::INFINITY, f64::min)
}

/// An element of a plot, in the coordinates of its scales.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    Area((f64, f64), (f64, f64), RGBColor),
    Line(Vec<(f64, f64)>, f64, RGBColor),
    Point((f64, f64), RGBColor),
    Text((f64, f64), String),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    pub title: String,
    pub note: String,
    pub x: Scale,
    pub y: Scale,
    pub marks: Vec<Mark>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// In rows, with grid lines.
    #[default]
    Grid,
    /// In rows, square, without grid lines.
    Maps,
    /// Stacked vertically, with room for text above the bars.
    Stacked,
}

/// A figure: plots of one kind, and their table.
#[derive(Clone, Debug, PartialEq)]
pub struct Multiples {
    /// File name without extension.
    pub name: &'static str,
    /// Short heading.
    pub title: String,
    /// Description in a sentence or two, for screen readers.
    pub description: &'static str,
    pub legend: Vec<(&'static str, RGBColor)>,
    pub layout: Layout,
    pub plots: Vec<Plot>,
    pub table: Table,
}

const MARGIN: f64 = 16.0;
const HEAD: f64 = 78.0;
/// Margins around the inside of a plot: left, right, top, bottom.
const AROUND: (f64, f64, f64, f64) = (66.0, 14.0, 26.0, 50.0);
const COLUMNS: usize = 3;
/// Text anchors.
const LEFT: (HPos, VPos) = (HPos::Left, VPos::Center);
const CENTRE: (HPos, VPos) = (HPos::Center, VPos::Center);
const BELOW: (HPos, VPos) = (HPos::Center, VPos::Top);
/// Minimum number of bands at which stacked plots have no room for text above the bars.
pub(super) const MANY: usize = 13;

impl Multiples {
    pub fn new(
        name: &'static str,
        title: impl Into<String>,
        description: &'static str,
        legend: &[(&'static str, RGBColor)],
        plots: Vec<Plot>,
        table: Table,
    ) -> Self {
        Self {
            name,
            title: title.into(),
            description,
            legend: legend.to_vec(),
            layout: Layout::Grid,
            plots,
            table,
        }
    }

    #[must_use]
    pub(crate) fn with_layout(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }

    fn columns(&self) -> usize {
        let most = if self.layout == Layout::Stacked {
            1
        } else {
            COLUMNS
        };
        self.plots.len().clamp(1, most)
    }

    fn inside(&self) -> (f64, f64) {
        let is_single = self.plots.len() < 2;
        match self.layout {
            Layout::Maps if is_single => (400.0, 400.0),
            Layout::Maps => (200.0, 200.0),
            Layout::Grid if is_single => (480.0, 220.0),
            Layout::Grid => (250.0, 150.0),
            Layout::Stacked => {
                let bands = self.plots.first().map_or(0, |plot| plot.x.ticks.len());
                let band = if bands < MANY { 132.0 } else { 60.0 };
                ((band * bands as f64).max(500.0), 180.0)
            }
        }
    }

    /// Returns the space to the left of a plot, which depends on the length of the labels.
    fn left(&self) -> f64 {
        let ticks = self.plots.iter().flat_map(|plot| &plot.y.ticks);
        let longest = ticks.map(|(_, text)| text.chars().count()).max();
        match longest.unwrap_or(0) {
            0..=11 => AROUND.0,
            letters => 14.0 + 5.6 * letters as f64,
        }
    }

    fn step(&self) -> (f64, f64) {
        let (width, height) = self.inside();
        let (_, right, top, bottom) = AROUND;
        (self.left() + width + right, top + height + bottom)
    }

    /// Returns width and height in units of the drawing (CSS pixels in the SVG).
    pub fn size(&self) -> (u32, u32) {
        let (step, columns) = (self.step(), self.columns());
        let rows = self.plots.len().div_ceil(columns).max(1);
        let width = 2.0 * MARGIN + step.0 * columns as f64;
        let height = HEAD + step.1 * rows as f64 + 4.0;
        (width.max(620.0) as u32, height as u32)
    }

    pub(super) fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Result<()> {
        let mut title = bold(&look(16.0, palette::BLACK, LEFT));
        // A figure with one plot is narrower than some titles.
        let room = f64::from(self.size().0) - 2.0 * MARGIN;
        let fitting = (room / canvas.text_width(&self.title, &title)).min(1.0);
        title.font = title.font.resize(title.font.get_size() * fitting);
        canvas.text(&self.title, (MARGIN, 26.0), &title)?;
        self.legend(canvas)?;
        if self.plots.is_empty() {
            let (width, height) = self.size();
            let centre = (f64::from(width) / 2.0, f64::from(height) / 2.0);
            let look = look(14.0, palette::GREY, CENTRE);
            return canvas.text("No application was analysed.", centre, &look);
        }
        let (width, height) = self.step();
        for (index, plot) in self.plots.iter().enumerate() {
            let (column, row) = (index % self.columns(), index / self.columns());
            let corner = (MARGIN + width * column as f64, HEAD + height * row as f64);
            self.plot(canvas, plot, corner)?;
        }
        Ok(())
    }

    fn legend<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Result<()> {
        let look = look(12.0, palette::BLACK, LEFT);
        let (mut x, mut y) = (MARGIN, 53.0);
        let right = f64::from(self.size().0);
        for (name, colour) in &self.legend {
            // Colours without a name are steps of a gradient.
            let width = match *name {
                "" => 14.0,
                name => 18.0 + canvas.text_width(name, &look) + 22.0,
            };
            if x + width > right && x > MARGIN {
                (x, y) = (MARGIN, y + 15.0);
            }
            canvas.rectangle((x, y - 6.0), (x + 12.0, y + 6.0), *colour)?;
            canvas.text(name, (x + 18.0, y), &look)?;
            x += width;
        }
        Ok(())
    }

    fn plot<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        plot: &Plot,
        corner: (f64, f64),
    ) -> Result<()> {
        let (width, height) = self.inside();
        let (left, top) = (corner.0 + self.left(), corner.1 + AROUND.2);
        let (right, bottom) = (left + width, top + height);
        let centre = (f64::midpoint(left, right), f64::midpoint(top, bottom));
        let at = |(x, y): (f64, f64)| {
            let (x, y) = (plot.x.place(x), plot.y.place(y));
            (left + x * width, bottom - y * height)
        };
        let name = bold(&look(13.0, palette::BLACK, LEFT));
        canvas.text(&plot.title, (left, top - 13.0), &name)?;
        let after = left + canvas.text_width(&plot.title, &name) + 8.0;
        let small = look(10.5, palette::GREY, LEFT);
        let note = canvas.shortened(&plot.note, (right - after).max(20.0), &small);
        canvas.text(&note, (after, top - 12.0), &small)?;

        // Labels must not touch each other.
        let is_crowded = plot.y.ticks.len() as f64 * 12.0 > height;
        let em = if is_crowded { 9.0 } else { 10.5 };
        let label = look(em, palette::BLACK, (HPos::Right, VPos::Center));
        for (value, text) in &plot.y.ticks {
            let y = at((plot.x.low, *value)).1;
            if self.layout != Layout::Maps {
                canvas.line(&[(left, y), (right, y)], 1.0, palette::LIGHT_GREY)?;
            }
            canvas.text(text, (left - 5.0, y), &label)?;
        }
        let em = match plot.x.ticks.len() {
            13.. if self.plots.len() > 1 => 8.0,
            12 if self.plots.len() > 1 => 9.0,
            _ => 10.5,
        };
        let label = look(em, palette::BLACK, BELOW);
        for (value, text) in &plot.x.ticks {
            let x = at((*value, plot.y.low)).0;
            canvas.line(&[(x, bottom), (x, bottom + 3.0)], 1.0, palette::BLACK)?;
            canvas.text(text, (x, bottom + 5.0), &label)?;
        }
        let below = look(11.0, palette::GREY, BELOW);
        canvas.text(&plot.x.label, (centre.0, bottom + 22.0), &below)?;
        let upright = look(11.0, palette::GREY, CENTRE).transform(FontTransform::Rotate270);
        canvas.text(&plot.y.label, (corner.0 + 8.0, centre.1), &upright)?;

        if plot.marks.is_empty() {
            let look = look(12.0, palette::GREY, CENTRE);
            canvas.text("no data", centre, &look)?;
        }
        for mark in &plot.marks {
            match mark {
                Mark::Area(from, to, colour) => canvas.rectangle(at(*from), at(*to), *colour)?,
                Mark::Line(points, width, colour) => {
                    let points: Vec<(f64, f64)> = points.iter().map(|&point| at(point)).collect();
                    canvas.line(&points, *width, *colour)?;
                }
                Mark::Point(point, colour) => {
                    let (x, y) = at(*point);
                    canvas.rectangle((x - 2.0, y - 2.0), (x + 2.0, y + 2.0), *colour)?;
                }
                Mark::Text(point, text) => {
                    let (x, y) = at(*point);
                    let above = look(9.5, palette::BLACK, (HPos::Center, VPos::Bottom));
                    canvas.text(text, (x, y - 2.0), &above)?;
                }
            }
        }
        let axes = [(left, top), (left, bottom), (right, bottom)];
        canvas.line(&axes, 1.0, palette::BLACK)
    }
}

#[cfg(test)]
mod tests;
