//! What a warp does with matrices.

use super::Code;
use super::memory::{pointer, registers};
use crate::cpu::matrices::{Registers, factors};
use crate::ir::{Type, Value, traits::*};
use crate::matrix;
use crate::ptx::{Class, Instruction, Kind, Operand};
use anyhow::Result;
use superstep_trace::matrix::{Element, MatrixOperation, Part, Tile};

pub fn build(code: &mut Code, instruction: &Instruction) -> Result<()> {
    let opcode = instruction.opcode.as_str();
    let words = instruction.modifiers.iter().map(String::as_str);
    let Some(operation) = matrix::read(opcode, words) else {
        return code.unknown(instruction);
    };
    let lane = Registers::of(code.module, code.call);
    let count = |tile: Tile| matrix::registers(opcode, tile.shape, tile.part, tile.element);
    match (operation, &instruction.operands[..]) {
        (MatrixOperation::Multiply(product), [to, inputs @ ..]) if inputs.len() == 3 => {
            let elements = [product.a, product.b, product.c];
            let parts = factors(opcode, product)
                .into_iter()
                .zip(elements)
                .zip(inputs);
            for (((part, count), element), input) in parts {
                put(
                    code,
                    instruction,
                    &lane,
                    part.first_register(),
                    (input, count, element),
                )?;
            }
            lane.run(&code.builder, operation, None, None);
            let count = matrix::registers(opcode, product.shape, Part::C, product.d);
            get(code, instruction, &lane, (to, count, product.d))
        }
        (MatrixOperation::Load(tile), [to, address, stride @ ..]) => {
            let address = pointer(code, instruction, address, instruction.has("shared"))?;
            let stride = self::stride(code, stride)?;
            lane.run(&code.builder, operation, Some(address), stride);
            get(code, instruction, &lane, (to, count(tile), tile.element))
        }
        (MatrixOperation::Store(tile), [address, from, stride @ ..]) => {
            let address = pointer(code, instruction, address, instruction.has("shared"))?;
            let stride = self::stride(code, stride)?;
            put(
                code,
                instruction,
                &lane,
                0,
                (from, count(tile), tile.element),
            )?;
            lane.run(&code.builder, operation, Some(address), stride);
            Ok(())
        }
        // Only of shared memory.
        (MatrixOperation::LoadRows(rows), [to, address]) => {
            let address = pointer(code, instruction, address, true)?;
            lane.run(&code.builder, operation, Some(address), None);
            get(
                code,
                instruction,
                &lane,
                (to, rows.matrices as usize, Element::S32),
            )
        }
        (MatrixOperation::StoreRows(rows), [address, from]) => {
            let address = pointer(code, instruction, address, true)?;
            let from = (from, rows.matrices as usize, Element::S32);
            put(code, instruction, &lane, 0, from)?;
            lane.run(&code.builder, operation, Some(address), None);
            Ok(())
        }
        _ => code.unknown(instruction),
    }
}

/// Registers of an instruction: how many there must be, and of what.
type List<'o> = (&'o Operand, usize, Element);

fn kind(element: Element) -> Kind {
    Kind::new(Class::Bits, if element == Element::F64 { 64 } else { 32 })
}

fn put<'m>(
    code: &mut Code<'m, '_>,
    instruction: &Instruction,
    lane: &Registers<'m>,
    first: usize,
    (from, count, element): List,
) -> Result<()> {
    let from = registers(from);
    if from.len() != count {
        return code.unknown(instruction);
    }
    let values: Result<Vec<Value>> = from
        .iter()
        .map(|it| code.operand(it, kind(element)))
        .collect();
    lane.put(&code.builder, first, &values?);
    Ok(())
}

fn get<'m>(
    code: &mut Code<'m, '_>,
    instruction: &Instruction,
    lane: &Registers<'m>,
    (to, count, element): List,
) -> Result<()> {
    let to = registers(to);
    if to.len() != count {
        return code.unknown(instruction);
    }
    let types = vec![Type::int(kind(element).bits); count];
    let values = lane.get(&code.builder, &types);
    for (register, value) in to.iter().zip(values) {
        code.define(register, value, false)?;
    }
    Ok(())
}

fn stride<'m>(code: &mut Code<'m, '_>, operands: &[Operand]) -> Result<Option<Value<'m>>> {
    let stride = operands
        .first()
        .map(|operand| code.operand(operand, Kind::U32));
    stride.transpose()
}
