//! Draws lines, rectangles and text in units that do not depend on the output.

use crate::error::{ReportError, Result};
use plotters::backend::DrawingBackend;
use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::element::{PathElement, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{
    Color, FontStyle, FontTransform, IntoFont, RGBColor, ShapeStyle, TextStyle, WHITE,
    register_font,
};
use std::sync::OnceLock;

/// The generic font family in the SVG. The PNG's font is registered under this name.
const FAMILY: &str = "sans-serif";
/// Font sizes in plotters are 1.24 times the em.
const SIZE_PER_EM: f64 = 1.24;

pub struct Canvas<'a, DB: DrawingBackend> {
    area: &'a DrawingArea<DB, Shift>,
    figure: &'static str,
    scale: f64,
    /// Distance by which text is moved down, in ems.
    drop: f64,
}

/// Returns the style of regular text. The point `anchor` of the text is placed at its position; the size is in units of
/// the drawing.
pub fn look(em: f64, colour: RGBColor, anchor: (HPos, VPos)) -> TextStyle<'static> {
    let style = (FAMILY, em * SIZE_PER_EM).into_font().color(&colour);
    style.pos(Pos::new(anchor.0, anchor.1))
}

/// Returns the style with the bold font, which `FontDesc::style` would not load.
pub fn bold(look: &TextStyle<'static>) -> TextStyle<'static> {
    TextStyle {
        font: (FAMILY, look.font.get_size(), FontStyle::Bold).into_font(),
        ..look.clone()
    }
}

impl<'a, DB: DrawingBackend> Canvas<'a, DB> {
    /// `scale` is in pixels per unit. `drop` is the number of ems by which the backend places text too high.
    pub(super) fn new(
        area: &'a DrawingArea<DB, Shift>,
        figure: &'static str,
        scale: f64,
        drop: f64,
    ) -> Result<Self> {
        register_fonts(figure)?;
        let canvas = Self {
            area,
            figure,
            scale,
            drop,
        };
        canvas.check(area.fill(&WHITE))?;
        Ok(canvas)
    }

    fn check<T, E: std::fmt::Display>(&self, outcome: Result<T, E>) -> Result<()> {
        outcome.map(drop).map_err(ReportError::drawing(self.figure))
    }

    fn pixel(&self, (x, y): (f64, f64)) -> (i32, i32) {
        let pixel = |unit: f64| (unit * self.scale).round() as i32;
        (pixel(x), pixel(y))
    }

    pub fn rectangle(&self, from: (f64, f64), to: (f64, f64), colour: RGBColor) -> Result<()> {
        let corners = [self.pixel(from), self.pixel(to)];
        let rectangle = Rectangle::new(corners, ShapeStyle::from(&colour).filled());
        self.check(self.area.draw(&rectangle))
    }

    pub fn line(&self, points: &[(f64, f64)], width: f64, colour: RGBColor) -> Result<()> {
        let points: Vec<(i32, i32)> = points.iter().map(|&point| self.pixel(point)).collect();
        let style = colour.stroke_width((width * self.scale).round().max(1.0) as u32);
        self.check(self.area.draw(&PathElement::new(points, style)))
    }

    pub fn text(&self, text: &str, at: (f64, f64), look: &TextStyle<'static>) -> Result<()> {
        let drop = self.drop * look.font.get_size() / SIZE_PER_EM;
        let at = match look.font.get_transform() {
            FontTransform::None => (at.0, at.1 + drop),
            _ => (at.0 + drop, at.1),
        };
        let text = Text::new(text.to_owned(), self.pixel(at), self.scaled(look));
        self.check(self.area.draw(&text))
    }

    pub fn text_width(&self, text: &str, look: &TextStyle<'static>) -> f64 {
        // Text that cannot be measured is still drawn; the guess only affects its neighbours' positions.
        let guess = look.font.get_size() * 0.5 * text.chars().count() as f64;
        let size = self.area.estimate_text_size(text, &self.scaled(look));
        size.map_or(guess, |(width, _)| f64::from(width) / self.scale)
    }

    /// Shortens a text to fit into `room`, with an ellipsis.
    pub fn shortened(&self, text: &str, room: f64, look: &TextStyle<'static>) -> String {
        if self.text_width(text, look) <= room {
            return text.to_owned();
        }
        let ends = text.char_indices().rev();
        let mut shorter = ends.map(|(end, _)| format!("{}…", &text[..end]));
        let fitting = shorter.find(|shorter| self.text_width(shorter, look) <= room);
        fitting.unwrap_or_default()
    }

    fn scaled(&self, look: &TextStyle<'static>) -> TextStyle<'static> {
        TextStyle {
            font: look.font.resize(look.font.get_size() * self.scale),
            ..look.clone()
        }
    }
}

/// Registers the embedded font with plotters, once per process.
fn register_fonts(figure: &'static str) -> Result<()> {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    let registered = *REGISTERED.get_or_init(|| {
        register_font(FAMILY, FontStyle::Normal, dejavu::sans::regular()).is_ok()
            && register_font(FAMILY, FontStyle::Bold, dejavu::sans::bold()).is_ok()
    });
    let reason = "the embedded font is not readable; rebuild the program".to_owned();
    registered
        .then_some(())
        .ok_or(ReportError::Figure { figure, reason })
}
