//! Metrics of figures 6.2 to 6.9: pure functions over what the engine finds, one file each, rows in and out of CSV.

pub mod arrays;
pub mod bisection;
pub mod connectivity;
pub mod degree;
pub mod density;
pub mod distance;
pub mod footprint;
pub mod lines;
pub mod pattern;
pub mod scaling;
mod settings;
pub mod stride;
pub mod superstep;
#[cfg(test)]
mod tests;
pub mod timeline;
pub mod transfer_size;
pub mod uninitialised;
#[cfg(test)]
mod window_tests;

pub use settings::{CtaWindow, Settings, WindowError};

use crate::analyse::Analysis;
use crate::communication::{Communication, Transfers};
use crate::error::{AnalysisError, Result};
use crate::tables::{Column, Table};
use arrays::ArrayRow;
use bisection::BisectionRow;
use connectivity::ConnectivityRow;
use degree::DegreeRow;
use density::DensityRow;
use distance::DistanceRow;
use footprint::FootprintRow;
use lines::LineRow;
use pattern::PatternRow;
use scaling::ScalingRow;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;
use stride::StrideRow;
use superstep::SuperstepRow;
use superstep_trace::{AllocationId, SiteTable};
use timeline::TimelineRow;
use transfer_size::TransferSizeRow;
use uninitialised::UninitialisedRow;

/// A row of a metric's table. Its fields have the columns' names.
pub trait Row: Serialize + DeserializeOwned {
    /// File name of the table without extension.
    const TABLE: &'static str;
    /// Its columns.
    const COLUMNS: &'static [Column];
}

/// What is known of an allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocationInfo {
    /// What people call it: a variable's name, else its number and size.
    pub name: String,
    /// File and line of the host's call, where they are known.
    pub place: String,
    /// Size.
    pub bytes: u64,
}

/// What the metrics look at: the transfers, and the grid and kernel of each launch.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// With transfers and strides.
    pub communication: &'a Communication,
    /// CTAs in x, y and z, by launch.
    pub grids: &'a [[u32; 3]],
    /// Names of kernels for people, and the lines of instructions.
    pub sites: &'a SiteTable,
    /// By number.
    pub allocations: &'a [AllocationInfo],
    /// Copies of what nothing had written.
    pub copies: &'a [UnwrittenCopy],
}

/// Copies to the host of device memory in which nothing had been written, not a single byte: those of one allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnwrittenCopy {
    /// The allocation.
    pub allocation: AllocationId,
    /// Number of copies.
    pub copies: u64,
    /// Bytes of the largest.
    pub bytes: u64,
    /// Bytes of all.
    pub copied_bytes: u64,
    /// Number of launches before the first of them.
    pub launches_before: u32,
}

impl<'a> Source<'a> {
    fn new(analysis: &'a Analysis, grids: &'a [[u32; 3]], sites: &'a SiteTable) -> Self {
        Self {
            communication: &analysis.communication,
            grids,
            sites,
            allocations: &analysis.allocations,
            copies: &analysis.unwritten_copies,
        }
    }
}

impl Source<'_> {
    /// Coordinates of a CTA in its launch's grid.
    #[must_use]
    pub fn coordinates(&self, launch: u32, cta: u32) -> [u32; 3] {
        let [x, y, _] = self.grid(launch).map(|extent| extent.max(1));
        [cta % x, cta / x % y, cta / x / y]
    }

    /// Grid of a launch.
    #[must_use]
    pub fn grid(&self, launch: u32) -> [u32; 3] {
        self.grids.get(launch as usize).copied().unwrap_or([1; 3])
    }

    /// Number of each launch's kernel, in the order of first launch.
    #[must_use]
    pub fn kernels(&self) -> Vec<u32> {
        let kernels = &self.communication.kernels;
        let number = |name: &str| kernels.iter().position(|kernel| kernel.kernel == name);
        (self.communication.launches.iter())
            .map(|launch| number(&launch.kernel).unwrap_or(kernels.len()) as u32)
            .collect()
    }

    /// The transfers, sorted.
    #[must_use]
    pub fn transfers(&self) -> &Transfers {
        &self.communication.transfers
    }
}

/// All metrics of one program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    /// Figure 6.2.
    pub transfer_sizes: Vec<TransferSizeRow>,
    /// Figure 6.3.
    pub degrees: Vec<DegreeRow>,
    /// Figure 6.4.
    pub bisection: Vec<BisectionRow>,
    /// Figure 6.5.
    pub strides: Vec<StrideRow>,
    /// Figure 6.6.
    pub density: Vec<DensityRow>,
    /// Figure 6.7.
    pub supersteps: Vec<SuperstepRow>,
    /// Figure 6.8.
    pub distances: Vec<DistanceRow>,
    /// Figure 6.9.
    pub connectivity: Vec<ConnectivityRow>,
    /// Kinds of exchange.
    pub patterns: Vec<PatternRow>,
    /// Several GPUs.
    pub scaling: Vec<ScalingRow>,
    /// Lines that communicate.
    pub lines: Vec<LineRow>,
    /// Arrays that communicate.
    pub arrays: Vec<ArrayRow>,
    /// What launches touch.
    pub footprints: Vec<FootprintRow>,
    /// When each launch ran; empty where the capture has no times.
    pub timeline: Vec<TimelineRow>,
    /// Loads of what nothing has written.
    pub uninitialised: Vec<UninitialisedRow>,
}

impl Metrics {
    /// From an analysis with transfers and strides.
    ///
    /// # Errors
    /// [`AnalysisError::Spill`] when the transfers are on disk and cannot be read.
    pub fn new(analysis: &Analysis, sites: &SiteTable, settings: &Settings) -> Result<Self> {
        let grids = analysis.grids();
        let metrics = Self::of(&Source::new(analysis, &grids, sites), settings)?;
        Ok(Self {
            timeline: analysis.timeline.clone(),
            ..metrics
        })
    }

    /// The density maps alone, with one of `window`, from an analysis with transfers.
    ///
    /// # Errors
    /// [`AnalysisError::Spill`] when the transfers are on disk and cannot be read.
    pub fn density_of(
        analysis: &Analysis,
        sites: &SiteTable,
        window: &CtaWindow,
    ) -> Result<Vec<DensityRow>> {
        let grids = analysis.grids();
        density::rows(&Source::new(analysis, &grids, sites), Some(window))
    }

    /// The reads of what nothing has written alone.
    #[must_use]
    pub fn uninitialised_of(analysis: &Analysis, sites: &SiteTable) -> Vec<UninitialisedRow> {
        uninitialised::rows(&Source::new(analysis, &[], sites))
    }

    /// From the engine's tables.
    ///
    /// # Errors
    /// [`AnalysisError::Spill`] when the transfers are on disk and cannot be read.
    pub fn of(source: &Source<'_>, settings: &Settings) -> Result<Self> {
        // Each passes over all transfers, which may be many and on disk.
        let ((degrees, patterns), (sizes, scaling)) = rayon::join(
            || {
                let degrees = || -> Result<_> {
                    let out = degree::out_degrees(source)?;
                    Ok((
                        degree::rows(source, &out)?,
                        connectivity::rows(source, &out),
                    ))
                };
                rayon::join(degrees, || pattern::rows(source))
            },
            || {
                let sizes = || -> Result<_> {
                    Ok((
                        transfer_size::rows(source)?,
                        bisection::rows(source)?,
                        density::rows(source, settings.density.as_ref())?,
                    ))
                };
                rayon::join(sizes, || scaling::rows(source, settings.link_gb_per_s))
            },
        );
        let (degrees, connectivity) = degrees?;
        let (transfer_sizes, bisection, density) = sizes?;
        Ok(Self {
            transfer_sizes,
            degrees,
            bisection,
            strides: stride::rows(source),
            density,
            supersteps: superstep::rows(source),
            distances: distance::rows(source),
            connectivity,
            patterns: patterns?,
            scaling: scaling?,
            lines: lines::rows(source),
            arrays: arrays::rows(source),
            footprints: footprint::rows(source),
            timeline: Vec::new(),
            uninitialised: uninitialised::rows(source),
        })
    }

    /// The tables, in the order of the figures.
    #[must_use]
    pub fn tables(&self) -> Vec<Table> {
        vec![
            table(&self.transfer_sizes),
            table(&self.degrees),
            table(&self.bisection),
            table(&self.strides),
            table(&self.density),
            table(&self.supersteps),
            table(&self.distances),
            table(&self.connectivity),
            table(&self.patterns),
            table(&self.scaling),
            table(&self.lines),
            table(&self.arrays),
            table(&self.footprints),
            table(&self.timeline),
            table(&self.uninitialised),
        ]
    }

    /// Whether the tables were written into `folder`.
    #[must_use]
    pub fn are_in(folder: &Path) -> bool {
        file::<ConnectivityRow>(folder).exists()
    }

    /// From the CSV files that [`crate::tables::write_tables`] left in `folder`; none where they were not written.
    ///
    /// # Errors
    /// [`AnalysisError::Csv`] when a table cannot be read or holds something else.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        if !Self::are_in(folder) {
            return Ok(None);
        }
        Ok(Some(Self {
            transfer_sizes: read(folder)?,
            degrees: read(folder)?,
            bisection: read(folder)?,
            strides: read(folder)?,
            density: read(folder)?,
            supersteps: read(folder)?,
            distances: read(folder)?,
            connectivity: read(folder)?,
            patterns: read_if_there(folder)?,
            scaling: read_if_there(folder)?,
            lines: read_if_there(folder)?,
            arrays: read_if_there(folder)?,
            footprints: read_if_there(folder)?,
            timeline: read_if_there(folder)?,
            uninitialised: read_if_there(folder)?,
        }))
    }
}

/// Rows as a table.
#[must_use]
pub fn table<R: Row>(rows: &[R]) -> Table {
    Table {
        name: R::TABLE,
        columns: R::COLUMNS.to_vec(),
        rows: rows.iter().map(values).collect(),
    }
}

/// A row's values in the order of its columns.
pub fn values<R: Row>(row: &R) -> Vec<serde_json::Value> {
    let mut fields = serde_json::to_value(row).unwrap_or_default();
    (R::COLUMNS.iter())
        .map(|column| {
            (fields.get_mut(column.name)).map_or(serde_json::Value::Null, serde_json::Value::take)
        })
        .collect()
}

fn file<R: Row>(folder: &Path) -> std::path::PathBuf {
    folder.join(format!("{}.csv", R::TABLE))
}

/// Runs of before the table was kept have none.
fn read_if_there<R: Row>(folder: &Path) -> Result<Vec<R>> {
    if file::<R>(folder).exists() {
        read(folder)
    } else {
        Ok(Vec::new())
    }
}

fn read<R: Row>(folder: &Path) -> Result<Vec<R>> {
    let path = file::<R>(folder);
    let failed = |source| AnalysisError::Csv {
        path: path.clone(),
        source,
    };
    let mut reader = csv::Reader::from_path(&path).map_err(failed)?;
    reader
        .deserialize()
        .collect::<Result<_, _>>()
        .map_err(failed)
}

/// `part` of `whole`, 0 where there is nothing.
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}
