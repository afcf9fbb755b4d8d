//! Builds instructions on values of any kind with inkwell's builder, which is repositioned before each instruction.

use super::traits::*;
use super::{
    Block, Call, FloatPredicate, Function, Instruction, IntPredicate, Module, Opcode, Signature,
    Type, Value, context, ext,
};
use inkwell::builder::{Builder as Position, BuilderError};
use inkwell::values::BasicMetadataValueEnum;

pub struct Builder<'m> {
    position: Position<'m>,
    point: InsertPoint<'m>,
}

#[derive(Clone, Copy)]
enum InsertPoint<'m> {
    Before(Instruction<'m>),
    /// At the end of the block, with the source position of the instruction, if any.
    AtEnd(Block<'m>, Option<Instruction<'m>>),
}

/// Unwraps a result from inkwell, which is an error only for a builder without a position, or operands of the wrong
/// type.
fn built<T>(result: Result<T, BuilderError>) -> T {
    result.unwrap_or_else(|error| panic!("failed to build an instruction: {error}"))
}

impl<'m> Builder<'m> {
    fn new(point: InsertPoint<'m>) -> Self {
        let position = context().create_builder();
        Builder { position, point }
    }

    pub fn before(instruction: impl InstructionExt<'m>) -> Self {
        Self::new(InsertPoint::Before(instruction.instruction()))
    }

    pub fn at_end(block: Block<'m>) -> Self {
        Self::new(InsertPoint::AtEnd(block, None))
    }

    /// Builds at the end of `block`, with the source position of `instruction`.
    pub fn at_end_for(block: Block<'m>, instruction: Instruction<'m>) -> Self {
        Self::new(InsertPoint::AtEnd(block, Some(instruction)))
    }

    pub fn at_entry(function: Function<'m>) -> Self {
        // An entry block has no phis, so its first instruction is a legal position.
        let entry = function.get_first_basic_block();
        let first = entry.and_then(|block| block.get_first_instruction());
        Self::before(first.expect("the function has a body"))
    }

    /// Repositions inkwell's builder, because the code at its position may have been moved or erased.
    fn at(&self) -> &Position<'m> {
        match self.point {
            InsertPoint::Before(instruction) => {
                instruction.parent_block();
                self.position.position_before(&instruction);
            }
            InsertPoint::AtEnd(block, instruction) => {
                self.position.position_at_end(block);
                match instruction.and_then(Instruction::get_debug_location) {
                    Some(location) => self.position.set_current_debug_location(location),
                    None => self.position.unset_current_debug_location(),
                }
            }
        }
        &self.position
    }

    pub fn call(&self, function: Function<'m>, arguments: &[Value<'m>]) -> Call<'m> {
        self.call_pointer(function.signature(), function.value(), arguments)
    }

    pub fn call_pointer(
        &self,
        signature: Signature,
        callee: Value<'m>,
        arguments: &[Value<'m>],
    ) -> Call<'m> {
        let callee = callee.basic().into_pointer_value();
        let arguments = arguments.iter().map(|value| value.basic().into());
        let arguments: Vec<BasicMetadataValueEnum> = arguments.collect();
        let at = self.at();
        built(at.build_indirect_call(signature, callee, &arguments, ""))
    }

    /// Calls the function `name`, declaring it with the arguments' types if necessary.
    pub fn call_named(
        &self,
        module: &'m Module,
        name: &str,
        result: Type,
        arguments: &[Value<'m>],
    ) -> Call<'m> {
        let types: Vec<Type> = arguments.iter().map(|argument| argument.ty()).collect();
        self.call(module.declare(name, result.function(&types)), arguments)
    }

    pub fn load(&self, ty: Type, pointer: Value<'m>) -> Value<'m> {
        let pointer = pointer.basic().into_pointer_value();
        built(self.at().build_load(ty.basic(), pointer, "")).value()
    }

    pub fn store(&self, value: Value<'m>, pointer: Value<'m>) -> Instruction<'m> {
        let pointer = pointer.basic().into_pointer_value();
        built(self.at().build_store(pointer, value.basic()))
    }

    pub fn offset(&self, pointer: Value<'m>, offset_bytes: u64) -> Value<'m> {
        self.offset_by(pointer, Type::int(64).constant(offset_bytes))
    }

    pub fn offset_by(&self, pointer: Value<'m>, offset_bytes: Value<'m>) -> Value<'m> {
        let pointer = pointer.basic().into_pointer_value();
        ext::offset(self.at(), pointer, offset_bytes.into_int_value()).value()
    }

    pub fn gep_like(&self, like: Value<'m>, operands: &[Value<'m>]) -> Value<'m> {
        ext::gep_like(self.at(), like, operands)
    }

    /// Returns `value` itself if it already has the type `to`.
    pub fn cast(&self, cast: Opcode, value: Value<'m>, to: Type) -> Value<'m> {
        built(self.at().build_cast(cast, value.basic(), to.basic(), "")).value()
    }

    /// Converts a pointer or an integer to a pointer in the generic address space.
    pub fn to_generic(&self, pointer: Value<'m>) -> Value<'m> {
        let cast = match pointer.ty().is_pointer_type() {
            true => Opcode::AddrSpaceCast,
            false => Opcode::IntToPtr,
        };
        self.cast(cast, pointer, Type::pointer(0))
    }

    /// Extends or truncates an integer.
    pub fn resize(&self, number: Value<'m>, bits: u32, is_signed: bool) -> Value<'m> {
        let cast = match is_signed {
            _ if number.ty().scalar_bits() > bits => Opcode::Trunc,
            true => Opcode::SExt,
            false => Opcode::ZExt,
        };
        self.cast(cast, number, Type::int(bits))
    }

    /// Converts a number, vector or pointer to an integer of the same size.
    pub fn bits_of(&self, value: Value<'m>) -> Value<'m> {
        let cast = match value.ty().is_pointer_type() {
            true => Opcode::PtrToInt,
            false => Opcode::BitCast,
        };
        self.cast(cast, value, Type::int(value.ty().bits()))
    }

    /// Converts an integer, resized if necessary, to a number, vector or pointer.
    pub fn with_bits(&self, bits: Value<'m>, ty: Type) -> Value<'m> {
        if ty.is_pointer_type() {
            return self.cast(Opcode::IntToPtr, bits, ty);
        }
        self.cast(Opcode::BitCast, self.resize(bits, ty.bits(), false), ty)
    }

    pub fn binary(&self, operation: Opcode, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        assert_eq!(left.ty(), right.ty());
        let (at, left, right) = (self.at(), left.basic(), right.basic());
        built(at.build_binop(operation, left, right, "")).value()
    }

    /// Builds a sum that overflows neither as a signed nor as an unsigned integer.
    pub fn sum_without_overflow(&self, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        let sum = self.binary(Opcode::Add, left, right);
        // The sum may have been folded to one of its operands, which may not have the flags.
        let addition = sum.as_instruction();
        if let Some(sum) = addition.filter(|it| it.get_opcode() == Opcode::Add) {
            sum.set_no_unsigned_wrap_flag(true).expect("an addition");
            sum.set_no_signed_wrap_flag(true).expect("an addition");
        }
        sum
    }

    pub fn negate(&self, value: Value<'m>) -> Value<'m> {
        match value {
            Value::VectorValue(value) => built(self.at().build_float_neg(value, "")).value(),
            value => built(self.at().build_float_neg(value.into_float_value(), "")).value(),
        }
    }

    pub fn compare(&self, predicate: IntPredicate, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        assert_eq!(left.ty(), right.ty());
        let at = self.at();
        match (left, right) {
            (Value::VectorValue(left), Value::VectorValue(right)) => {
                built(at.build_int_compare(predicate, left, right, "")).value()
            }
            _ => {
                let (left, right) = (left.into_int_value(), right.into_int_value());
                built(at.build_int_compare(predicate, left, right, "")).value()
            }
        }
    }

    pub fn compare_floats(
        &self,
        predicate: FloatPredicate,
        left: Value<'m>,
        right: Value<'m>,
    ) -> Value<'m> {
        assert_eq!(left.ty(), right.ty());
        let at = self.at();
        match (left, right) {
            (Value::VectorValue(left), Value::VectorValue(right)) => {
                built(at.build_float_compare(predicate, left, right, "")).value()
            }
            _ => {
                let (left, right) = (left.into_float_value(), right.into_float_value());
                built(at.build_float_compare(predicate, left, right, "")).value()
            }
        }
    }

    pub fn phi(&self, ty: Type) -> Instruction<'m> {
        built(self.at().build_phi(ty.basic(), "")).as_instruction()
    }

    pub(super) fn take(&self, instruction: Instruction<'m>) {
        instruction.parent_block();
        instruction.remove_from_basic_block();
        // LLVM would drop the name.
        let name = instruction.name();
        self.at().insert_instruction(&instruction, Some(&name));
    }

    pub fn repeat(&self, instruction: Instruction<'m>) -> Instruction<'m> {
        let copy = instruction.explicit_clone();
        self.at().insert_instruction(&copy, None);
        copy
    }

    pub fn select(&self, condition: Value<'m>, then: Value<'m>, otherwise: Value<'m>) -> Value<'m> {
        assert_eq!(then.ty(), otherwise.ty());
        let (at, then, otherwise) = (self.at(), then.basic(), otherwise.basic());
        match condition {
            Value::VectorValue(mask) => built(at.build_select(mask, then, otherwise, "")).value(),
            bit => built(at.build_select(bit.into_int_value(), then, otherwise, "")).value(),
        }
    }

    pub fn structure(&self, ty: Type, members: impl IntoIterator<Item = Value<'m>>) -> Value<'m> {
        let members = members.into_iter().zip(0..);
        members.fold(ty.undef(), |whole, (member, index)| {
            let whole = whole.into_struct_value();
            built((self.at()).build_insert_value(whole, member.basic(), index, "")).value()
        })
    }

    pub fn copy(&self, target: Value<'m>, source: Value<'m>, bytes: u64) {
        let [to, from] = [target, source].map(|pointer| pointer.basic().into_pointer_value());
        let length = Type::int(64).constant(bytes).into_int_value();
        built(self.at().build_memcpy(to, 1, from, 1, length));
    }

    pub fn alloca(&self, ty: Type) -> Instruction<'m> {
        let address = built(self.at().build_alloca(ty.basic(), ""));
        address.as_instruction().expect("an alloca")
    }

    pub fn branch_if(&self, condition: Value<'m>, then: Block<'m>, otherwise: Block<'m>) {
        let (at, condition) = (self.at(), condition.into_int_value());
        built(at.build_conditional_branch(condition, then, otherwise));
    }

    pub fn branch(&self, target: Block<'m>) {
        built(self.at().build_unconditional_branch(target));
    }

    pub fn switch(&self, value: Value<'m>, otherwise: Block<'m>, cases: &[(u64, Block<'m>)]) {
        let (number, ty) = (value.into_int_value(), value.ty());
        let case = |(case, to): &(u64, Block<'m>)| (ty.constant(*case).into_int_value(), *to);
        let cases: Vec<_> = cases.iter().map(case).collect();
        built(self.at().build_switch(number, otherwise, &cases));
    }

    pub fn return_value(&self, value: Value<'m>) {
        built(self.at().build_return(Some(&value.basic())));
    }

    pub fn unreachable(&self) {
        built(self.at().build_unreachable());
    }

    pub fn return_void(&self) {
        built(self.at().build_return(None));
    }
}
