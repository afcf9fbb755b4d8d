//! Draws lines, rectangles and text in units that do not depend on the output: SVG, or pixels through plotters.

use crate::error::{ReportError, Result};
use plotters::backend::BitMapBackend;
use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::element::{Circle, PathElement, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{
    Color, FontStyle, FontTransform, IntoFont, RGBColor, ShapeStyle, TextStyle, WHITE,
    register_font,
};
use std::sync::OnceLock;

/// The name under which the embedded font is registered.
const FAMILY: &str = "sans-serif";
/// Font sizes in plotters are 1.24 times the em.
const SIZE_PER_EM: f64 = 1.24;
/// Size of text without a size of its own.
pub(super) const EM: f64 = 12.0;
/// Radius of a dot.
pub(super) const DOT: f64 = 3.5;
/// Pixels of the PNG per unit of the drawing.
pub(super) const PNG_SCALE: f64 = 2.0;
/// Correction in ems for the bitmap backend, which centres a text's line, not its letters.
const PNG_DROP: f64 = 0.2;

pub(super) type At = (f64, f64);

/// A rectangle of a map: two corners, the colour, and the text that appears on hover.
pub(super) type Cell<'a> = ([At; 2], RGBColor, &'a str);

/// An output. Titles appear on hover where the output can show them; an empty one is none.
pub(super) trait Canvas {
    fn rectangle(&mut self, corners: [At; 2], colour: RGBColor, title: &str) -> Result<()>;

    fn dot(&mut self, centre: At, colour: RGBColor, title: &str) -> Result<()>;

    fn line(&mut self, points: &[At], width: f64, colour: RGBColor, title: &str) -> Result<()>;

    fn text(&mut self, text: &str, at: At, look: &TextStyle<'static>) -> Result<()>;

    /// Draws rectangles whose shades are a scale: the darker, the more.
    fn cells(&mut self, cells: &[Cell<'_>]) -> Result<()> {
        for (corners, colour, title) in cells {
            self.rectangle(*corners, *colour, title)?;
        }
        Ok(())
    }
}

/// Returns the style of regular text. The point `anchor` of the text is placed at its position; the size is in units of
/// the drawing.
pub(super) fn look(em: f64, colour: RGBColor, anchor: (HPos, VPos)) -> TextStyle<'static> {
    fonts();
    let style = (FAMILY, em * SIZE_PER_EM).into_font().color(&colour);
    style.pos(Pos::new(anchor.0, anchor.1))
}

/// Returns the style with the bold font, which `FontDesc::style` would not load.
pub(super) fn bold(look: &TextStyle<'static>) -> TextStyle<'static> {
    TextStyle {
        font: (FAMILY, look.font.get_size(), FontStyle::Bold).into_font(),
        ..look.clone()
    }
}

pub(super) fn em(look: &TextStyle<'_>) -> f64 {
    look.font.get_size() / SIZE_PER_EM
}

pub(super) fn is_upright(look: &TextStyle<'_>) -> bool {
    !matches!(look.font.get_transform(), FontTransform::None)
}

pub(super) fn text_width(text: &str, look: &TextStyle<'static>) -> f64 {
    // Text that cannot be measured is still drawn; the guess only affects its neighbours' positions.
    let guess = look.font.get_size() * 0.5 * text.chars().count() as f64;
    let size = scaled(look, 4.0).font.box_size(text);
    size.map_or(guess, |(width, _)| f64::from(width) / 4.0)
}

/// Shortens a text to fit into `room`, with an ellipsis.
pub(super) fn shortened(text: &str, room: f64, look: &TextStyle<'static>) -> String {
    if text_width(text, look) <= room {
        return text.to_owned();
    }
    let ends = text.char_indices().rev();
    let mut shorter = ends.map(|(end, _)| format!("{}…", &text[..end]));
    let fitting = shorter.find(|shorter| text_width(shorter, look) <= room);
    fitting.unwrap_or_default()
}

fn scaled(look: &TextStyle<'static>, scale: f64) -> TextStyle<'static> {
    TextStyle {
        font: look.font.resize(look.font.get_size() * scale),
        ..look.clone()
    }
}

/// Registers the embedded font with plotters, once per process. Returns whether that succeeded.
fn fonts() -> bool {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    *REGISTERED.get_or_init(|| {
        register_font(FAMILY, FontStyle::Normal, dejavu::sans::regular()).is_ok()
            && register_font(FAMILY, FontStyle::Bold, dejavu::sans::bold()).is_ok()
    })
}

/// Pixels of a PNG, on white.
pub(super) struct Pixels<'a, 'b> {
    area: &'a DrawingArea<BitMapBackend<'b>, Shift>,
    figure: &'static str,
}

impl<'a, 'b> Pixels<'a, 'b> {
    pub(super) fn new(
        area: &'a DrawingArea<BitMapBackend<'b>, Shift>,
        figure: &'static str,
    ) -> Result<Self> {
        let reason = "the embedded font is not readable; rebuild the program".to_owned();
        if !fonts() {
            return Err(ReportError::Figure { figure, reason });
        }
        let pixels = Self { area, figure };
        pixels.check(area.fill(&WHITE))?;
        Ok(pixels)
    }

    fn check<T, E: std::fmt::Display>(&self, outcome: Result<T, E>) -> Result<()> {
        outcome.map(drop).map_err(ReportError::drawing(self.figure))
    }
}

fn pixel((x, y): At) -> (i32, i32) {
    let pixel = |unit: f64| (unit * PNG_SCALE).round() as i32;
    (pixel(x), pixel(y))
}

impl Canvas for Pixels<'_, '_> {
    fn rectangle(&mut self, corners: [At; 2], colour: RGBColor, _: &str) -> Result<()> {
        let corners = corners.map(pixel);
        let rectangle = Rectangle::new(corners, ShapeStyle::from(&colour).filled());
        self.check(self.area.draw(&rectangle))
    }

    fn dot(&mut self, centre: At, colour: RGBColor, _: &str) -> Result<()> {
        let style = ShapeStyle::from(&colour).filled();
        let dot = Circle::new(pixel(centre), (DOT * PNG_SCALE) as i32, style);
        self.check(self.area.draw(&dot))
    }

    fn line(&mut self, points: &[At], width: f64, colour: RGBColor, _: &str) -> Result<()> {
        let points: Vec<(i32, i32)> = points.iter().map(|&point| pixel(point)).collect();
        let style = colour.stroke_width((width * PNG_SCALE).round().max(1.0) as u32);
        self.check(self.area.draw(&PathElement::new(points, style)))
    }

    fn text(&mut self, text: &str, at: At, look: &TextStyle<'static>) -> Result<()> {
        let drop = PNG_DROP * em(look);
        let at = match is_upright(look) {
            false => (at.0, at.1 + drop),
            true => (at.0 + drop, at.1),
        };
        let text = Text::new(text.to_owned(), pixel(at), scaled(look, PNG_SCALE));
        self.check(self.area.draw(&text))
    }
}
