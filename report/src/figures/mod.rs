//! Figures, each drawn from its table, as SVG and PNG, with the table as CSV.
//!
//! They do not depend on the machine: the PNG's font is embedded in the program, and the SVG uses a generic family.

mod canvas;
pub mod communication;
mod data_volume;
mod maps;
pub mod multiples;
pub mod numbers;
mod over_time;
pub mod palette;
mod programs;

pub use data_volume::data_volume;
pub use programs::Programs;

use crate::error::{ReportError, Result};
use canvas::Canvas;
use maud::{PreEscaped, html};
use multiples::Multiples;
use plotters::backend::{BitMapBackend, SVGBackend};
use plotters::drawing::IntoDrawingArea;
use std::fs;
use std::path::{Path, PathBuf};
use superstep_table::{FileError, Format};

/// Pixels of the PNG per unit of the drawing.
const PNG_SCALE: f64 = 2.0;
/// Correction in ems for the bitmap backend, which centres a text's line, not its letters.
const PNG_DROP: f64 = 0.2;

/// Draws the figure as an SVG document with a title and a description, for use in an HTML page. Its ids start with `id`.
pub fn svg(figure: &Multiples, id: &str) -> Result<String> {
    let (width, height) = figure.size();
    let mut drawing = String::new();
    {
        let area = SVGBackend::with_string(&mut drawing, (width, height)).into_drawing_area();
        figure.draw(&Canvas::new(&area, figure.name, 1.0, 0.0)?)?;
        area.present().map_err(ReportError::drawing(figure.name))?;
    }
    let (title, description) = (format!("{id}-title"), format!("{id}-description"));
    let document = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) }
            role="img" aria-labelledby={ (title) " " (description) } style="max-width:100%;height:auto" {
            title id=(title) { (figure.title) }
            desc id=(description) { (figure.description) }
            (PreEscaped(drawing))
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

/// Draws the figure as a PNG file with [`PNG_SCALE`] pixels per unit.
pub fn png(figure: &Multiples) -> Result<Vec<u8>> {
    let (width, height) = figure.size();
    let scaled = |length: u32| (f64::from(length) * PNG_SCALE) as u32;
    let (width, height) = (scaled(width), scaled(height));
    let mut pixels = vec![0; width as usize * height as usize * 3];
    {
        let backend = BitMapBackend::with_buffer(&mut pixels, (width, height));
        let area = backend.into_drawing_area();
        figure.draw(&Canvas::new(&area, figure.name, PNG_SCALE, PNG_DROP)?)?;
        area.present().map_err(ReportError::drawing(figure.name))?;
    }
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&pixels))
        .map_err(ReportError::drawing(figure.name))?;
    Ok(file)
}
