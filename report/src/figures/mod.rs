//! Figures, each drawn from its table: SVG, PNG and the table itself as CSV side by side.
//!
//! Nothing of the machine is needed: the PNG's font is part of the program, and the SVG names a generic family.

mod canvas;
pub mod communication;
mod data_volume;
mod maps;
pub mod multiples;
pub mod numbers;
mod over_time;
pub mod palette;
mod program;

pub use data_volume::data_volume;
pub use program::Program;

use crate::error::{ReportError, Result};
use canvas::Canvas;
use multiples::Multiples;
use plotters::backend::{BitMapBackend, SVGBackend};
use plotters::drawing::IntoDrawingArea;
use std::fs;
use std::path::{Path, PathBuf};
use superstep_table::{FileError, Format};

/// Pixels of the PNG for each unit of the drawing.
const PNG_SCALE: f64 = 2.0;
/// The bitmap backend centres a text's line, not its letters.
const PNG_DROP: f64 = 0.2;

/// The figure as an SVG document with a title and a description, fit to stand in an HTML page; its parts' ids begin with `id`.
pub fn svg(figure: &Multiples, id: &str) -> Result<String> {
    let (width, height) = figure.size();
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
        figure.draw(&Canvas::new(&area, figure.name, 1.0, 0.0)?)?;
        area.present().map_err(|error| failed(figure, &error))?;
    }
    let name = escape(id);
    let opening = format!(
        "<svg role=\"img\" aria-labelledby=\"{name}-title {name}-description\" style=\"max-width:100%;height:auto\" "
    );
    let names = format!(
        ">\n<title id=\"{name}-title\">{}</title>\n<desc id=\"{name}-description\">{}</desc>\n",
        escape(&figure.title),
        escape(figure.description)
    );
    Ok(text
        .replacen("<svg ", &opening, 1)
        .replacen(">\n", &names, 1))
}

/// Writes `<name>.svg`, `<name>.png` and `<name>.csv` into `folder`, which is created. Returns the files.
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

/// The figure as the contents of a PNG file, two pixels for each unit.
pub fn png(figure: &Multiples) -> Result<Vec<u8>> {
    let (width, height) = figure.size();
    let scaled = |length: u32| (f64::from(length) * PNG_SCALE) as u32;
    let (width, height) = (scaled(width), scaled(height));
    let mut pixels = vec![0; width as usize * height as usize * 3];
    {
        let backend = BitMapBackend::with_buffer(&mut pixels, (width, height));
        let area = backend.into_drawing_area();
        figure.draw(&Canvas::new(&area, figure.name, PNG_SCALE, PNG_DROP)?)?;
        area.present().map_err(|error| failed(figure, &error))?;
    }
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&pixels))
        .map_err(|error| failed(figure, &error))?;
    Ok(file)
}

fn failed(figure: &Multiples, error: &dyn std::fmt::Display) -> ReportError {
    ReportError::Figure {
        figure: figure.name,
        reason: error.to_string(),
    }
}

/// Text for HTML and XML, inside elements and inside quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Not allowed in XML, and of no meaning in a page.
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
