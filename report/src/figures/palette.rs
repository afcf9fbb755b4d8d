//! Colours that colour-blind readers can distinguish, and that also differ in lightness.
//!
//! Okabe and Ito, "Color Universal Design", 2008.

use plotters::style::RGBColor;

pub const BLACK: RGBColor = RGBColor(0, 0, 0);
pub const ORANGE: RGBColor = RGBColor(230, 159, 0);
pub const SKY_BLUE: RGBColor = RGBColor(86, 180, 233);
pub const GREEN: RGBColor = RGBColor(0, 158, 115);
pub const YELLOW: RGBColor = RGBColor(240, 228, 66);
pub const BLUE: RGBColor = RGBColor(0, 114, 178);
pub const VERMILLION: RGBColor = RGBColor(213, 94, 0);
pub const PURPLE: RGBColor = RGBColor(204, 121, 167);

/// Reddish purple at half strength, for values shown next to exact ones.
pub const LIGHT_PURPLE: RGBColor = RGBColor(229, 188, 211);

pub const GREY: RGBColor = RGBColor(85, 85, 85);
pub const LIGHT_GREY: RGBColor = RGBColor(221, 221, 221);

/// Returns the shade of `count` on a logarithmic scale, from almost white for 0 to dark blue for `max`.
pub fn shade(count: u64, max: u64) -> RGBColor {
    let depth = (count as f64 + 1.0).ln() / (max as f64 + 1.0).ln();
    // Limit the number of colours so that they fit into a palette.
    let depth = (64.0 * depth.clamp(0.0, 1.0)).round() / 64.0;
    let mix = |from: f64, to: f64| (from + (to - from) * depth) as u8;
    RGBColor(mix(226.0, 0.0), mix(238.0, 54.0), mix(248.0, 110.0))
}
