//! Small multiples: plots of the same kind, one for each application.

use super::canvas::{EM, Point, Shape, TextStyle};
use super::palette;
use plotters::style::RGBColor;
use plotters::style::text_anchor::{HPos, VPos};
use superstep_table::Table;

pub use super::scale::{Scale, Values};

/// An element of a plot, in the coordinates of the plot's scales. The values appear on hover.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    Area((f64, f64), (f64, f64), RGBColor),
    /// An area with its own hover text, for values that are not at its corners.
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
    /// A row for each band of the vertical scale, with text in a column on the right.
    Rows,
}

/// A figure: plots of one kind, and their table.
#[derive(Clone, Debug)]
pub struct Multiples {
    /// File name without extension.
    pub name: &'static str,
    pub title: String,
    /// Description in a sentence or two, for screen readers.
    pub description: &'static str,
    /// A sentence that replaces plots that would all look the same.
    pub sentence: String,
    pub legend: Vec<(&'static str, RGBColor)>,
    pub layout: Layout,
    pub plots: Vec<Plot>,
    pub table: Table,
}

const MARGIN: f64 = 16.0;
/// Width of a plot including its margins; three plots fit the width of a page.
pub(super) const WIDTH: f64 = 410.0;
/// Width of the only plot in a file.
const WIDE: f64 = 588.0;
/// Margins above and below a plot.
const TOP: f64 = 32.0;
const BOTTOM: f64 = 60.0;
const COLUMNS: usize = 3;
/// Maximum width of the labels of the vertical scale.
const MAX_LABEL_WIDTH: f64 = 124.0;
/// Text styles, named after their anchors or uses.
const LEFT: TextStyle = TextStyle::new(palette::BLACK, (HPos::Left, VPos::Center));
const CENTRE: TextStyle = TextStyle::new(palette::GREY, (HPos::Center, VPos::Center));
const RIGHT: TextStyle = TextStyle::new(palette::BLACK, (HPos::Right, VPos::Center));
const BELOW: TextStyle = TextStyle::new(palette::BLACK, (HPos::Center, VPos::Top));
const NOTE: TextStyle = TextStyle::new(palette::GREY, (HPos::Left, VPos::Center));
const AXIS: TextStyle = TextStyle::new(palette::GREY, (HPos::Center, VPos::Top));
const ABOVE: TextStyle = TextStyle::new(palette::BLACK, (HPos::Center, VPos::Bottom));

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

    /// Returns the number of plots in a row of a file, and the width of each.
    fn columns(&self) -> (usize, f64) {
        match self.plots.len() {
            0 | 1 => (1, WIDE),
            plots => (plots.min(COLUMNS), WIDTH),
        }
    }

    /// Returns the space to the left of the plots, which depends on their labels.
    fn left(&self) -> f64 {
        let ticks = self.plots.iter().flat_map(|plot| &plot.y.ticks);
        let widths = ticks.map(|(_, text)| RIGHT.width(text).min(MAX_LABEL_WIDTH));
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
                let max = if is_wide { 400.0 } else { 240.0 };
                let side = |cells: u64| {
                    let cells = cells.max(1) as f64;
                    cells * (max / cells).floor().max(1.0)
                };
                (side(plot.cells.0), side(plot.cells.1))
            }
        }
    }

    /// Returns the height of a plot including its margins.
    pub(super) fn height(&self, plot: &Plot, width: f64) -> f64 {
        TOP + self.inside(plot, width).1 + BOTTOM
    }

    /// Returns the height of the tallest plot in a file, including its margins.
    fn row_height(&self) -> f64 {
        let (_, width) = self.columns();
        let heights = self.plots.iter().map(|plot| self.height(plot, width));
        heights.fold(0.0, f64::max)
    }

    /// Returns the vertical position of the sentence below the legend.
    fn below_legend(&self) -> f64 {
        50.0 + 18.0 * self.legend.len() as f64
    }

    fn file_width(&self) -> f64 {
        let (columns, width) = self.columns();
        2.0 * MARGIN + width * columns as f64
    }

    /// Returns the height above the plots in a file.
    fn head(&self) -> f64 {
        let sentence = if self.sentence.is_empty() { 0.0 } else { 20.0 };
        self.below_legend() - 4.0 + sentence
    }

    /// Returns the width and height of the figure in a file, in drawing units (CSS pixels in the SVG).
    pub fn size(&self) -> (u32, u32) {
        let height = match self.plots.len().div_ceil(self.columns().0) {
            // Room for the text saying that no application was analysed.
            0 => 60.0,
            rows => self.row_height() * rows as f64,
        };
        (self.file_width() as u32, (self.head() + height) as u32)
    }

    /// Draws the figure for a file: the heading, the legend, and the plots in rows.
    pub(super) fn draw(&self) -> Vec<Shape> {
        // A figure with one plot is narrower than some titles.
        let room = self.file_width() - 2.0 * MARGIN;
        let fitting = (room / LEFT.bold(16.0).width(&self.title)).min(1.0);
        let title = LEFT.bold(16.0 * fitting);
        let mut shapes = vec![Shape::Text(self.title.clone(), (MARGIN, 24.0), title)];
        for (row, (name, colour)) in (0..).map(f64::from).zip(&self.legend) {
            let y = 50.0 + 18.0 * row;
            let corners = [(MARGIN, y - 6.0), (MARGIN + 12.0, y + 6.0)];
            shapes.push(Shape::Rectangle((corners, *colour, String::new())));
            shapes.push(Shape::Text(name.to_string(), (MARGIN + 18.0, y), LEFT));
        }
        let sentence = match self.plots.is_empty() && self.sentence.is_empty() {
            true => "No application was analysed.",
            false => &self.sentence,
        };
        let sentence = LEFT.shortened(sentence, room);
        let place = (MARGIN, self.below_legend());
        shapes.push(Shape::Text(sentence, place, LEFT));
        let ((columns, width), height) = (self.columns(), self.row_height());
        for (index, plot) in self.plots.iter().enumerate() {
            let x = width * (index % columns) as f64;
            let y = height * (index / columns) as f64;
            shapes.extend(self.plot(plot, (MARGIN + x, self.head() + y), width));
        }
        shapes
    }

    /// Returns the hover text of a mark: the band, its value and the series.
    fn value(&self, plot: &Plot, mark: &Mark) -> String {
        // Bars grow upwards unless the programs or kernels are on the vertical scale.
        let is_upright = plot.y.is_continuous();
        let scale = if is_upright { &plot.y } else { &plot.x };
        let along = |(x, y): (f64, f64)| if is_upright { y } else { x };
        let middle = |a: &Point, b: &Point| (f64::midpoint(a.0, b.0), f64::midpoint(a.1, b.1));
        let (at, value, colour) = match mark {
            Mark::Area(from, to, colour) => {
                let start = if scale.logarithmic { 0.0 } else { along(*from) };
                (middle(from, to), along(*to) - start, colour)
            }
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

    /// Draws a plot with its margins. `corner` is its top-left corner.
    pub(super) fn plot(&self, plot: &Plot, corner: Point, room: f64) -> Vec<Shape> {
        let (width, height) = self.inside(plot, room);
        let (left, top) = (corner.0 + self.left(), corner.1 + TOP);
        let (right, bottom) = (left + width, top + height);
        let centre = (f64::midpoint(left, right), f64::midpoint(top, bottom));
        let at = |(x, y): Point| {
            let (x, y) = (plot.x.place(x), plot.y.place(y));
            (left + x * width, bottom - y * height)
        };
        let line =
            |points: &[Point], colour| Shape::Line(points.into(), 1.0, colour, String::new());
        let edge = corner.0 + room;
        let is_rows = self.layout == Layout::Rows;
        let start = if is_rows { corner.0 } else { left };
        let name = LEFT.bold(13.0);
        let title = name.shortened(&plot.title, edge - start);
        let after = start + name.width(&title) + 8.0;
        let note = LEFT.shortened(&plot.note, (edge - after).max(20.0));
        let mut shapes = vec![
            Shape::Text(title, (start, top - 20.0), name),
            Shape::Text(note, (after, top - 19.5), NOTE),
        ];

        // Labels must not touch each other.
        let mut last = f64::INFINITY;
        for (value, text) in &plot.y.ticks {
            let y = at((plot.x.low, *value)).1;
            if self.layout == Layout::Grid {
                shapes.push(line(&[(left, y), (right, y)], palette::LIGHT_GREY));
            }
            if last - y >= EM {
                let text = RIGHT.shortened(text, MAX_LABEL_WIDTH);
                shapes.push(Shape::Text(text, (left - 5.0, y), RIGHT));
                last = y;
            }
        }
        // Labels that do not fit beside the previous one go into a second row.
        let mut ends = [f64::NEG_INFINITY; 2];
        for (value, text) in &plot.x.ticks {
            let x = at((*value, plot.y.low)).0;
            shapes.push(line(&[(x, bottom), (x, bottom + 3.0)], palette::BLACK));
            let half = BELOW.width(text) / 2.0;
            let x = x.min(edge - half);
            if let Some(row) = (0..2).find(|&row| x - half > ends[row] + 5.0) {
                ends[row] = x + half;
                let place = (x, bottom + 5.0 + 14.0 * row as f64);
                shapes.push(Shape::Text(text.clone(), place, BELOW));
            }
        }
        let rows = if ends[1].is_finite() { 14.0 } else { 0.0 };
        let below = (centre.0, bottom + 22.0 + rows);
        shapes.push(Shape::Text(plot.x.label.clone(), below, AXIS));
        let mut upright = CENTRE;
        upright.is_upright = true;
        let label_at = (corner.0 + 7.0, centre.1);
        shapes.push(Shape::Text(plot.y.label.clone(), label_at, upright));
        for (index, (text, colour)) in (0..).map(f64::from).zip(plot.shades.iter().rev()) {
            let (x, y) = (right + 14.0, top + 20.0 * index);
            let corners = [(x, y), (x + 14.0, y + 14.0)];
            shapes.push(Shape::Cells(vec![(corners, *colour, String::new())]));
            shapes.push(Shape::Text(text.clone(), (x + 20.0, y + 7.0), LEFT));
        }

        if plot.marks.is_empty() {
            shapes.push(Shape::Text("no data".to_owned(), centre, CENTRE));
        }
        let mut cells = Vec::new();
        let mut lines = Vec::new();
        for mark in &plot.marks {
            let title = self.value(plot, mark);
            shapes.push(match mark {
                Mark::Area(from, to, colour) => {
                    Shape::Rectangle(([at(*from), at(*to)], *colour, title))
                }
                Mark::Cell(from, to, colour, _) => {
                    cells.push(([at(*from), at(*to)], *colour, title));
                    continue;
                }
                Mark::Line(points, width, colour) => {
                    let points = visible(points.iter().map(|&point| at(point)).collect());
                    lines.extend(<[Point; 2]>::try_from(&*points));
                    Shape::Line(points, *width, *colour, title)
                }
                Mark::Point(point, colour) => Shape::Dot(at(*point), *colour, title),
                Mark::Text(point, text) if is_rows => {
                    Shape::Text(text.clone(), (right + 8.0, at(*point).1), LEFT)
                }
                Mark::Text(point, text) => {
                    let (x, y) = at(*point);
                    Shape::Text(text.clone(), above(text, (x, y - 3.0), &lines), ABOVE)
                }
            });
        }
        if !cells.is_empty() {
            shapes.push(Shape::Cells(cells));
        }
        let axes = [(left, top), (left, bottom), (right, bottom)];
        shapes.push(line(&axes, palette::BLACK));
        shapes
    }
}

/// Returns the position for the label of a bar: the given one, or above any lines that the label would touch there.
fn above(text: &str, (x, mut y): Point, lines: &[[Point; 2]]) -> Point {
    let half = ABOVE.width(text) / 2.0;
    let touches = |[from, to]: &&[Point; 2], y: f64| {
        from.1 < y + 2.0 && from.1 > y - EM && to.0 > x - half && from.0 < x + half
    };
    while let Some([line, _]) = lines.iter().find(|line| touches(line, y)) {
        y = line.1 - 4.0;
    }
    (x, y)
}

/// Removes points of a line that do not change the picture: within half a pixel in x, only the first, lowest, highest
/// and last points are needed.
fn visible(points: Vec<Point>) -> Vec<Point> {
    let place = |point: &Point| (2.0 * point.0).floor();
    let columns = points.chunk_by(|a, b| place(a) == place(b));
    let visible = columns.flat_map(|column| {
        let by_y = |a: &usize, b: &usize| column[*a].1.total_cmp(&column[*b].1);
        let places = || 0..column.len();
        let ends = [places().next(), places().last()];
        let mut indices = [places().min_by(by_y), places().max_by(by_y)].to_vec();
        indices.extend(ends);
        indices.sort_unstable();
        indices.dedup();
        indices.into_iter().flatten().map(|index| column[index])
    });
    visible.collect()
}

#[cfg(test)]
mod tests;
