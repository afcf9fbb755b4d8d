//! Figures, each drawn from its table. The SVG and PNG files have a white background and are the same on all machines;
//! the table is written as CSV. In a page, a figure uses the page's font and colours.

mod canvas;
pub mod communication;
mod data_volume;
pub(crate) mod maps;
pub mod multiples;
pub mod numbers;
mod over_time;
pub mod palette;
mod programs;
mod scale;
mod svg;

pub use programs::Programs;

use crate::error::Result;
use canvas::EM;
use maud::{Markup, html};
use multiples::{Multiples, WIDTH};
use std::fs;
use std::path::Path;
use superstep_table::{FileError, Format};
use svg::elements;

/// CSS rules for figures in a page.
pub(crate) const STYLE: &str = include_str!("style.css");

/// Renders the figure for a light or dark page: heading, legend, plots and description. Each plot is a separate SVG
/// element, so that plots can be placed beside or below each other. Element ids start with `id`.
pub fn markup(figure: &Multiples, id: &str) -> Result<Markup> {
    Ok(html! {
        figure {
            h3 id={ (id) "-title" } { (figure.title) }
            @if !figure.legend.is_empty() {
                ul.legend {
                    @for (name, colour) in &figure.legend {
                        li { i style={ "background:rgb(" (colour.0) "," (colour.1) "," (colour.2) ")" } {} (name) }
                    }
                }
            }
            @if !figure.sentence.is_empty() { p { (figure.sentence) } }
            div.plots {
                @for plot in &figure.plots {
                    @let height = figure.height(plot, WIDTH);
                    @let separator = if plot.title.is_empty() { "" } else { ": " };
                    svg width=(WIDTH) height=(height) viewBox={ "0 0 " (WIDTH) " " (height) } fill="currentColor"
                        font-size=(EM) role="img" aria-label={ (figure.title) (separator) (plot.title) } {
                        (elements(&figure.plot(plot, (0.0, 0.0), WIDTH), figure.name)?)
                    }
                }
            }
            figcaption { (figure.description) }
        }
    })
}

/// Draws the figure as an SVG document with a white background, a title and a description.
pub fn svg(figure: &Multiples) -> Result<String> {
    let ((width, height), id) = (figure.size(), figure.name);
    let (title, description) = (format!("{id}-title"), format!("{id}-description"));
    let document = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) }
            color="#000" fill="currentColor" font-size=(EM) font-family="DejaVu Sans, Verdana, sans-serif"
            role="img" aria-labelledby={ (title) " " (description) } style="max-width:100%;height:auto" {
            title id=(title) { (figure.title) }
            desc id=(description) { (figure.description) }
            rect width=(width) height=(height) fill="#fff" {}
            (elements(&figure.draw(), figure.name)?)
        }
    };
    Ok(document.into_string())
}

/// Creates `folder` and writes `<name>.svg`, `<name>.png` and `<name>.csv` into it.
///
/// # Errors
/// [`ReportError::Figure`], [`ReportError::File`].
pub fn write(figure: &Multiples, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(FileError::at("create", folder))?;
    let file = |extension: &str| folder.join(format!("{}.{extension}", figure.name));
    let (csv, vector, bitmap) = (file("csv"), file("svg"), file("png"));
    figure.table.write(Format::Csv, &csv)?;
    fs::write(&vector, svg(figure)?).map_err(FileError::at("write", &vector))?;
    fs::write(&bitmap, png(figure)?).map_err(FileError::at("write", &bitmap))?;
    Ok(())
}

/// Draws the figure as a PNG file on a white background.
pub fn png(figure: &Multiples) -> Result<Vec<u8>> {
    canvas::png(&figure.draw(), figure.size(), figure.name)
}
