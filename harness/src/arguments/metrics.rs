//! Options of what tables and figures show.

use clap::Args;
use superstep_analysis::metrics::{CtaWindow, Settings};

/// Choices about the metrics; each has a default.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Tables and figures")]
pub struct MetricArgs {
    /// Draw an additional density map of these CTAs (numbered by x, then y, then z): FIRST-LAST or SOURCES:RECEIVERS, for example
    /// 100-299 or 4000-4199:0-63. Above 200 CTAs in a direction, several share a cell.
    #[arg(long, value_name = "RANGE", value_parser = CtaWindow::parse)]
    pub density_ctas: Option<CtaWindow>,
    /// Bandwidth of a GPU's link in one direction, in GB/s (10^9 bytes), for the model of several GPUs [default: 450, NVLink 4].
    #[arg(long, value_name = "GB/S", value_parser = bandwidth)]
    pub link_bandwidth: Option<f64>,
}

fn bandwidth(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err(format!(
            "`{text}` is not a bandwidth; expected a number of GB/s above 0, as in 64 or 25.6"
        )),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bandwidth_is_a_number_above_zero() {
        assert_eq!(bandwidth("25.6"), Ok(25.6));
        for text in ["0", "-1", "inf", "nan", "fast", ""] {
            assert!(bandwidth(text).is_err(), "{text}");
        }
    }
}
