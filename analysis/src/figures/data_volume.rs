//! Figure 6.1 of the thesis: bytes loaded and stored by each application, and how much of what is stored is communication.

use super::canvas::{Canvas, TextLook};
use super::{Figure, palette};
use crate::error::{AnalysisError, Result};
use crate::run_summary::RunSummary;
use plotters::backend::DrawingBackend;
use plotters::style::RGBColor;
use plotters::style::text_anchor::{HPos, VPos};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// One application.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DataVolumeRow {
    /// Its name.
    pub application: String,
    /// Bytes of all loads and atomics.
    pub loaded_bytes: u64,
    /// Bytes of all stores and atomics.
    pub stored_bytes: u64,
    /// Bytes stored that another entity read later.
    pub communicated_stored_bytes: u64,
    /// `communicated_stored_bytes / stored_bytes`, from 0 to 1.
    pub communication_share: f64,
}

/// The figure's table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataVolume {
    /// In the order in which they are drawn.
    pub rows: Vec<DataVolumeRow>,
}

impl DataVolume {
    /// Every benchmark of a run whose accesses were analysed, in the run's order.
    #[must_use]
    pub fn from_run(run: &RunSummary) -> Self {
        let rows = run.benchmarks.iter().filter_map(|benchmark| {
            let (bytes, communication) = (benchmark.bytes?, benchmark.communication?);
            Some(DataVolumeRow {
                application: benchmark.name.clone(),
                loaded_bytes: bytes.loaded + bytes.atomic,
                stored_bytes: communication.stored_bytes,
                communicated_stored_bytes: communication.communicated_bytes,
                communication_share: communication.share,
            })
        });
        Self {
            rows: rows.collect(),
        }
    }

    /// Reads the table from the CSV file beside a figure.
    ///
    /// # Errors
    /// [`AnalysisError::Csv`] when `path` cannot be read or holds something else.
    pub fn from_csv(path: &Path) -> Result<Self> {
        let failed = |source| AnalysisError::Csv {
            path: path.to_owned(),
            source,
        };
        let mut reader = csv::Reader::from_path(path).map_err(failed)?;
        let rows = reader
            .deserialize()
            .collect::<Result<_, _>>()
            .map_err(failed)?;
        Ok(Self { rows })
    }
}

const LOADED: RGBColor = palette::BLUE;
const STORED: RGBColor = palette::ORANGE;
const SHARE: RGBColor = palette::GREEN;

const LEFT: f64 = 92.0;
const RIGHT: f64 = 24.0;
/// Top and bottom of the upper and of the lower panel.
const UPPER: (f64, f64) = (84.0, 330.0);
const LOWER: (f64, f64) = (376.0, 496.0);
const HEIGHT: u32 = 552;
const NARROW: f64 = 64.0;
const WIDE: f64 = 132.0;
/// From this number of applications on bars are narrow and carry no values.
const MANY: usize = 13;

impl Figure for DataVolume {
    fn name(&self) -> &'static str {
        "data-volume"
    }

    fn title(&self) -> String {
        "Data volume and communication share".to_owned()
    }

    fn description(&self) -> String {
        let rows: Vec<String> = (self.rows.iter())
            .map(|row| {
                format!(
                    "{}: {} loaded, {} stored, {} of the stored bytes communicated",
                    row.application,
                    bytes(row.loaded_bytes as f64),
                    bytes(row.stored_bytes as f64),
                    percent(row.communication_share)
                )
            })
            .collect();
        format!(
            "For each application the bytes loaded and stored by all kernels on a logarithmic axis, and below the share of the stored bytes that another CTA or kernel reads in a later launch. {}.",
            rows.join("; ")
        )
    }

    fn size(&self) -> (u32, u32) {
        let width = LEFT + RIGHT + self.step() * self.rows.len() as f64;
        (width.max(620.0) as u32, HEIGHT)
    }

    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Result<()> {
        let width = f64::from(self.size().0);
        let title = TextLook {
            bold: true,
            ..TextLook::new(16.0, palette::BLACK)
        };
        let title = title.at(HPos::Left, VPos::Center);
        canvas.text(&self.title(), (16.0, 26.0), title)?;
        legend(canvas)?;
        if self.rows.is_empty() {
            let note = TextLook::new(14.0, palette::GREY);
            let centre = (width / 2.0, f64::from(HEIGHT) / 2.0);
            return canvas.text("No application was analysed.", centre, note);
        }
        let axis = LogAxis::over(self.values());
        axis.draw(canvas, width - RIGHT)?;
        share_axis(canvas, width - RIGHT)?;
        let step = (width - LEFT - RIGHT) / self.rows.len() as f64;
        for (index, row) in self.rows.iter().enumerate() {
            self.column(canvas, &axis, row, LEFT + step * index as f64, step)?;
        }
        for (_, bottom) in [UPPER, LOWER] {
            canvas.line(
                &[(LEFT, bottom), (width - RIGHT, bottom)],
                1.0,
                palette::BLACK,
            )?;
        }
        Ok(())
    }

    fn write_csv(&self, path: &Path) -> Result<()> {
        let failed = |source| AnalysisError::Csv {
            path: path.to_owned(),
            source,
        };
        let mut writer = csv::Writer::from_path(path).map_err(failed)?;
        for row in &self.rows {
            writer.serialize(row).map_err(failed)?;
        }
        writer.flush().map_err(AnalysisError::io("write", path))
    }
}

impl DataVolume {
    fn step(&self) -> f64 {
        if self.rows.len() < MANY { WIDE } else { NARROW }
    }

    fn values(&self) -> impl Iterator<Item = u64> + '_ {
        (self.rows.iter()).flat_map(|row| [row.loaded_bytes, row.stored_bytes])
    }

    /// The bars of one application between `left` and `left + step`.
    fn column<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        axis: &LogAxis,
        row: &DataVolumeRow,
        left: f64,
        step: f64,
    ) -> Result<()> {
        let centre = left + step / 2.0;
        let bar = (step * 0.4).min(52.0);
        let value = TextLook::new(10.5, palette::BLACK).at(HPos::Center, VPos::Bottom);
        let values = self.rows.len() < MANY;
        for (x, volume, colour) in [
            (centre - bar - 2.0, row.loaded_bytes, LOADED),
            (centre + 2.0, row.stored_bytes, STORED),
        ] {
            let top = axis.position(volume as f64);
            if volume > 0 {
                canvas.rectangle((x, top), (x + bar, UPPER.1), colour)?;
            }
            if values {
                canvas.text(&bytes(volume as f64), (x + bar / 2.0, top - 3.0), value)?;
            }
        }
        let share = row.communication_share.clamp(0.0, 1.0);
        let top = LOWER.1 - share * (LOWER.1 - LOWER.0);
        let half = (bar * 0.7).min(32.0);
        if share > 0.0 {
            canvas.rectangle((centre - half, top), (centre + half, LOWER.1), SHARE)?;
        }
        if values {
            canvas.text(&percent(share), (centre, top - 3.0), value)?;
        }
        let look = TextLook::new(13.0, palette::BLACK).at(HPos::Center, VPos::Top);
        let name = shortened(canvas, &row.application, step - 4.0, look);
        canvas.text(&name, (centre, LOWER.1 + 10.0), look)
    }
}

fn shortened<DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    name: &str,
    room: f64,
    look: TextLook,
) -> String {
    let mut kept: Vec<char> = name.chars().collect();
    if canvas.text_width(name, look) <= room {
        return name.to_owned();
    }
    while kept.len() > 1 {
        kept.pop();
        let shorter: String = kept.iter().chain(&['…']).collect();
        if canvas.text_width(&shorter, look) <= room {
            return shorter;
        }
    }
    kept.into_iter().collect()
}

fn legend<DB: DrawingBackend>(canvas: &Canvas<'_, DB>) -> Result<()> {
    let look = TextLook::new(12.0, palette::BLACK).at(HPos::Left, VPos::Center);
    let mut x = LEFT;
    for (name, colour) in [
        ("bytes loaded", LOADED),
        ("bytes stored", STORED),
        ("share of the stored bytes that is communicated", SHARE),
    ] {
        canvas.rectangle((x, 47.0), (x + 12.0, 59.0), colour)?;
        canvas.text(name, (x + 18.0, 53.0), look)?;
        x += 18.0 + canvas.text_width(name, look) + 22.0;
    }
    Ok(())
}

/// Powers of ten from bottom to top of the upper panel.
struct LogAxis {
    low: i32,
    high: i32,
}

impl LogAxis {
    fn over(values: impl Iterator<Item = u64>) -> Self {
        let (mut low, mut high) = (i32::MAX, i32::MIN);
        for value in values.filter(|&value| value > 0) {
            let exponent = value.ilog10() as i32;
            low = low.min(exponent);
            let whole = 10u64.checked_pow(exponent as u32) == Some(value);
            high = high.max(if whole { exponent } else { exponent + 1 });
        }
        if low > high {
            return Self { low: 0, high: 1 };
        }
        // A bar of a value at the lower end must still be seen.
        let low = (low - 1).max(0);
        Self {
            low,
            high: high.max(low + 1),
        }
    }

    fn position(&self, value: f64) -> f64 {
        let span = f64::from(self.high - self.low);
        let exponent = value.max(1.0).log10().max(f64::from(self.low));
        let share = (exponent - f64::from(self.low)) / span;
        UPPER.1 - share * (UPPER.1 - UPPER.0 - 14.0)
    }

    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>, right: f64) -> Result<()> {
        let every = (self.high - self.low) / 8 + 1;
        for exponent in (self.low..=self.high).filter(|e| (e - self.low) % every == 0) {
            let value = 10f64.powi(exponent);
            let y = self.position(value);
            tick(canvas, y, right, &bytes(value))?;
        }
        panel_label(canvas, UPPER, "bytes (log scale)")
    }
}

fn share_axis<DB: DrawingBackend>(canvas: &Canvas<'_, DB>, right: f64) -> Result<()> {
    for quarter in 0..=4 {
        let share = f64::from(quarter) / 4.0;
        let y = LOWER.1 - share * (LOWER.1 - LOWER.0);
        tick(canvas, y, right, &format!("{:.0} %", share * 100.0))?;
    }
    panel_label(canvas, LOWER, "share")
}

fn tick<DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    y: f64,
    right: f64,
    label: &str,
) -> Result<()> {
    canvas.line(&[(LEFT, y), (right, y)], 1.0, palette::LIGHT_GREY)?;
    let look = TextLook::new(12.0, palette::BLACK).at(HPos::Right, VPos::Center);
    canvas.text(label, (LEFT - 7.0, y), look)
}

fn panel_label<DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    (top, bottom): (f64, f64),
    label: &str,
) -> Result<()> {
    let look = TextLook {
        upright: true,
        ..TextLook::new(12.0, palette::GREY)
    };
    canvas.text(label, (20.0, (top + bottom) / 2.0), look)
}

/// A number of bytes for people, three digits and a decimal unit.
pub(crate) fn bytes(value: f64) -> String {
    let mut value = value;
    for unit in ["B", "kB", "MB", "GB", "TB"] {
        // What would be rounded to 1000 belongs to the next unit.
        if value < 999.5 {
            return if unit == "B" || value >= 99.95 {
                format!("{value:.0} {unit}")
            } else if value >= 9.995 {
                trimmed(format!("{value:.1}"), unit)
            } else {
                trimmed(format!("{value:.2}"), unit)
            };
        }
        value /= 1000.0;
    }
    format!("{value:.0} PB")
}

fn trimmed(number: String, unit: &str) -> String {
    let number = number.trim_end_matches('0').trim_end_matches('.');
    format!("{number} {unit}")
}

/// A share for people.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_for_people() {
        let shown = |value| bytes(value);
        assert_eq!(shown(0.0), "0 B");
        assert_eq!(shown(999.0), "999 B");
        assert_eq!(shown(1000.0), "1 kB");
        assert_eq!(shown(1234.0), "1.23 kB");
        assert_eq!(shown(99_960.0), "100 kB");
        assert_eq!(shown(999_600.0), "1 MB");
        assert_eq!(shown(12_345_678_901.0), "12.3 GB");
    }

    #[test]
    fn the_axis_holds_every_value() {
        let axis = LogAxis::over([0, 250, 1_000_000].into_iter());
        assert_eq!((axis.low, axis.high), (1, 6));
        assert!(axis.position(1_000_000.0) >= UPPER.0);
        assert!(axis.position(250.0) < UPPER.1);
        assert_eq!(axis.position(0.0), UPPER.1);
        let empty = LogAxis::over(std::iter::empty());
        assert_eq!((empty.low, empty.high), (0, 1));
    }

    #[test]
    fn table_survives_csv_and_figure_is_redrawn_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let table = DataVolume {
            rows: vec![DataVolumeRow {
                application: "a<b".into(),
                loaded_bytes: 10,
                stored_bytes: 4,
                communicated_stored_bytes: 1,
                communication_share: 0.25,
            }],
        };
        let files = super::super::write(&table, folder.path()).unwrap();
        let names: Vec<_> = files
            .iter()
            .filter_map(|f| f.file_name()?.to_str())
            .collect();
        assert_eq!(
            names,
            ["data-volume.csv", "data-volume.svg", "data-volume.png"]
        );
        assert_eq!(DataVolume::from_csv(&files[0]).unwrap(), table);
        let svg = std::fs::read_to_string(&files[1]).unwrap();
        assert!(svg.contains("role=\"img\"") && svg.contains("<title id=\"data-volume-title\">"));
        assert!(svg.contains("a&lt;b") && !svg.contains("a<b"));
        assert!(std::fs::metadata(&files[2]).unwrap().len() > 1000);
        assert!(
            super::super::svg(&DataVolume::default())
                .unwrap()
                .contains("No application")
        );
    }
}
