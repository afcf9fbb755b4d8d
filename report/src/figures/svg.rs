//! Renders SVG. Axes and text inherit the colour of the page, which can be light or dark.

use super::canvas::{Cell, DOT, EM, Point, Shape, TextStyle, png_file};
use super::palette;
use crate::error::{ReportError, Result};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use maud::{Markup, html};
use plotters::style::RGBColor;
use plotters::style::text_anchor::{HPos, VPos};

/// Maximum number of cells that are drawn as titled rectangles. Larger maps are drawn as images, which are smaller.
const MAX_CELLS: usize = 400;

pub(super) fn elements(shapes: &[Shape], figure: &'static str) -> Result<Markup> {
    Ok(html! {
        @for shape in shapes {
            @match shape {
                Shape::Rectangle(cell) => (rectangle(cell)),
                Shape::Cells(cells) => g.shades shape-rendering="crispEdges" {
                    @if cells.len() > MAX_CELLS {
                        (picture(cells).map_err(ReportError::drawing(figure))?)
                    } @else {
                        @for cell in cells { (rectangle(cell)) }
                    }
                },
                Shape::Dot((x, y), colour, text) => {
                    @let (fill, opacity) = paint(*colour);
                    circle cx=(round(*x)) cy=(round(*y)) r=(DOT) fill=[fill] opacity=[opacity] { (title(text)) }
                },
                Shape::Line(points, width, colour, text) => (line(points, *width, *colour, text)),
                Shape::Text(text, at, style) => @if !text.is_empty() { (words(text, *at, style)) },
            }
        }
    })
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// Returns the colour, or `None` for that of the surrounding text, and the opacity unless it is 1.
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

fn rectangle(([from, to], colour, text): &Cell) -> Markup {
    let (x, y) = (round(from.0.min(to.0)), round(from.1.min(to.1)));
    let [width, height] = [(to.0 - from.0), (to.1 - from.1)].map(|it| round(it.abs()));
    let (fill, opacity) = paint(*colour);
    html! {
        rect x=(x) y=(y) width=(width) height=(height) fill=[fill] opacity=[opacity] { (title(text)) }
    }
}

fn line(points: &[Point], width: f64, colour: RGBColor, text: &str) -> Markup {
    let places = points.iter();
    let places = places.map(|&(x, y)| format!("{} {}", round(x), round(y)));
    let path = format!("M{}", places.collect::<Vec<_>>().join("L"));
    let (stroke, opacity) = paint(colour);
    let stroke = stroke.as_deref().unwrap_or("currentColor");
    let width = (width > 1.0).then_some(width);
    html! {
        path d=(path) fill="none" stroke=(stroke) stroke-width=[width] opacity=[opacity] { (title(text)) }
    }
}

fn words(text: &str, (x, y): Point, style: &TextStyle) -> Markup {
    let anchor = match style.anchor.0 {
        HPos::Left => None,
        HPos::Center => Some("middle"),
        HPos::Right => Some("end"),
    };
    // In SVG, y is the position of the baseline.
    let drop = match style.anchor.1 {
        VPos::Top => 0.8,
        VPos::Center => 0.35,
        VPos::Bottom => -0.2,
    } * style.em;
    let (x, y) = match style.is_upright {
        true => (round(x + drop), round(y)),
        false => (round(x), round(y + drop)),
    };
    let turn = (style.is_upright).then(|| format!("rotate(-90 {x} {y})"));
    let size = Some(round(style.em)).filter(|&size| size != EM);
    let weight = style.is_bold.then_some("bold");
    let (fill, opacity) = paint(style.colour);
    html! {
        text x=(x) y=(y) text-anchor=[anchor] font-size=[size] font-weight=[weight] fill=[fill] opacity=[opacity]
            transform=[turn] { (text) }
    }
}

/// Draws the cells as an image with one pixel per unit, transparent where there is no cell.
fn picture(cells: &[Cell]) -> Result<Markup, png::EncodingError> {
    let corners = || cells.iter().flat_map(|(corners, ..)| corners);
    let ends = |coordinate: fn(&Point) -> f64| {
        let low = corners().map(coordinate).fold(f64::MAX, f64::min).round();
        let length = corners().map(coordinate).fold(0.0, f64::max) - low;
        (low, length.round().max(1.0) as usize)
    };
    let ((left, width), (top, height)) = (ends(|at| at.0), ends(|at| at.1));
    // The first colour is for pixels without a cell.
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
    let colours = colours.iter().flat_map(|c| [c.0, c.1, c.2]).collect();
    let file = png_file(&pixels, [width as u32, height as u32], Some(colours))?;
    let url = format!("data:image/png;base64,{}", BASE64_STANDARD.encode(file));
    Ok(html! {
        image x=(left) y=(top) width=(width) height=(height) style="image-rendering:pixelated" href=(url) {}
    })
}

#[cfg(test)]
mod tests;
