//! Warp-level matrix operations.

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
    let operation = code.known(matrix::read(opcode, words))?;
    let lane = Registers::of(code.module, code.call);
    let count = |tile: Tile| matrix::registers(opcode, tile.shape, tile.part, tile.element);
    let is_shared = code.has("shared");
    match (operation, &instruction.operands[..]) {
        (MatrixOperation::Multiply(product), [to, inputs @ ..]) if inputs.len() == 3 => {
            let elements = [product.a, product.b, product.c];
            let parts = factors(opcode, product).into_iter().zip(elements);
            for (((part, count), element), input) in parts.zip(inputs) {
                code.put(&lane, part.first_register(), (input, count, element))?;
            }
            lane.run(&code.builder, operation, None, None);
            let count = matrix::registers(opcode, product.shape, Part::C, product.d);
            code.get(&lane, (to, count, product.d))
        }
        (MatrixOperation::Load(tile), [to, address, stride @ ..]) => {
            let address = pointer(code, address, is_shared)?;
            let stride = self::stride(code, stride)?;
            lane.run(&code.builder, operation, Some(address), stride);
            code.get(&lane, (to, count(tile), tile.element))
        }
        (MatrixOperation::Store(tile), [address, from, stride @ ..]) => {
            let address = pointer(code, address, is_shared)?;
            let stride = self::stride(code, stride)?;
            code.put(&lane, 0, (from, count(tile), tile.element))?;
            lane.run(&code.builder, operation, Some(address), stride);
            Ok(())
        }
        (MatrixOperation::LoadRows(rows), [to, address]) => {
            let address = pointer(code, address, true)?;
            lane.run(&code.builder, operation, Some(address), None);
            code.get(&lane, (to, rows.matrices as usize, Element::S32))
        }
        (MatrixOperation::StoreRows(rows), [address, from]) => {
            let address = pointer(code, address, true)?;
            code.put(&lane, 0, (from, rows.matrices as usize, Element::S32))?;
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

impl<'m> Code<'m, '_> {
    fn put(&self, lane: &Registers<'m>, first: usize, (from, count, element): List) -> Result<()> {
        let from = registers(from);
        self.require(from.len() == count)?;
        lane.put(&self.builder, first, &self.values(from, kind(element))?);
        Ok(())
    }

    fn get(&mut self, lane: &Registers<'m>, (to, count, element): List) -> Result<()> {
        let to = registers(to);
        self.require(to.len() == count)?;
        let types = vec![Type::int(kind(element).bits); count];
        self.define_all(to, lane.get(&self.builder, &types), false)
    }
}

fn stride<'m>(code: &Code<'m, '_>, operands: &[Operand]) -> Result<Option<Value<'m>>> {
    Ok(code.values(operands, Kind::U32)?.first().copied())
}
