//! Shapes and text in units that do not depend on the output, rasterised with plotters.

use crate::error::{ReportError, Result};
use plotters::backend::BitMapBackend;
use plotters::drawing::IntoDrawingArea;
use plotters::element::{Circle, PathElement, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{
    Color, FontDesc, FontStyle, FontTransform, IntoFont, RGBColor, WHITE, register_font,
};
use std::sync::Once;

/// The name under which the embedded font is registered.
const FAMILY: &str = "sans-serif";
/// Font sizes in plotters are 1.24 times the em.
const SIZE_PER_EM: f64 = 1.24;
pub(super) const EM: f64 = 12.0;
/// Radius of a dot.
pub(super) const DOT: f64 = 3.5;
/// PNG pixels per drawing unit.
const PNG_SCALE: f64 = 2.0;
/// Correction in ems for the bitmap backend, which centres the line box rather than the letters.
const PNG_DROP: f64 = 0.2;

pub(super) type Point = (f64, f64);

/// A rectangle: two corners, a colour, and hover text for outputs that can show it.
pub(super) type Cell = ([Point; 2], RGBColor, String);

pub(super) enum Shape {
    Rectangle(Cell),
    /// Rectangles of a map. Darker shades mean higher values.
    Cells(Vec<Cell>),
    Dot(Point, RGBColor, String),
    /// Points, width, colour and hover text.
    Line(Vec<Point>, f64, RGBColor, String),
    Text(String, Point, TextStyle),
}

/// Style of a piece of text. The `anchor` is the point of the text that is placed at the given position.
#[derive(Clone, Copy)]
pub(super) struct TextStyle {
    /// Font size in drawing units.
    pub(super) em: f64,
    pub(super) colour: RGBColor,
    pub(super) anchor: (HPos, VPos),
    pub(super) is_bold: bool,
    /// Whether the text reads from bottom to top.
    pub(super) is_upright: bool,
}

impl TextStyle {
    pub(super) const fn new(colour: RGBColor, anchor: (HPos, VPos)) -> Self {
        Self {
            em: EM,
            colour,
            anchor,
            is_bold: false,
            is_upright: false,
        }
    }

    pub(super) const fn bold(self, em: f64) -> Self {
        Self {
            em,
            is_bold: true,
            ..self
        }
    }

    fn font(&self, scale: f64) -> FontDesc<'static> {
        fonts();
        // `FontDesc::style` would not load the bold font.
        let style = match self.is_bold {
            true => FontStyle::Bold,
            false => FontStyle::Normal,
        };
        (FAMILY, self.em * SIZE_PER_EM * scale, style).into_font()
    }

    pub(super) fn width(&self, text: &str) -> f64 {
        // Text that cannot be measured is still drawn; the guess only affects its neighbours' positions.
        let guess = self.em * SIZE_PER_EM * 0.5 * text.chars().count() as f64;
        let size = self.font(4.0).box_size(text);
        size.map_or(guess, |(width, _)| f64::from(width) / 4.0)
    }

    /// Shortens `text` with an ellipsis to fit into `room`.
    pub(super) fn shortened(&self, text: &str, room: f64) -> String {
        if self.width(text) <= room {
            return text.to_owned();
        }
        let ends = text.char_indices().rev();
        let mut shorter = ends.map(|(end, _)| format!("{}…", &text[..end]));
        let fitting = shorter.find(|shorter| self.width(shorter) <= room);
        fitting.unwrap_or_default()
    }
}

fn fonts() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        let regular = register_font(FAMILY, FontStyle::Normal, dejavu::sans::regular());
        let bold = register_font(FAMILY, FontStyle::Bold, dejavu::sans::bold());
        assert!(regular.is_ok() && bold.is_ok(), "the fonts are valid");
    });
}

/// Draws shapes on a white background as a PNG file, with [`PNG_SCALE`] pixels per unit.
pub(super) fn png(
    shapes: &[Shape],
    (width, height): (u32, u32),
    figure: &'static str,
) -> Result<Vec<u8>> {
    let pixel = |unit: f64| (unit * PNG_SCALE).round() as i32;
    let at = |(x, y): Point| (pixel(x), pixel(y));
    let size = [width, height].map(|length| (f64::from(length) * PNG_SCALE) as u32);
    let mut pixels = vec![0; size[0] as usize * size[1] as usize * 3];
    let area = BitMapBackend::with_buffer(&mut pixels, size.into()).into_drawing_area();
    let rectangle =
        |(corners, colour, _): &Cell| area.draw(&Rectangle::new(corners.map(at), colour.filled()));
    let draw = |shape: &Shape| match shape {
        Shape::Rectangle(cell) => rectangle(cell),
        Shape::Cells(cells) => cells.iter().try_for_each(rectangle),
        Shape::Dot(centre, colour, _) => {
            let radius = (DOT * PNG_SCALE) as i32;
            area.draw(&Circle::new(at(*centre), radius, colour.filled()))
        }
        Shape::Line(points, width, colour, _) => {
            let points: Vec<(i32, i32)> = points.iter().map(|&point| at(point)).collect();
            let style = colour.stroke_width(pixel(*width).max(1) as u32);
            area.draw(&PathElement::new(points, style))
        }
        Shape::Text(text, (x, y), style) => {
            let drop = PNG_DROP * style.em;
            let (place, turn) = match style.is_upright {
                false => ((*x, y + drop), FontTransform::None),
                true => ((x + drop, *y), FontTransform::Rotate270),
            };
            let font = style.font(PNG_SCALE).transform(turn).color(&style.colour);
            let style = font.pos(Pos::new(style.anchor.0, style.anchor.1));
            area.draw(&Text::new(text.as_str(), at(place), style))
        }
    };
    (area
        .fill(&WHITE)
        .and_then(|()| shapes.iter().try_for_each(draw)))
    .and_then(|()| area.present())
    .map_err(ReportError::drawing(figure))?;
    drop(area);
    png_file(&pixels, size, None).map_err(ReportError::drawing(figure))
}

/// Encodes pixels as a PNG file. With a palette, pixels are indices into it, and index 0 is transparent.
pub(super) fn png_file(
    pixels: &[u8],
    [width, height]: [u32; 2],
    palette: Option<Vec<u8>>,
) -> Result<Vec<u8>, png::EncodingError> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::Default);
    encoder.set_depth(png::BitDepth::Eight);
    // Rows of flat colours repeat; filters would hide this from the compressor.
    encoder.set_filter(png::FilterType::NoFilter);
    if let Some(palette) = palette {
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_compression(png::Compression::Best);
        encoder.set_palette(palette);
        encoder.set_trns(vec![0]);
    }
    encoder.write_header()?.write_image_data(pixels)?;
    Ok(file)
}
