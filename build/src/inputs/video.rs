//! A video in shades of gray: AVI, a byte a pixel, not compressed, with an index.
//!
//! Bright discs with soft edges, as cells look under a microscope, drift over a noisy ground. All arithmetic is integer.

use std::io;

use super::generate::{Counted, Random};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Video {
    pub width: u64,
    pub height: u64,
    pub frames: u64,
    pub cells: u64,
    /// Shades of gray that the ground's noise spans; 0 for a ground of one shade.
    pub noise: u64,
}

impl Video {
    /// From the generator's parameters, in their order.
    pub fn of(parameters: &[u64]) -> Self {
        Self {
            width: parameters[0],
            height: parameters[1],
            frames: parameters[2],
            cells: parameters[3],
            noise: parameters[4],
        }
    }

    /// Whether each of its numbers is in its range. A frame has to have an even number of pixels: an odd chunk would be padded.
    pub fn is_in_range(self) -> bool {
        (64..=4096).contains(&self.width)
            && (64..=4096).contains(&self.height)
            && (1..=1000).contains(&self.frames)
            && self.cells <= 256
            && self.noise <= 64
            && (self.width * self.height).is_multiple_of(2)
            && self.width * self.height * self.frames < 1 << 31
    }
}

/// Pixels in each direction until the noise repeats.
const PERIOD: u32 = 64;
/// Shades of gray: the ground without noise, and the discs above the ground.
const GROUND: u32 = 70;
const BRIGHTNESS: u32 = 110;
/// Smallest radius of a disc, the number of different ones, and the width of its edge, in pixels.
const RADIUS: u32 = 9;
const RADII: u32 = 4;
const EDGE: u32 = 4;
/// Header of the list of headers, main header, stream header and format, and their chunks' headers.
const HEADERS_BYTES: u32 = 4 + (8 + 56) + (12 + (8 + 56) + (8 + 40));
const HAS_INDEX: u32 = 0x10;
const IS_KEY_FRAME: u32 = 0x10;
const MICROSECONDS_PER_FRAME: u32 = 40_000;

struct Cell {
    x: u32,
    y: u32,
    radius: u32,
}

pub(super) fn cells(video: Video, random: &mut Random, output: &mut Counted<'_>) -> io::Result<()> {
    let too_large = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let width = u32::try_from(video.width).map_err(too_large)?;
    let height = u32::try_from(video.height).map_err(too_large)?;
    let frames = u32::try_from(video.frames).map_err(too_large)?;
    let frame_bytes = width * height;
    let movi_bytes = u64::from(frames) * u64::from(8 + frame_bytes) + 4;
    let riff_bytes =
        4 + (8 + u64::from(HEADERS_BYTES)) + (8 + movi_bytes) + (8 + 16 * u64::from(frames));
    let (movi_bytes, riff_bytes) = (
        u32::try_from(movi_bytes).map_err(too_large)?,
        u32::try_from(riff_bytes).map_err(too_large)?,
    );

    output.text("RIFF")?;
    output.words(&[riff_bytes])?;
    output.text("AVI LIST")?;
    output.words(&[HEADERS_BYTES])?;
    output.text("hdrlavih")?;
    let rate = 1_000_000 / MICROSECONDS_PER_FRAME;
    let bytes_per_second = frame_bytes.saturating_mul(rate);
    output.words(&[56, MICROSECONDS_PER_FRAME, bytes_per_second, 0, HAS_INDEX])?;
    output.words(&[frames, 0, 1, frame_bytes, width, height, 0, 0, 0, 0])?;
    output.text("LIST")?;
    output.words(&[4 + (8 + 56) + (8 + 40)])?;
    output.text("strlstrh")?;
    output.words(&[56])?;
    output.text("vidsDIB ")?;
    output.words(&[0, 0, 0, 1, rate, 0, frames, frame_bytes, u32::MAX, 0, 0])?;
    output.words(&[width | height << 16])?;
    output.text("strf")?;
    // One plane of 8 bits, not compressed.
    output.words(&[
        40,
        40,
        width,
        height,
        1 | 8 << 16,
        0,
        frame_bytes,
        0,
        0,
        0,
        0,
    ])?;
    output.text("LIST")?;
    output.words(&[movi_bytes])?;
    output.text("movi")?;

    let span = u32::try_from(video.noise).map_err(too_large)?;
    let noise: Vec<u32> = (0..PERIOD * PERIOD)
        .map(|_| random.below(span + 1))
        .collect();
    let cells = place_cells(video.cells, width, height, random);
    let mut frame = vec![0; frame_bytes as usize];
    for number in 0..frames {
        draw(&mut frame, width, number, &noise, &cells);
        output.text("00db")?;
        output.words(&[frame_bytes])?;
        output.bytes(&frame)?;
    }
    output.text("idx1")?;
    output.words(&[16 * frames])?;
    for number in 0..frames {
        output.text("00db")?;
        // Counted from the word `movi`.
        output.words(&[IS_KEY_FRAME, 4 + number * (8 + frame_bytes), frame_bytes])?;
    }
    Ok(())
}

/// Cells in the middle of the picture, apart from each other as long as there is room.
fn place_cells(count: u64, width: u32, height: u32, random: &mut Random) -> Vec<Cell> {
    let apart = 5 * (RADIUS + RADII);
    let mut cells: Vec<Cell> = Vec::new();
    for _ in 0..count {
        for attempt in 0..100 {
            let cell = Cell {
                x: width / 8 + random.below(width * 3 / 4),
                y: height * 2 / 5 + random.below(height / 4),
                radius: RADIUS + random.below(RADII),
            };
            let is_free = cells
                .iter()
                .all(|other| distance_squared(cell.x, cell.y, other.x, other.y) >= apart * apart);
            if is_free || attempt == 99 {
                cells.push(cell);
                break;
            }
        }
    }
    cells
}

fn distance_squared(x: u32, y: u32, other_x: u32, other_y: u32) -> u32 {
    let (dx, dy) = (x.abs_diff(other_x), y.abs_diff(other_y));
    dx * dx + dy * dy
}

/// Draws a frame: the ground drifts by a pixel in two frames, each cell by a pixel a frame.
fn draw(frame: &mut [u8], width: u32, number: u32, noise: &[u32], cells: &[Cell]) {
    for (row, y) in frame.chunks_exact_mut(width as usize).zip(0..) {
        for (pixel, x) in row.iter_mut().zip(0..) {
            let place = y % PERIOD * PERIOD + (x + number / 2) % PERIOD;
            *pixel = (GROUND + noise[place as usize]) as u8;
        }
    }
    let height = frame.len() as u32 / width;
    for cell in cells {
        let (x, y) = ((cell.x + number) % width, cell.y);
        let reach = cell.radius + EDGE;
        for row in y.saturating_sub(reach)..(y + reach + 1).min(height) {
            for column in x.saturating_sub(reach)..(x + reach + 1).min(width) {
                // Distance in sixteenths of a pixel, for a smooth edge.
                let distance = (distance_squared(column, row, x, y) * 256).isqrt();
                let beyond = distance.saturating_sub(cell.radius * 16).min(EDGE * 16);
                let light = BRIGHTNESS * (EDGE * 16 - beyond) / (EDGE * 16);
                let pixel = &mut frame[(row * width + column) as usize];
                *pixel = pixel.saturating_add(light as u8);
            }
        }
    }
}
