//! Figure 6.1 of the thesis: bytes loaded and stored by each application, and how much of what is stored is communication.

use super::axis::{LogAxis, Panel};
use super::canvas::{Canvas, TextLook};
use super::numbers::{bytes, percent};
use super::{Figure, palette};
use crate::error::Result;
use crate::run_summary::RunSummary;
use plotters::backend::DrawingBackend;
use plotters::style::RGBColor;
use plotters::style::text_anchor::{HPos, VPos};
use serde::Deserialize;
use superstep_table::{Table, table};

table! {
    /// One application.
    pub struct DataVolumeRow = "data-volume": Deserialize {
        application: String = "name in the manifest";
        loaded_bytes: u64 ["bytes"] = "bytes of all loads and atomics";
        stored_bytes: u64 ["bytes"] = "bytes of all stores and atomics";
        communicated_stored_bytes: u64 ["bytes"] = "stored, and read by another entity later";
        communication_share: f64 = "communicated_stored_bytes / stored_bytes";
    }
}

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
}

const LOADED: RGBColor = palette::BLUE;
const STORED: RGBColor = palette::ORANGE;
const SHARE: RGBColor = palette::GREEN;

const LEFT: f64 = 92.0;
const RIGHT: f64 = 24.0;
/// Top and bottom of the upper and of the lower panel.
const UPPER: (f64, f64) = (98.0, 330.0);
const LOWER: (f64, f64) = (376.0, 496.0);
const HEIGHT: f64 = 552.0;
const NARROW: f64 = 44.0;
const WIDE: f64 = 132.0;
/// From this number of applications on bars are narrow and carry no values, and names stand upright.
const MANY: usize = 13;
/// Room for upright names.
const NAMES: f64 = 150.0;

impl Figure for DataVolume {
    fn name(&self) -> &'static str {
        "data-volume"
    }

    fn title(&self) -> String {
        "Data volume and communication share".to_owned()
    }

    fn description(&self) -> &'static str {
        "Above: bytes that the kernels of each program load and store. Below: the share of the stored bytes that another CTA \
         or kernel reads in a later launch (Rieber 2017, figure 6.1)."
    }

    fn size(&self) -> (u32, u32) {
        let width = LEFT + RIGHT + self.step() * self.rows.len() as f64;
        let names = if self.rows.len() < MANY {
            0.0
        } else {
            NAMES - 25.0
        };
        (width.max(620.0) as u32, (HEIGHT + names) as u32)
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
            let centre = (width / 2.0, HEIGHT / 2.0);
            return canvas.text("No application was analysed.", centre, note);
        }
        let axis = LogAxis::over(self.values());
        let (upper, lower) = (panel(UPPER, width), panel(LOWER, width));
        axis.draw(canvas, &upper, "bytes (log scale)")?;
        lower.draw_shares(canvas, "share")?;
        let step = (width - LEFT - RIGHT) / self.rows.len() as f64;
        for (index, row) in self.rows.iter().enumerate() {
            let centre = LEFT + step * (index as f64 + 0.5);
            self.volumes(canvas, (&upper, &axis), row, centre, step)?;
            self.share(canvas, &lower, row, centre, step)?;
        }
        upper.draw_base(canvas)?;
        lower.draw_base(canvas)
    }

    fn table(&self) -> Table {
        Table::of(&self.rows)
    }
}

impl DataVolume {
    fn step(&self) -> f64 {
        if self.rows.len() < MANY { WIDE } else { NARROW }
    }

    fn values(&self) -> impl Iterator<Item = u64> + '_ {
        (self.rows.iter()).flat_map(|row| [row.loaded_bytes, row.stored_bytes])
    }

    fn with_values(&self) -> bool {
        self.rows.len() < MANY
    }

    /// The bars of one application in the upper panel.
    fn volumes<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        (panel, axis): (&Panel, &LogAxis),
        row: &DataVolumeRow,
        centre: f64,
        step: f64,
    ) -> Result<()> {
        let bar = bar_width(step);
        for (x, volume, colour) in [
            (centre - bar - 2.0, row.loaded_bytes, LOADED),
            (centre + 2.0, row.stored_bytes, STORED),
        ] {
            let top = axis.position(panel, volume as f64);
            if volume > 0 {
                canvas.rectangle((x, top), (x + bar, panel.bottom), colour)?;
            }
            if self.with_values() {
                let at = (x + bar / 2.0, top - 3.0);
                canvas.text_on_white(&bytes(volume as f64), at, value_look())?;
            }
        }
        Ok(())
    }

    /// The bar of one application in the lower panel, and its name.
    fn share<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        panel: &Panel,
        row: &DataVolumeRow,
        centre: f64,
        step: f64,
    ) -> Result<()> {
        let half = bar_width(step) * 0.65;
        let top = panel.share(row.communication_share);
        if row.communication_share > 0.0 {
            canvas.rectangle((centre - half, top), (centre + half, panel.bottom), SHARE)?;
        }
        let look = TextLook::new(13.0, palette::BLACK);
        let below = (centre, panel.bottom + 10.0);
        if self.with_values() {
            let share = percent(row.communication_share);
            canvas.text_on_white(&share, (centre, top - 3.0), value_look())?;
            let name = canvas.shortened(&row.application, step - 4.0, look);
            canvas.text(&name, below, look.at(HPos::Center, VPos::Top))
        } else {
            let name = canvas.shortened(&row.application, NAMES, look);
            let look = TextLook {
                upright: true,
                ..look.at(HPos::Right, VPos::Center)
            };
            canvas.text(&name, below, look)
        }
    }
}

fn panel((top, bottom): (f64, f64), width: f64) -> Panel {
    Panel {
        left: LEFT,
        right: width - RIGHT,
        top,
        bottom,
    }
}

fn bar_width(step: f64) -> f64 {
    (step * 0.4).min(52.0)
}

fn value_look() -> TextLook {
    TextLook::new(10.5, palette::BLACK).at(HPos::Center, VPos::Bottom)
}

fn legend<DB: DrawingBackend>(canvas: &Canvas<'_, DB>) -> Result<()> {
    let look = TextLook::new(12.0, palette::BLACK).at(HPos::Left, VPos::Center);
    let mut x = LEFT;
    for (name, colour) in [
        ("bytes loaded", LOADED),
        ("bytes stored", STORED),
        ("communicated share of the stored bytes", SHARE),
    ] {
        canvas.rectangle((x, 47.0), (x + 12.0, 59.0), colour)?;
        canvas.text(name, (x + 18.0, 53.0), look)?;
        x += 18.0 + canvas.text_width(name, look) + 22.0;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use superstep_table::read_csv;

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
        assert_eq!(read_csv::<DataVolumeRow>(&files[0]).unwrap(), table.rows);
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
