//! Options of what tables and figures show.

use clap::Args;
use superstep_analysis::metrics::{CtaWindow, Settings};

use super::value;

/// Choices about the metrics; each has a default.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Tables and figures")]
pub struct MetricArgs {
    /// Draw an additional density map of these CTAs (numbered by x, then y, then z): FIRST-LAST or SOURCES:RECEIVERS, for example
    /// 100-299 or 4000-4199:0-63. Above 200 CTAs in a direction, several share a cell.
    #[arg(long, value_name = "RANGE", value_parser = CtaWindow::parse)]
    pub density_ctas: Option<CtaWindow>,
    /// Bandwidth of a GPU's link in one direction, in GB/s (10^9 bytes), for the model of several GPUs [default: 450, NVLink 4].
    #[arg(long, value_name = "GB/S", value_parser = value::bandwidth)]
    pub link_bandwidth: Option<f64>,
}

impl MetricArgs {
    pub fn settings(&self) -> Settings {
        let default = Settings::default();
        Settings {
            density: self.density_ctas.clone(),
            link_gb_per_s: self.link_bandwidth.unwrap_or(default.link_gb_per_s),
        }
    }
}
