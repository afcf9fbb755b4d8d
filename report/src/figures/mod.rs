//! Figures, each drawn from its table, as SVG and PNG, with the table as CSV.
//!
//! The files are on white and do not depend on the machine: the PNG's font is embedded in the program. In a page, a figure
//! has the page's font and colours.

mod canvas;
pub mod communication;
mod data_volume;
mod maps;
pub mod multiples;
pub mod numbers;
mod over_time;
pub mod palette;
mod programs;
mod scale;
mod svg;

pub use data_volume::data_volume;
pub use programs::Programs;

use crate::error::{ReportError, Result};
use canvas::{EM, PNG_SCALE, Pixels};
use maud::{Markup, PreEscaped, html};
use multiples::{Multiples, WIDTH};
use plotters::backend::BitMapBackend;
use plotters::drawing::IntoDrawingArea;
use std::fs;
use std::path::{Path, PathBuf};
use superstep_table::{FileError, Format};
use svg::Svg;

/// Rules for figures in a page.
pub(crate) const STYLE: &str = include_str!("style.css");

/// Renders the figure for a page, which may be light or dark: heading, legend, and each plot as an SVG element, so that
/// they fit beside or below each other. Ids start with `id`.
pub fn markup(figure: &Multiples, id: &str) -> Result<Markup> {
    let mut plots = Vec::new();
    for plot in &figure.plots {
        let mut svg = Svg::new(figure.name);
        figure.plot(&mut svg, plot, (0.0, 0.0), WIDTH)?;
        let size = (WIDTH, figure.height(plot, WIDTH));
        let label = match &*plot.title {
            "" => figure.title.clone(),
            name => format!("{}: {name}", figure.title),
        };
        plots.push(html! {
            svg width=(size.0) height=(size.1) viewBox={ "0 0 " (size.0) " " (size.1) } fill="currentColor" font-size=(EM)
                role="img" aria-label=(label) { (PreEscaped(svg.elements)) }
        });
    }
    Ok(html! {
        h3 id={ (id) "-title" } { (figure.title) }
        @if !figure.legend.is_empty() {
            ul.legend {
                @for (name, colour) in &figure.legend {
                    li { i style={ "background:rgb(" (colour.0) "," (colour.1) "," (colour.2) ")" } {} (name) }
                }
            }
        }
        @if !figure.sentence.is_empty() { p { (figure.sentence) } }
        div.plots { @for plot in plots { (plot) } }
    })
}

/// Draws the figure as an SVG document on white, with a title and a description. Its ids start with `id`.
pub fn svg(figure: &Multiples, id: &str) -> Result<String> {
    let (width, height) = figure.size();
    let mut svg = Svg::new(figure.name);
    figure.draw(&mut svg)?;
    let (title, description) = (format!("{id}-title"), format!("{id}-description"));
    let document = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) }
            color="#000" fill="currentColor" font-size=(EM) font-family="DejaVu Sans, Verdana, sans-serif"
            role="img" aria-labelledby={ (title) " " (description) } style="max-width:100%;height:auto" {
            title id=(title) { (figure.title) }
            desc id=(description) { (figure.description) }
            rect width=(width) height=(height) fill="#fff" {}
            (PreEscaped(svg.elements))
        }
    };
    Ok(document.into_string())
}

/// Writes `<name>.svg`, `<name>.png` and `<name>.csv` into `folder`, which it creates. Returns the files.
///
/// # Errors
/// [`ReportError::Figure`], [`ReportError::File`].
pub fn write(figure: &Multiples, folder: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(folder).map_err(FileError::at("create", folder))?;
    let file = |extension: &str| folder.join(format!("{}.{extension}", figure.name));
    let (csv, vector, bitmap) = (file("csv"), file("svg"), file("png"));
    figure.table.write(Format::Csv, &csv)?;
    fs::write(&vector, svg(figure, figure.name)?).map_err(FileError::at("write", &vector))?;
    fs::write(&bitmap, png(figure)?).map_err(FileError::at("write", &bitmap))?;
    Ok(vec![csv, vector, bitmap])
}

/// Draws the figure as a PNG file on white, with [`PNG_SCALE`] pixels per unit.
pub fn png(figure: &Multiples) -> Result<Vec<u8>> {
    let (width, height) = figure.size();
    let scaled = |length: u32| (f64::from(length) * PNG_SCALE) as u32;
    let (width, height) = (scaled(width), scaled(height));
    let mut pixels = vec![0; width as usize * height as usize * 3];
    {
        let backend = BitMapBackend::with_buffer(&mut pixels, (width, height));
        let area = backend.into_drawing_area();
        figure.draw(&mut Pixels::new(&area, figure.name)?)?;
        area.present().map_err(ReportError::drawing(figure.name))?;
    }
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::Default);
    encoder.set_depth(png::BitDepth::Eight);
    // Rows of flat colours repeat, which filters hide.
    encoder.set_filter(png::FilterType::NoFilter);
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&pixels))
        .map_err(ReportError::drawing(figure.name))?;
    Ok(file)
}
