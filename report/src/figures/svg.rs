//! Writes SVG. Axes and text have the colour of their surroundings, so that a page can be light or dark.

use super::canvas::{At, Canvas, Cell, DOT, EM, em, is_upright};
use super::palette;
use crate::error::{ReportError, Result};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use maud::{Markup, html};
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{FontStyle, RGBColor, TextStyle};

/// Maximum number of cells as rectangles with titles. More of them are a picture, which is smaller.
const MOST_CELLS: usize = 400;

pub(super) struct Svg {
    figure: &'static str,
    pub(super) elements: String,
}

impl Svg {
    pub(super) fn new(figure: &'static str) -> Self {
        let elements = String::new();
        Self { figure, elements }
    }

    fn add(&mut self, element: Markup) -> Result<()> {
        self.elements += &element.0;
        Ok(())
    }
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// Returns the colour and the opacity; neither for that of the text around.
fn paint(colour: RGBColor) -> (Option<String>, Option<f64>) {
    match colour {
        palette::BLACK => (None, None),
        palette::GREY => (None, Some(0.7)),
        palette::LIGHT_GREY => (None, Some(0.15)),
        RGBColor(red, green, blue) => (Some(format!("#{red:02x}{green:02x}{blue:02x}")), None),
    }
}

fn title(text: &str) -> Markup {
    html! { @if !text.is_empty() { title { (text) } } }
}

impl Canvas for Svg {
    fn rectangle(&mut self, [from, to]: [At; 2], colour: RGBColor, text: &str) -> Result<()> {
        let (x, y) = (round(from.0.min(to.0)), round(from.1.min(to.1)));
        let [width, height] = [(to.0 - from.0), (to.1 - from.1)].map(|it| round(it.abs()));
        let (fill, opacity) = paint(colour);
        self.add(html! {
            rect x=(x) y=(y) width=(width) height=(height) fill=[fill] opacity=[opacity] { (title(text)) }
        })
    }

    fn dot(&mut self, (x, y): At, colour: RGBColor, text: &str) -> Result<()> {
        let (fill, opacity) = paint(colour);
        self.add(html! {
            circle cx=(round(x)) cy=(round(y)) r=(DOT) fill=[fill] opacity=[opacity] { (title(text)) }
        })
    }

    fn line(&mut self, points: &[At], width: f64, colour: RGBColor, text: &str) -> Result<()> {
        let places = points.iter();
        let places = places.map(|&(x, y)| format!("{} {}", round(x), round(y)));
        let path = format!("M{}", places.collect::<Vec<_>>().join("L"));
        let (stroke, opacity) = paint(colour);
        let stroke = stroke.as_deref().unwrap_or("currentColor");
        let width = (width > 1.0).then_some(width);
        self.add(html! {
            path d=(path) fill="none" stroke=(stroke) stroke-width=[width] opacity=[opacity] { (title(text)) }
        })
    }

    fn text(&mut self, text: &str, (x, y): At, look: &TextStyle<'static>) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let anchor = match look.pos.h_pos {
            HPos::Left => None,
            HPos::Center => Some("middle"),
            HPos::Right => Some("end"),
        };
        // The y of SVG is that of the letters' lower end.
        let drop = em(look)
            * match look.pos.v_pos {
                VPos::Top => 0.8,
                VPos::Center => 0.35,
                VPos::Bottom => -0.2,
            };
        let is_upright = is_upright(look);
        let (x, y) = match is_upright {
            true => (round(x + drop), round(y)),
            false => (round(x), round(y + drop)),
        };
        let turn = is_upright.then(|| format!("rotate(-90 {x} {y})"));
        let size = Some(round(em(look))).filter(|&size| size != EM);
        let weight = matches!(look.font.get_style(), FontStyle::Bold).then_some("bold");
        let (red, green, blue) = look.color.rgb;
        let (fill, opacity) = paint(RGBColor(red, green, blue));
        self.add(html! {
            text x=(x) y=(y) text-anchor=[anchor] font-size=[size] font-weight=[weight] fill=[fill] opacity=[opacity]
                transform=[turn] { (text) }
        })
    }

    fn cells(&mut self, cells: &[Cell<'_>]) -> Result<()> {
        self.elements += "<g class=\"shades\" shape-rendering=\"crispEdges\">";
        if cells.len() > MOST_CELLS {
            let picture = picture(cells, self.figure)?;
            self.add(picture)?;
        } else {
            for (corners, colour, title) in cells {
                self.rectangle(*corners, *colour, title)?;
            }
        }
        self.elements += "</g>";
        Ok(())
    }
}

/// Draws the cells as a picture with one pixel per unit, transparent where there is no cell.
fn picture(cells: &[Cell<'_>], figure: &'static str) -> Result<Markup> {
    let corners = || cells.iter().flat_map(|(corners, _, _)| corners);
    let (xs, ys) = (|| corners().map(|at| at.0), || corners().map(|at| at.1));
    let (left, right) = (
        xs().fold(f64::MAX, f64::min).round(),
        xs().fold(0.0, f64::max),
    );
    let (top, bottom) = (
        ys().fold(f64::MAX, f64::min).round(),
        ys().fold(0.0, f64::max),
    );
    let [width, height] = [right - left, bottom - top].map(|it| it.round().max(1.0) as usize);
    // The first colour is for empty places.
    let mut colours = vec![RGBColor(255, 255, 255)];
    let mut pixels = vec![0u8; width * height];
    for ([from, to], colour, _) in cells {
        let found = colours.iter().position(|other| other == colour);
        let index = found.unwrap_or_else(|| {
            colours.push(*colour);
            colours.len() - 1
        });
        let span = |a: f64, b: f64, start: f64, end: usize| {
            let low = (a.min(b) - start).round() as usize;
            low..((a.max(b) - start).round() as usize).max(low + 1).min(end)
        };
        for y in span(from.1, to.1, top, height) {
            for x in span(from.0, to.0, left, width) {
                pixels[y * width + x] = u8::try_from(index).unwrap_or(u8::MAX);
            }
        }
    }
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width as u32, height as u32);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    // Rows of flat colours repeat, which filters hide.
    encoder.set_filter(png::FilterType::NoFilter);
    encoder.set_compression(png::Compression::Best);
    encoder.set_palette(
        colours
            .iter()
            .flat_map(|it| [it.0, it.1, it.2])
            .collect::<Vec<u8>>(),
    );
    encoder.set_trns(vec![0]);
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&pixels))
        .map_err(ReportError::drawing(figure))?;
    let address = format!("data:image/png;base64,{}", BASE64_STANDARD.encode(file));
    Ok(html! {
        image x=(left) y=(top) width=(width) height=(height) style="image-rendering:pixelated" href=(address) {}
    })
}

#[cfg(test)]
mod tests;
