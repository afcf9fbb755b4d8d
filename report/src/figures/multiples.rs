//! Small multiples: plots of the same kind, one for each application.

use super::canvas::{At, Canvas, EM, bold, look, shortened, text_width};
use super::palette;
use crate::error::Result;
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{FontTransform, RGBColor};
use superstep_table::Table;

pub use super::scale::{Scale, Values};

/// An element of a plot, in the coordinates of its scales. The values appear on hover.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    Area((f64, f64), (f64, f64), RGBColor),
    /// An area whose shade is its value, or whose corners are not; the text appears on hover.
    Cell((f64, f64), (f64, f64), RGBColor, String),
    Line(Vec<(f64, f64)>, f64, RGBColor),
    Point((f64, f64), RGBColor),
    Text((f64, f64), String),
}

#[derive(Clone, Debug, Default)]
pub struct Plot {
    pub title: String,
    pub note: String,
    pub x: Scale,
    pub y: Scale,
    pub marks: Vec<Mark>,
    /// Cells of a map from left to right and from bottom to top.
    pub cells: (u64, u64),
    /// Shades of a map and their values, in ascending order.
    pub shades: Vec<(String, RGBColor)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Plots of the same height, with grid lines.
    #[default]
    Grid,
    /// Whole pixels for each cell, without grid lines.
    Maps,
    /// A row for each band of the vertical scale, and the texts in a column on the right.
    Rows,
}

/// A figure: plots of one kind, and their table.
#[derive(Clone, Debug)]
pub struct Multiples {
    /// File name without extension.
    pub name: &'static str,
    /// Short heading.
    pub title: String,
    /// Description in a sentence or two, for screen readers.
    pub description: &'static str,
    /// A sentence in place of plots that would all show the same.
    pub sentence: String,
    pub legend: Vec<(&'static str, RGBColor)>,
    pub layout: Layout,
    pub plots: Vec<Plot>,
    pub table: Table,
}

const MARGIN: f64 = 16.0;
/// Width of a plot with its margins: three are as wide as a page.
pub(super) const WIDTH: f64 = 410.0;
/// Width of a file's only plot.
const WIDE: f64 = 588.0;
/// Margins above and below a plot.
const TOP: f64 = 32.0;
const BOTTOM: f64 = 60.0;
const COLUMNS: usize = 3;
/// Maximum width of the labels of the vertical scale.
const NAMES: f64 = 124.0;
/// Text anchors.
const LEFT: (HPos, VPos) = (HPos::Left, VPos::Center);
const CENTRE: (HPos, VPos) = (HPos::Center, VPos::Center);
const RIGHT: (HPos, VPos) = (HPos::Right, VPos::Center);
const BELOW: (HPos, VPos) = (HPos::Center, VPos::Top);
const ABOVE: (HPos, VPos) = (HPos::Center, VPos::Bottom);

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
            sentence: String::new(),
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

    /// Returns the width of a plot in a file.
    fn width(&self) -> f64 {
        if self.plots.len() < 2 { WIDE } else { WIDTH }
    }

    /// Returns the space to the left of the plots, which depends on their labels.
    fn left(&self) -> f64 {
        let label = look(EM, palette::BLACK, RIGHT);
        let ticks = self.plots.iter().flat_map(|plot| &plot.y.ticks);
        let widths = ticks.map(|(_, text)| text_width(text, &label).min(NAMES));
        let has_label = self.plots.iter().any(|plot| !plot.y.label.is_empty());
        let label = if has_label { 20.0 } else { 0.0 };
        (widths.fold(16.0, f64::max) + 8.0 + label).round()
    }

    /// Returns the size of a plot without its margins.
    fn inside(&self, plot: &Plot, width: f64) -> (f64, f64) {
        let inside = width - self.left();
        let is_wide = width > WIDTH;
        match self.layout {
            Layout::Grid => (inside - 14.0, if is_wide { 220.0 } else { 170.0 }),
            Layout::Rows => (inside - 64.0, 24.0 * plot.y.ticks.len() as f64),
            Layout::Maps => {
                let most = if is_wide { 400.0 } else { 240.0 };
                let side = |cells: u64| {
                    let cells = cells.max(1) as f64;
                    cells * (most / cells).floor().max(1.0)
                };
                (side(plot.cells.0), side(plot.cells.1))
            }
        }
    }

    /// Returns the height of a plot with its margins.
    pub(super) fn height(&self, plot: &Plot, width: f64) -> f64 {
        TOP + self.inside(plot, width).1 + BOTTOM
    }

    /// Returns the size of the largest plot with its margins.
    fn step(&self) -> (f64, f64) {
        let width = self.width();
        let heights = self.plots.iter().map(|plot| self.height(plot, width));
        (width, heights.fold(0.0, f64::max))
    }

    fn columns(&self) -> usize {
        self.plots.len().clamp(1, COLUMNS)
    }

    /// Returns the rows of the legend, each with the position, name and colour of its entries.
    fn legend_rows(&self) -> Vec<Vec<(f64, &'static str, RGBColor)>> {
        let look = look(EM, palette::BLACK, LEFT);
        let mut rows = vec![Vec::new()];
        let mut x = MARGIN;
        for &(name, colour) in &self.legend {
            let width = 18.0 + text_width(name, &look) + 22.0;
            if x + width > self.file_width() && x > MARGIN {
                rows.push(Vec::new());
                x = MARGIN;
            }
            if let Some(row) = rows.last_mut() {
                row.push((x, name, colour));
            }
            x += width;
        }
        rows.retain(|row| !row.is_empty());
        rows
    }

    fn file_width(&self) -> f64 {
        2.0 * MARGIN + self.width() * self.columns() as f64
    }

    /// Returns the height above the plots in a file.
    fn head(&self) -> f64 {
        let sentence = if self.sentence.is_empty() { 0.0 } else { 20.0 };
        46.0 + 18.0 * self.legend_rows().len() as f64 + sentence
    }

    /// Returns width and height of the figure in a file, in units of the drawing (CSS pixels in the SVG).
    pub fn size(&self) -> (u32, u32) {
        let rows = self.plots.len().div_ceil(self.columns());
        let height = match rows {
            // Room for the words that there is nothing to draw.
            0 => 60.0,
            rows => self.step().1 * rows as f64,
        };
        (self.file_width() as u32, (self.head() + height) as u32)
    }

    /// Draws the figure as in a file: the heading, the legend, and the plots in rows.
    pub(super) fn draw(&self, canvas: &mut dyn Canvas) -> Result<()> {
        let mut title = bold(&look(16.0, palette::BLACK, LEFT));
        // A figure with one plot is narrower than some titles.
        let room = self.file_width() - 2.0 * MARGIN;
        let fitting = (room / text_width(&self.title, &title)).min(1.0);
        title.font = title.font.resize(title.font.get_size() * fitting);
        canvas.text(&self.title, (MARGIN, 24.0), &title)?;
        let entry = look(EM, palette::BLACK, LEFT);
        let mut y = 50.0;
        for row in self.legend_rows() {
            for (x, name, colour) in row {
                canvas.rectangle([(x, y - 6.0), (x + 12.0, y + 6.0)], colour, "")?;
                canvas.text(name, (x + 18.0, y), &entry)?;
            }
            y += 18.0;
        }
        if !self.sentence.is_empty() {
            let sentence = shortened(&self.sentence, room, &entry);
            canvas.text(&sentence, (MARGIN, y), &entry)?;
        } else if self.plots.is_empty() {
            canvas.text("No application was analysed.", (MARGIN, y), &entry)?;
        }
        let (width, height) = self.step();
        for (index, plot) in self.plots.iter().enumerate() {
            let (column, row) = (index % self.columns(), index / self.columns());
            let (x, y) = (width * column as f64, height * row as f64);
            self.plot(canvas, plot, (MARGIN + x, self.head() + y), width)?;
        }
        Ok(())
    }

    /// Returns the text that appears on hover: the band, its value and the series.
    fn value(&self, plot: &Plot, mark: &Mark) -> String {
        // Bars grow upwards unless the programs or kernels are on the vertical scale.
        let is_upright = plot.y.is_continuous();
        let scale = if is_upright { &plot.y } else { &plot.x };
        let along = |(x, y): (f64, f64)| if is_upright { y } else { x };
        let middle = |a: &At, b: &At| (f64::midpoint(a.0, b.0), f64::midpoint(a.1, b.1));
        let (at, value, colour) = match mark {
            Mark::Area(from, to, colour) if scale.logarithmic => {
                (middle(from, to), along(*to), colour)
            }
            Mark::Area(from, to, colour) => (middle(from, to), along(*to) - along(*from), colour),
            Mark::Point(at, colour) => (*at, along(*at), colour),
            Mark::Line(points, _, colour) => match &points[..] {
                [from, to] if along(*from) == along(*to) => (middle(from, to), along(*to), colour),
                _ => return String::new(),
            },
            Mark::Cell(.., text) => return text.clone(),
            Mark::Text(..) => return String::new(),
        };
        let name = match is_upright {
            true => plot.x.text(at.0),
            false => plot.y.text(at.1),
        };
        let series = self.legend.iter().find(|(_, own)| own == colour);
        let series = series.map_or(String::new(), |(series, _)| format!(" ({series})"));
        format!("{name}: {}{series}", scale.text(value))
    }

    /// Draws a plot with its margins, from `corner` on.
    pub(super) fn plot(
        &self,
        canvas: &mut dyn Canvas,
        plot: &Plot,
        corner: (f64, f64),
        room: f64,
    ) -> Result<()> {
        let (width, height) = self.inside(plot, room);
        let (left, top) = (corner.0 + self.left(), corner.1 + TOP);
        let (right, bottom) = (left + width, top + height);
        let centre = (f64::midpoint(left, right), f64::midpoint(top, bottom));
        let at = |(x, y): (f64, f64)| {
            let (x, y) = (plot.x.place(x), plot.y.place(y));
            (left + x * width, bottom - y * height)
        };
        let edge = corner.0 + room;
        let is_rows = self.layout == Layout::Rows;
        let start = if is_rows { corner.0 } else { left };
        let name = bold(&look(13.0, palette::BLACK, LEFT));
        let title = shortened(&plot.title, edge - start, &name);
        canvas.text(&title, (start, top - 20.0), &name)?;
        let after = start + text_width(&title, &name) + 8.0;
        let small = look(EM, palette::GREY, LEFT);
        let note = shortened(&plot.note, (edge - after).max(20.0), &small);
        canvas.text(&note, (after, top - 19.5), &small)?;

        // Labels must not touch each other.
        let label = look(EM, palette::BLACK, RIGHT);
        let mut last = f64::INFINITY;
        for (value, text) in &plot.y.ticks {
            let y = at((plot.x.low, *value)).1;
            if self.layout == Layout::Grid {
                canvas.line(&[(left, y), (right, y)], 1.0, palette::LIGHT_GREY, "")?;
            }
            if last - y >= EM {
                canvas.text(&shortened(text, NAMES, &label), (left - 5.0, y), &label)?;
                last = y;
            }
        }
        // Labels without room beside the one before are in a second row.
        let label = look(EM, palette::BLACK, BELOW);
        let mut ends = [f64::NEG_INFINITY; 2];
        for (value, text) in &plot.x.ticks {
            let x = at((*value, plot.y.low)).0;
            canvas.line(&[(x, bottom), (x, bottom + 3.0)], 1.0, palette::BLACK, "")?;
            let half = text_width(text, &label) / 2.0;
            let x = x.min(edge - half);
            if let Some(row) = (0..2).find(|&row| x - half > ends[row] + 5.0) {
                ends[row] = x + half;
                canvas.text(text, (x, bottom + 5.0 + 14.0 * row as f64), &label)?;
            }
        }
        let rows = if ends[1].is_finite() { 14.0 } else { 0.0 };
        let below = look(EM, palette::GREY, BELOW);
        canvas.text(&plot.x.label, (centre.0, bottom + 22.0 + rows), &below)?;
        let upright = look(EM, palette::GREY, CENTRE).transform(FontTransform::Rotate270);
        canvas.text(&plot.y.label, (corner.0 + 7.0, centre.1), &upright)?;
        for (index, (text, colour)) in (0..).map(f64::from).zip(plot.shades.iter().rev()) {
            let (x, y) = (right + 14.0, top + 20.0 * index);
            canvas.cells(&[([(x, y), (x + 14.0, y + 14.0)], *colour, "")])?;
            canvas.text(text, (x + 20.0, y + 7.0), &look(EM, palette::BLACK, LEFT))?;
        }

        if plot.marks.is_empty() {
            canvas.text("no data", centre, &look(EM, palette::GREY, CENTRE))?;
        }
        let label = look(EM, palette::BLACK, ABOVE);
        let beside = look(EM, palette::BLACK, LEFT);
        let mut cells = Vec::new();
        let mut lines = Vec::new();
        for mark in &plot.marks {
            let title = self.value(plot, mark);
            match mark {
                Mark::Area(from, to, colour) => {
                    canvas.rectangle([at(*from), at(*to)], *colour, &title)?;
                }
                Mark::Cell(from, to, colour, text) => {
                    cells.push(([at(*from), at(*to)], *colour, text.as_str()));
                }
                Mark::Line(points, width, colour) => {
                    let points = visible(points.iter().map(|&point| at(point)).collect());
                    canvas.line(&points, *width, *colour, &title)?;
                    lines.extend(<[At; 2]>::try_from(points));
                }
                Mark::Point(point, colour) => canvas.dot(at(*point), *colour, &title)?,
                Mark::Text(point, text) => {
                    let (x, y) = at(*point);
                    if is_rows {
                        canvas.text(text, (right + 8.0, y), &beside)?;
                    } else {
                        canvas.text(text, above(text, (x, y - 3.0), &lines), &label)?;
                    }
                }
            }
        }
        if !cells.is_empty() {
            canvas.cells(&cells)?;
        }
        let axes = [(left, top), (left, bottom), (right, bottom)];
        canvas.line(&axes, 1.0, palette::BLACK, "")
    }
}

/// Returns the place for the label of a bar at a place, above the lines that it would touch there.
fn above(text: &str, (x, mut y): At, lines: &[[At; 2]]) -> At {
    let half = text_width(text, &look(EM, palette::BLACK, ABOVE)) / 2.0;
    let touches = |[from, to]: &&[At; 2], y: f64| {
        from.1 < y + 2.0 && from.1 > y - EM && to.0 > x - half && from.0 < x + half
    };
    while let Some([line, _]) = lines.iter().find(|line| touches(line, y)) {
        y = line.1 - 4.0;
    }
    (x, y)
}

/// Leaves out points of a line that do not change the picture: within half a pixel in x, only the first, the lowest, the
/// highest and the last count.
fn visible(points: Vec<At>) -> Vec<At> {
    let place = |point: &At| (2.0 * point.0).floor();
    let columns = points.chunk_by(|a, b| place(a) == place(b));
    let kept = columns.flat_map(|column| {
        let by_y = |a: &usize, b: &usize| column[*a].1.total_cmp(&column[*b].1);
        let (low, high) = (
            (0..column.len()).min_by(by_y),
            (0..column.len()).max_by(by_y),
        );
        let mut kept: Vec<usize> = [Some(0), low, high].into_iter().flatten().collect();
        kept.push(column.len() - 1);
        kept.sort_unstable();
        kept.dedup();
        kept.into_iter().map(|index| column[index])
    });
    kept.collect()
}

#[cfg(test)]
mod tests;
