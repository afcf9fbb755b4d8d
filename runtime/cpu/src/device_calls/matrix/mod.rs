//! Warp-level matrix operations (tensor cores), executed for all lanes at once.

mod layout;
mod product;
#[cfg(test)]
mod tests;

use layout::Layout;
use superstep_abi::cpu::WARP_LANES;
use superstep_trace::matrix::{Element, MatrixOperation, Part, REGISTERS, Rows, Tile};

#[repr(C)]
pub struct Lane {
    /// Operands and result.
    pub registers: *mut [u32; REGISTERS],
    pub address: u64,
    /// Distance between lines of a matrix in memory, in elements.
    pub stride: u64,
}

type Lanes<'a> = [&'a Lane; WARP_LANES as usize];

impl Lane {
    fn get(&self, register: usize) -> u32 {
        // SAFETY: a lane's registers belong to it and stay alive while it waits; an index beyond `REGISTERS` panics.
        unsafe { (&*self.registers)[register] }
    }

    fn set(&self, register: usize, value: u32) {
        // SAFETY: the registers are the lane's own memory for this call, and no other reference into them exists.
        unsafe { (&mut *self.registers)[register] = value }
    }

    /// Returns a 32-bit register, or a pair of registers as a 64-bit value.
    fn unit(&self, first: usize, unit: usize, is_wide: bool) -> u64 {
        if !is_wide {
            return u64::from(self.get(first + unit));
        }
        let low = first + 2 * unit;
        u64::from(self.get(low)) | u64::from(self.get(low + 1)) << 32
    }

    fn set_unit(&self, unit: usize, value: u64, is_wide: bool) {
        if is_wide {
            self.set(2 * unit, value as u32);
            self.set(2 * unit + 1, (value >> 32) as u32);
        } else {
            self.set(unit, value as u32);
        }
    }
}

/// Runs the operation `code`. A bad access abandons the kernel's stack, so nothing on it may have a destructor.
pub fn run(code: u64, lanes: &Lanes) {
    match MatrixOperation::from_code(code) {
        Some(MatrixOperation::Load(tile)) => load(tile, lanes),
        Some(MatrixOperation::Store(tile)) => store(tile, lanes),
        Some(MatrixOperation::Multiply(product)) => product::multiply(product, lanes),
        Some(MatrixOperation::LoadRows(rows)) => load_rows(rows, lanes),
        Some(MatrixOperation::StoreRows(rows)) => store_rows(rows, lanes),
        None => crate::runtime::unsupported(format_args!(
            "matrix operation {code:#x} is not supported by the CPU backend"
        )),
    }
}

/// Alignment of a row's address.
pub const ROW_BYTES: u64 = 16;

/// Returns the first lane that passes a row address that is not a multiple of [`ROW_BYTES`].
pub fn misaligned_row(code: u64, lanes: &Lanes) -> Option<usize> {
    let rows = match MatrixOperation::from_code(code)? {
        MatrixOperation::LoadRows(rows) | MatrixOperation::StoreRows(rows) => rows,
        _ => return None,
    };
    let mut row_lanes = lanes.iter().take(8 * rows.matrices as usize);
    row_lanes.position(|lane| !lane.address.is_multiple_of(ROW_BYTES))
}

/// Returns the address of the first element in a lane's register, and the distance to the next one.
fn place(tile: Tile, layout: &Layout, lane: &Lane, (row, column): (u32, u32)) -> (u64, u64) {
    let (line, inside) = if tile.by_columns {
        (column, row)
    } else {
        (row, column)
    };
    let number_bytes = u64::from(layout.bits / 8);
    let line_bytes = lane.stride * u64::from(tile.element.bits()) / 8;
    let first = lane.address + u64::from(line) * line_bytes + u64::from(inside) * number_bytes;
    let in_line = layout.follow_in_row() != tile.by_columns;
    (first, if in_line { number_bytes } else { line_bytes })
}

fn load(tile: Tile, lanes: &Lanes) {
    let layout = Layout::of(tile.shape, tile.part, tile.element);
    for (number, lane) in (0..).zip(lanes) {
        for unit in 0..layout.units {
            let (first, step) = place(tile, &layout, lane, layout.position(number, unit));
            let mut value = 0;
            for index in 0..layout.numbers {
                let address = first + u64::from(index) * step;
                // SAFETY: the program reads this address; if it is unmapped, a signal ends the kernel.
                value |= unsafe { read(address, layout.bits) } << (index * layout.bits);
            }
            lane.set_unit(unit as usize, value, layout.bits == 64);
        }
        // The fragment holds each element twice.
        if tile.element == Element::F16 && tile.part != Part::C {
            for register in layout.units as usize..8 {
                lane.set(register, lane.get(register % layout.units as usize));
            }
        }
    }
}

fn store(tile: Tile, lanes: &Lanes) {
    let layout = Layout::of(tile.shape, tile.part, tile.element);
    for (number, lane) in (0..).zip(lanes) {
        for unit in 0..layout.units {
            let (first, step) = place(tile, &layout, lane, layout.position(number, unit));
            let value = lane.unit(0, unit as usize, layout.bits == 64);
            for index in 0..layout.numbers {
                let address = first + u64::from(index) * step;
                // SAFETY: the program writes this address; if it is unmapped, a signal ends the kernel.
                unsafe { write(address, layout.bits, value >> (index * layout.bits)) };
            }
        }
    }
}

/// # Safety
///
/// `address` must be readable, or a signal raised here must be the kernel's fault.
unsafe fn read(address: u64, bits: u32) -> u64 {
    // SAFETY: the caller guarantees that these bytes are accessible, or that a signal is the kernel's fault.
    unsafe {
        match bits {
            8 => u64::from((address as *const u8).read()),
            16 => u64::from((address as *const u16).read_unaligned()),
            32 => u64::from((address as *const u32).read_unaligned()),
            _ => (address as *const u64).read_unaligned(),
        }
    }
}

/// # Safety
///
/// `address` must be writable, or a signal raised here must be the kernel's fault.
unsafe fn write(address: u64, bits: u32, value: u64) {
    // SAFETY: the caller guarantees that these bytes are accessible, or that a signal is the kernel's fault.
    unsafe {
        match bits {
            8 => (address as *mut u8).write(value as u8),
            16 => (address as *mut u16).write_unaligned(value as u16),
            32 => (address as *mut u32).write_unaligned(value as u32),
            _ => (address as *mut u64).write_unaligned(value),
        }
    }
}

/// Returns the addresses of the two matrix elements in `lane`'s register, which are neighbours in a row or column.
fn halves(rows: Rows, lanes: &Lanes, matrix: u32, lane: u32) -> [u64; 2] {
    [0, 1].map(|half| {
        let (major, minor) = (lane / 4, lane % 4 * 2 + half);
        let (row, column) = if rows.transposed {
            (minor, major)
        } else {
            (major, minor)
        };
        lanes[(matrix * 8 + row) as usize].address + u64::from(2 * column)
    })
}

fn load_rows(rows: Rows, lanes: &Lanes) {
    for (number, lane) in (0..).zip(lanes) {
        for matrix in 0..rows.matrices {
            let [low, high] = halves(rows, lanes, matrix, number);
            // SAFETY: the program reads this address; if it is unmapped, a signal ends the kernel.
            let value = unsafe { read(low, 16) | read(high, 16) << 16 };
            lane.set(matrix as usize, value as u32);
        }
    }
}

fn store_rows(rows: Rows, lanes: &Lanes) {
    for (number, lane) in (0..).zip(lanes) {
        for matrix in 0..rows.matrices {
            let value = u64::from(lane.get(matrix as usize));
            let [low, high] = halves(rows, lanes, matrix, number);
            // SAFETY: the program writes this address; if it is unmapped, a signal ends the kernel.
            unsafe {
                write(low, 16, value);
                write(high, 16, value >> 16);
            }
        }
    }
}
