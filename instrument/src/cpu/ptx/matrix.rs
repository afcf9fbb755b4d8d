//! Matrix operations of a warp.

use super::Code;
use super::memory::{pointer, registers};
use crate::cpu::matrices::{Registers, factors};
use crate::ir::{Type, Value, traits::*};
use crate::matrix;
use crate::ptx::{Class, Kind, Operand};
use anyhow::Result;
use superstep_trace::matrix::{Element, MatrixOperation, Part, Tile};

pub fn build(code: &mut Code) -> Result<()> {
    let instruction = code.instruction;
    let opcode = instruction.opcode.as_str();
    let words = instruction.modifiers.iter().map(String::as_str);
    let Some(operation) = matrix::read(opcode, words) else {
        return code.unknown();
    };
    let lane = Registers::of(code.module, code.call);
    let count = |tile: Tile| matrix::registers(opcode, tile.shape, tile.part, tile.element);
    let is_shared = code.has("shared");
    match (operation, &instruction.operands[..]) {
        (MatrixOperation::Multiply(product), [to, inputs @ ..]) if inputs.len() == 3 => {
            let elements = [product.a, product.b, product.c];
            let parts = factors(opcode, product).into_iter().zip(elements);
            for (((part, count), element), input) in parts.zip(inputs) {
                put(code, &lane, part.first_register(), (input, count, element))?;
            }
            lane.run(&code.builder, operation, None, None);
            let count = matrix::registers(opcode, product.shape, Part::C, product.d);
            get(code, &lane, (to, count, product.d))
        }
        (MatrixOperation::Load(tile), [to, address, stride @ ..]) => {
            let address = pointer(code, address, is_shared)?;
            lane.run(
                &code.builder,
                operation,
                Some(address),
                self::stride(code, stride)?,
            );
            get(code, &lane, (to, count(tile), tile.element))
        }
        (MatrixOperation::Store(tile), [address, from, stride @ ..]) => {
            let address = pointer(code, address, is_shared)?;
            let stride = self::stride(code, stride)?;
            put(code, &lane, 0, (from, count(tile), tile.element))?;
            lane.run(&code.builder, operation, Some(address), stride);
            Ok(())
        }
        (MatrixOperation::LoadRows(rows), [to, address]) => {
            let address = pointer(code, address, true)?;
            lane.run(&code.builder, operation, Some(address), None);
            get(code, &lane, (to, rows.matrices as usize, Element::S32))
        }
        (MatrixOperation::StoreRows(rows), [address, from]) => {
            let address = pointer(code, address, true)?;
            put(code, &lane, 0, (from, rows.matrices as usize, Element::S32))?;
            lane.run(&code.builder, operation, Some(address), None);
            Ok(())
        }
        _ => code.unknown(),
    }
}

/// Registers of an instruction, their expected number, and their element type.
type List<'o> = (&'o Operand, usize, Element);

fn kind(element: Element) -> Kind {
    Kind::new(Class::Bits, if element == Element::F64 { 64 } else { 32 })
}

fn put<'m>(
    code: &Code<'m, '_>,
    lane: &Registers<'m>,
    first: usize,
    (from, count, element): List,
) -> Result<()> {
    let from = registers(from);
    if from.len() != count {
        return code.unknown();
    }
    let values = from.iter().map(|it| code.operand(it, kind(element)));
    let values: Vec<Value> = values.collect::<Result<_>>()?;
    lane.put(&code.builder, first, &values);
    Ok(())
}

fn get<'m>(
    code: &mut Code<'m, '_>,
    lane: &Registers<'m>,
    (to, count, element): List,
) -> Result<()> {
    let to = registers(to);
    if to.len() != count {
        return code.unknown();
    }
    let types = vec![Type::int(kind(element).bits); count];
    let values = lane.get(&code.builder, &types);
    let mut results = to.iter().zip(values);
    results.try_for_each(|(register, value)| code.define(register, value, false))
}

fn stride<'m>(code: &Code<'m, '_>, operands: &[Operand]) -> Result<Option<Value<'m>>> {
    let stride = operands.first();
    stride
        .map(|stride| code.operand(stride, Kind::U32))
        .transpose()
}
