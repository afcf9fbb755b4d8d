//! Panels and their vertical axes: powers of ten, and shares from 0 to 100 %.

use super::canvas::{Canvas, TextLook};
use super::numbers::bytes;
use super::palette;
use crate::error::Result;
use plotters::backend::DrawingBackend;
use plotters::style::text_anchor::{HPos, VPos};

/// A rectangle that data are drawn in, in units of the drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Panel {
    /// Left edge: where the axis stands.
    pub left: f64,
    pub right: f64,
    pub top: f64,
    /// Bottom edge: the base line.
    pub bottom: f64,
}

impl Panel {
    /// Height at which a share from 0 to 1 is drawn.
    pub fn share(&self, share: f64) -> f64 {
        self.bottom - share.clamp(0.0, 1.0) * (self.bottom - self.top)
    }

    /// Draws grid lines and labels for shares, and `label` beside them.
    pub fn draw_shares<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        label: &str,
    ) -> Result<()> {
        for quarter in 0..=4 {
            let share = f64::from(quarter) / 4.0;
            let text = format!("{:.0} %", share * 100.0);
            self.draw_tick(canvas, self.share(share), &text)?;
        }
        self.draw_label(canvas, label)
    }

    /// Draws the base line; last, so that it lies over the bars.
    pub fn draw_base<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Result<()> {
        let base = [(self.left, self.bottom), (self.right, self.bottom)];
        canvas.line(&base, 1.0, palette::BLACK)
    }

    fn draw_tick<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        y: f64,
        label: &str,
    ) -> Result<()> {
        canvas.line(&[(self.left, y), (self.right, y)], 1.0, palette::LIGHT_GREY)?;
        let look = TextLook::new(12.0, palette::BLACK).at(HPos::Right, VPos::Center);
        canvas.text(label, (self.left - 7.0, y), look)
    }

    fn draw_label<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>, label: &str) -> Result<()> {
        let look = TextLook {
            upright: true,
            ..TextLook::new(12.0, palette::GREY)
        };
        let middle = (self.top + self.bottom) / 2.0;
        canvas.text(label, (self.left - 72.0, middle), look)
    }
}

/// A logarithmic axis of bytes over a panel's height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogAxis {
    /// Power of ten at the bottom.
    low: i32,
    /// Power of ten at the top.
    high: i32,
}

impl LogAxis {
    /// An axis on which every value above zero is seen as a bar.
    pub fn over(values: impl Iterator<Item = u64>) -> Self {
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

    /// Height at which a value is drawn; zero lies on the base line.
    pub fn position(&self, panel: &Panel, value: f64) -> f64 {
        let exponent = value.max(1.0).log10().max(f64::from(self.low));
        let share = (exponent - f64::from(self.low)) / f64::from(self.high - self.low);
        panel.share(share)
    }

    /// Draws grid lines and labels, and `label` beside them.
    pub fn draw<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        panel: &Panel,
        label: &str,
    ) -> Result<()> {
        let every = (self.high - self.low) / 8 + 1;
        for exponent in (self.low..=self.high).filter(|e| (e - self.low) % every == 0) {
            let value = 10f64.powi(exponent);
            panel.draw_tick(canvas, self.position(panel, value), &bytes(value))?;
        }
        panel.draw_label(canvas, label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_holds_every_value() {
        let panel = Panel {
            left: 0.0,
            right: 10.0,
            top: 0.0,
            bottom: 100.0,
        };
        let axis = LogAxis::over([0, 250, 1_000_000].into_iter());
        assert_eq!((axis.low, axis.high), (1, 6));
        assert_eq!(axis.position(&panel, 1_000_000.0), 0.0);
        assert!(axis.position(&panel, 250.0) < 100.0);
        assert_eq!(axis.position(&panel, 0.0), 100.0);
        let empty = LogAxis::over(std::iter::empty());
        assert_eq!((empty.low, empty.high), (0, 1));
        assert_eq!(LogAxis::over([u64::MAX].into_iter()).high, 20);
    }
}
