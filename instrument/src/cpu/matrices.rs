//! Matrix operations: all lanes of a warp call the runtime, each with its registers in memory.

use super::alignment;
use crate::ir::{Builder, Call, Module, Type, Value, traits::*};
use crate::matrix::registers;
use superstep_trace::matrix::{Element, MatrixOperation, Part, Product, REGISTERS, Tile};

pub struct Registers<'m> {
    module: &'m Module,
    call: Call<'m>,
    memory: Value<'m>,
}

impl<'m> Registers<'m> {
    /// Allocates the registers for the operation in `call`, an intrinsic or inline assembly.
    pub fn of(module: &'m Module, call: Call<'m>) -> Self {
        let ty = Type::int(32).array(REGISTERS);
        let memory = Builder::at_entry(call.parent_function()).alloca(ty).value();
        Registers {
            module,
            call,
            memory,
        }
    }

    pub fn put(&self, builder: &Builder<'m>, first: usize, values: &[Value<'m>]) {
        let mut offset_bytes = 4 * first as u64;
        for value in values {
            let address = builder.offset(self.memory, offset_bytes);
            builder.store(*value, address);
            offset_bytes += self.module.store_size_bytes(value.ty());
        }
    }

    pub fn get(&self, builder: &Builder<'m>, types: &[Type]) -> Vec<Value<'m>> {
        let mut offset_bytes = 0;
        let load = |ty: &Type| {
            let address = builder.offset(self.memory, offset_bytes);
            offset_bytes += self.module.store_size_bytes(*ty);
            builder.load(*ty, address)
        };
        types.iter().map(load).collect()
    }

    /// Calls the runtime to execute the operation. Without a stride, lines are contiguous.
    pub fn run(
        &self,
        builder: &Builder<'m>,
        operation: MatrixOperation,
        address: Option<Value<'m>>,
        stride: Option<Value<'m>>,
    ) {
        let (pointer, long) = (Type::pointer(0), Type::int(64));
        let address = address.map_or(pointer.null(), |address| builder.to_generic(address));
        if let MatrixOperation::Load(tile) | MatrixOperation::Store(tile) = operation {
            let (bytes, location) = (alignment_bytes(tile), self.call.location());
            if bytes > 1 {
                alignment::add(self.module, builder, &location, address, bytes);
            }
        }
        let stride = match (stride, operation) {
            (Some(stride), _) => builder.resize(stride, 64, false),
            (None, MatrixOperation::Load(tile) | MatrixOperation::Store(tile)) => {
                long.constant(u64::from(tile.line()))
            }
            (None, _) => long.constant(0),
        };
        let code = long.constant(operation.code());
        let arguments = [code, self.memory, address, stride];
        let name = "__superstep_matrix";
        let new_call = builder.call_named(self.module, name, Type::void(), &arguments);
        new_call.add_sites(&self.call.sites());
    }
}

/// Returns the alignment below which an H200 reports `cudaErrorMisalignedAddress`. PTX requires a larger alignment, and
/// strides that are multiples of 16 bytes, but the hardware checks neither.
fn alignment_bytes(tile: Tile) -> u64 {
    let is_square = tile.shape.m == tile.shape.n;
    match (tile.element, tile.part, tile.by_columns) {
        (Element::F64, Part::C, false) => 16,
        (Element::F64, ..) => 8,
        (Element::F32 | Element::S32, Part::C, false) if is_square => 8,
        // A lane loads single bytes from lines that do not run along k.
        (Element::S8 | Element::U8, Part::A, true)
        | (Element::S8 | Element::U8, Part::B, false) => 1,
        _ => 4,
    }
}

pub fn factors(opcode: &str, product: Product) -> [(Part, usize); 3] {
    let Product { shape, a, b, c, .. } = product;
    let parts = [(Part::A, a), (Part::B, b), (Part::C, c)];
    parts.map(|(part, element)| (part, registers(opcode, shape, part, element)))
}

pub fn lower<'m>(module: &'m Module, call: Call<'m>, operation: MatrixOperation) {
    let builder = Builder::before(call);
    let lane = Registers::of(module, call);
    let mut arguments = call.arguments();
    if let MatrixOperation::Multiply(product) = operation {
        for (part, count) in factors("wmma", product) {
            let values: Vec<Value> = arguments.drain(..count.min(arguments.len())).collect();
            lane.put(&builder, part.first_register(), &values);
        }
        lane.run(&builder, operation, None, None);
    } else {
        let has_stride = call.function_name().contains(".stride.");
        let stride = if has_stride { arguments.pop() } else { None };
        lane.put(&builder, 0, &arguments[1..]);
        lane.run(&builder, operation, Some(arguments[0]), stride);
    }
    let ty = call.ty();
    if ty.is_struct_type() {
        let members = lane.get(&builder, &ty.members());
        call.replace_uses_with(builder.structure(ty, members));
    } else if !ty.is_void_type() {
        call.replace_uses_with(lane.get(&builder, &[ty])[0]);
    }
    call.erase();
}
