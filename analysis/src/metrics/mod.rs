//! Metrics: pure functions of the engine's results, each in a separate file that also declares its table.

pub mod arrays;
pub mod bounds;
pub mod counts_by_line;
pub mod footprint;
pub mod line_flows;
pub mod lines;
pub mod opaque;
pub mod pattern;
pub mod scaling;
mod settings;
#[cfg(test)]
mod tests;
mod thesis;
pub mod timeline;
pub mod uninitialised;
#[cfg(test)]
mod window_tests;
pub mod within_launch;

pub use settings::{CtaWindow, Settings, WindowError};
pub use thesis::{
    bisection, connectivity, degree, density, distance, stride, superstep, transfer_size,
};

use crate::analyse::Analysis;
use crate::communication::Communication;
use crate::error::Result;
use crate::parallel::mapped;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use superstep_table::{Format, Row, Table, file, read_csv};
use superstep_trace::{AllocationId, CtaBlocks, SiteId, SiteTable};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocationInfo {
    /// Name of the variable if known, else the allocation's number and size.
    pub name: String,
    /// File and line of the host's allocation call, if known.
    pub place: String,
    pub bytes: u64,
}

/// Input to the metrics: the transfers, and the grid and kernel of each launch.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub communication: &'a Communication,
    /// Number of CTAs in x, y and z for each launch; blocks of CTAs form a single row.
    pub grids: &'a [[u32; 3]],
    /// Granularity of transfer endpoints: CTAs or blocks of CTAs.
    pub cta_blocks: CtaBlocks,
    /// Demangled kernel names, and the source lines of instructions.
    pub sites: &'a SiteTable,
    /// Allocations by number.
    pub allocations: &'a [AllocationInfo],
    pub copies: &'a [UnwrittenCopy],
}

/// Copies of entirely unwritten device memory from one allocation to the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnwrittenCopy {
    pub allocation: AllocationId,
    pub copies: u64,
    pub bytes: u64,
    pub copied_bytes: u64,
    /// Number of launches before the first copy.
    pub launches_before: u32,
}

impl<'a> Source<'a> {
    pub fn new(analysis: &'a Analysis, grids: &'a [[u32; 3]], sites: &'a SiteTable) -> Self {
        Self {
            communication: &analysis.communication,
            grids,
            cta_blocks: analysis.cta_blocks(),
            sites,
            allocations: &analysis.allocations,
            copies: &analysis.unwritten_copies,
        }
    }

    /// Returns the coordinates of a CTA in its grid, or of its block among the blocks.
    pub fn coordinates(&self, launch: u32, cta: u32) -> [u32; 3] {
        let cta = self.cta_blocks.number(cta);
        let [x, y, _] = self.grid(launch).map(|extent| extent.max(1));
        [cta % x, cta / x % y, cta / x / y]
    }

    pub fn grid(&self, launch: u32) -> [u32; 3] {
        self.grids.get(launch as usize).copied().unwrap_or([1; 3])
    }

    fn allocation(&self, id: Option<AllocationId>) -> Option<&'a AllocationInfo> {
        id.and_then(|id| self.allocations.get(id.0 as usize))
    }

    /// Returns the name of an array and the place of its allocation; empty if they are unknown.
    fn array(&self, id: Option<AllocationId>) -> (&'a str, &'a str) {
        let info = self.allocation(id);
        info.map_or(("", ""), |info| (info.name.as_str(), info.place.as_str()))
    }

    /// Returns the file and line of an instruction, or an empty string and 0 if they are unknown.
    fn line(&self, site: SiteId) -> (&'a str, u32) {
        let site = self.sites.get(site);
        site.map_or(("", 0), |site| (site.file.as_str(), site.line))
    }

    /// Returns the demangled name of kernel number `kernel`.
    fn kernel_name(&self, kernel: u32) -> &'a str {
        let kernel = self.communication.kernels.get(kernel as usize);
        kernel.map_or("", |kernel| self.sites.display_name(&kernel.kernel))
    }

    /// Returns the stream of a launch, its index within that stream, and its kernel's demangled name.
    fn launch(&self, position: u32) -> (u32, u32, &'a str) {
        let launch = self.communication.launches.get(position as usize);
        launch.map_or((0, 0, ""), |it| {
            (
                it.stream.0,
                it.superstep.0,
                self.sites.display_name(&it.kernel),
            )
        })
    }

    /// Returns each launch's kernel, numbered in order of first launch.
    pub fn kernels(&self) -> Vec<u32> {
        let kernels = &self.communication.kernels;
        let number = |name: &str| kernels.iter().position(|kernel| kernel.kernel == name);
        (self.communication.launches.iter())
            .map(|launch| number(&launch.kernel).unwrap_or(kernels.len()) as u32)
            .collect()
    }
}

/// Declares the tables, each as a field of [`Metrics`] and the type of its rows.
macro_rules! metrics {
    ($($(#[doc = $what:literal])* $table:ident: $row:ty,)*) => {
        /// All metrics of one program.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Metrics {
            /// Unit that the tables call a CTA: a single CTA or a block of CTAs; not stored in the files.
            pub cta_blocks: CtaBlocks,
            $($(#[doc = $what])* pub $table: Vec<$row>,)*
        }

        impl Metrics {
            pub fn tables(&self) -> Vec<Table> {
                let tables: &[&(dyn Fn() -> Table + Sync)] = &[$(&|| Table::of(&self.$table)),*];
                let tables = mapped(tables.len(), |table| tables[table]());
                if self.cta_blocks.is_single_cta() {
                    return tables;
                }
                let unit = self.cta_blocks.to_string();
                // Replication is still counted in CTAs.
                let has_block_unit = |column: &str| column != "replication";
                tables.iter().map(|table| table.in_unit("CTAs", &unit, has_block_unit)).collect()
            }

            /// Reads the CSV files that [`crate::tables::write`] wrote to `folder`; returns `None` if there are none. A
            /// table without a file is empty.
            pub fn read(folder: &Path) -> Result<Option<Self>> {
                if !csv_file::<connectivity::ConnectivityRow>(folder).exists() {
                    return Ok(None);
                }
                Ok(Some(Self {
                    cta_blocks: CtaBlocks::default(),
                    $($table: read(folder)?,)*
                }))
            }
        }
    };
}

metrics! {
    transfer_sizes: transfer_size::TransferSizeRow,
    degrees: degree::DegreeRow,
    bisection: bisection::BisectionRow,
    strides: stride::StrideRow,
    density: density::DensityRow,
    supersteps: superstep::SuperstepRow,
    distances: distance::DistanceRow,
    connectivity: connectivity::ConnectivityRow,
    patterns: pattern::PatternRow,
    scaling: scaling::ScalingRow,
    /// Empty for in-situ runs.
    counts_by_line: counts_by_line::LineCounts,
    lines: lines::LineRow,
    /// Empty for in-situ runs.
    line_flows: line_flows::LineFlowRow,
    arrays: arrays::ArrayRow,
    footprints: footprint::FootprintRow,
    /// Empty if the capture has no times.
    timeline: timeline::TimelineRow,
    within_launch: within_launch::WithinLaunchRow,
    uninitialised: uninitialised::UninitialisedRow,
    opaque: opaque::OpaqueRow,
    /// Empty if all numbers are exact, as for a trace.
    bounds: bounds::BoundRow,
}

impl Metrics {
    pub fn new(analysis: &Analysis, sites: &SiteTable, settings: &Settings) -> Result<Self> {
        let grids = analysis.grids();
        let metrics = Self::of(&Source::new(analysis, &grids, sites), settings)?;
        Ok(Self {
            timeline: analysis.timeline.clone(),
            opaque: analysis.opaque.clone(),
            bounds: bounds::rows(analysis, sites),
            ..metrics
        })
    }

    pub fn of(source: &Source<'_>, settings: &Settings) -> Result<Self> {
        // Each of these reads all transfers, which may be numerous and on disk.
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
            cta_blocks: source.cta_blocks,
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
            counts_by_line: counts_by_line::rows(source),
            lines: lines::rows(source),
            line_flows: line_flows::rows(source),
            arrays: arrays::rows(source),
            footprints: footprint::rows(source),
            within_launch: within_launch::rows(source),
            uninitialised: uninitialised::rows(source),
            ..Self::default()
        })
    }
}

fn csv_file<R: Row>(folder: &Path) -> PathBuf {
    file(folder, R::TABLE, Format::Csv)
}

fn read<R: Row + DeserializeOwned>(folder: &Path) -> Result<Vec<R>> {
    let path = csv_file::<R>(folder);
    match path.exists() {
        true => Ok(read_csv(&path)?),
        false => Ok(Vec::new()),
    }
}

fn ctas_of(grid: &[u32; 3]) -> u64 {
    grid.iter().map(|&extent| u64::from(extent)).product()
}

/// Returns `part / whole`, or 0 if `whole` is 0.
pub fn share(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        whole => part as f64 / whole as f64,
    }
}
