//! Building instructions.

use super::{Block, Call, Function, Instruction, Type, Value, context};
use llvm_sys::prelude::{LLVMBuilderRef, LLVMValueRef};
use llvm_sys::{LLVMIntPredicate, LLVMOpcode as Opcode, LLVMRealPredicate, LLVMTypeKind, core::*};
use std::ffi::c_char;

const UNNAMED: *const c_char = c"".as_ptr();

/// Has LLVM build an instruction without a name at the builder's place.
macro_rules! build {
    ($builder:ident, $function:ident($($argument:expr),*)) => {
        Value::new($function($builder.at(), $($argument,)* UNNAMED))
    };
}

/// A position in a function where instructions are added.
pub struct Builder<'m> {
    raw: LLVMBuilderRef,
    place: Place<'m>,
}

#[derive(Clone, Copy)]
enum Place<'m> {
    Before(Instruction<'m>),
    AtEnd(Block<'m>),
    /// With the source position of an instruction.
    AtEndFor(Block<'m>, Instruction<'m>),
}

impl Drop for Builder<'_> {
    fn drop(&mut self) {
        // SAFETY: nobody else has this builder.
        unsafe { LLVMDisposeBuilder(self.raw) }
    }
}

impl<'m> Builder<'m> {
    fn new(place: Place<'m>) -> Self {
        // SAFETY: the context is alive.
        let raw = unsafe { LLVMCreateBuilderInContext(context()) };
        Builder { raw, place }
    }

    /// Adds before `instruction`, with its source position.
    pub fn before(instruction: Instruction<'m>) -> Self {
        Self::new(Place::Before(instruction))
    }

    pub fn at_end(block: Block<'m>) -> Self {
        Self::new(Place::AtEnd(block))
    }

    /// Adds at the end of `block`, with the source position of `instruction`.
    pub fn at_end_for(block: Block<'m>, instruction: Instruction<'m>) -> Self {
        Self::new(Place::AtEndFor(block, instruction))
    }

    /// Adds at the start of `function`'s body.
    pub fn at_entry(function: Function<'m>) -> Self {
        // An entry block has no phis, so its first instruction is a legal place.
        let entry = function.blocks().into_iter().next();
        let first = entry.and_then(|block| block.instructions().first().copied());
        Self::before(first.expect("the function has a body"))
    }

    /// LLVM's builder, at its place: what stood there may have been erased since it was put there.
    fn at(&self) -> LLVMBuilderRef {
        // SAFETY: the builder is ours; the instruction stands in a block, which `parent_block` checks, or the block is alive.
        unsafe {
            match self.place {
                Place::Before(instruction) => {
                    instruction.parent_block();
                    LLVMPositionBuilderBefore(self.raw, instruction.raw());
                    LLVMSetCurrentDebugLocation2(self.raw, instruction.debug_location());
                }
                Place::AtEnd(block) => LLVMPositionBuilderAtEnd(self.raw, block.raw()),
                Place::AtEndFor(block, instruction) => {
                    LLVMPositionBuilderAtEnd(self.raw, block.raw());
                    LLVMSetCurrentDebugLocation2(self.raw, instruction.debug_location());
                }
            }
        }
        self.raw
    }

    pub fn call(&self, function: Function<'m>, arguments: &[Value<'m>]) -> Call<'m> {
        self.call_pointer(function.signature(), function.value(), arguments)
    }

    /// Calls what `callee` points to, a function of type `signature`.
    pub fn call_pointer(
        &self,
        signature: Type,
        callee: Value<'m>,
        arguments: &[Value<'m>],
    ) -> Call<'m> {
        let types = types_of(arguments);
        assert!(callee.ty().is_pointer() && types.starts_with(&signature.parameters()));
        let mut raw: Vec<_> = arguments.iter().map(|v| v.raw()).collect();
        let (list, count) = (raw.as_mut_ptr(), raw.len() as u32);
        let (at, ty, to) = (self.at(), signature.raw(), callee.raw());
        // SAFETY: a pointer, and arguments of the types of the signature's parameters (asserted).
        unsafe { Call::new(LLVMBuildCall2(at, ty, to, list, count, UNNAMED)) }
    }

    pub fn load(&self, ty: Type, pointer: Value<'m>) -> Value<'m> {
        assert!(pointer.ty().is_pointer());
        let ty = ty.sized().raw();
        // SAFETY: a type that can be in memory, and a pointer (asserted).
        unsafe { build!(self, LLVMBuildLoad2(ty, pointer.raw())) }
    }

    pub fn store(&self, value: Value<'m>, pointer: Value<'m>) -> Instruction<'m> {
        assert!(pointer.ty().is_pointer());
        value.ty().sized();
        // SAFETY: a value that can be in memory, and a pointer (asserted).
        unsafe { Instruction::new(LLVMBuildStore(self.at(), value.raw(), pointer.raw())) }
    }

    /// `pointer + offset_bytes`.
    pub fn offset(&self, pointer: Value<'m>, offset_bytes: u64) -> Value<'m> {
        self.offset_by(pointer, Type::int(64).constant(offset_bytes))
    }

    /// `pointer + offset_bytes`, an integer that is known when the program runs.
    pub fn offset_by(&self, pointer: Value<'m>, offset_bytes: Value<'m>) -> Value<'m> {
        assert!(pointer.ty().is_pointer() && offset_bytes.ty().is_integer());
        let (mut index, byte) = ([offset_bytes.raw()], Type::int(8).raw());
        let (from, list) = (pointer.raw(), index.as_mut_ptr());
        // SAFETY: a pointer and one integer (asserted).
        unsafe { build!(self, LLVMBuildInBoundsGEP2(byte, from, list, 1)) }
    }

    /// The same `getelementptr` as the constant `like`, over new operands of the same types.
    pub fn gep_like(&self, like: Value<'m>, operands: &[Value<'m>]) -> Value<'m> {
        assert_eq!(like.opcode(), Some(Opcode::LLVMGetElementPtr));
        assert_eq!(types_of(&like.operands()), types_of(operands));
        let mut raw: Vec<LLVMValueRef> = operands.iter().map(|v| v.raw()).collect();
        let (from, indices) = (raw[0], &mut raw[1..]);
        let (at, list, count) = (self.at(), indices.as_mut_ptr(), indices.len() as u32);
        // SAFETY: a `getelementptr` and operands of the types of its own, of which the first is the pointer (asserted).
        unsafe {
            let (ty, flags) = (
                LLVMGetGEPSourceElementType(like.raw()),
                LLVMGEPGetNoWrapFlags(like.raw()),
            );
            Value::new(LLVMBuildGEPWithNoWrapFlags(
                at, ty, from, list, count, UNNAMED, flags,
            ))
        }
    }

    pub fn cast(&self, cast: Opcode, value: Value<'m>, to: Type) -> Value<'m> {
        let from = value.ty();
        assert!(is_cast(cast, from, to), "{cast:?} of {}", value.print());
        // SAFETY: a cast that there is between these types (asserted).
        unsafe { build!(self, LLVMBuildCast(cast, value.raw(), to.raw())) }
    }

    /// `pointer`, which may be a number, in the generic address space.
    pub fn to_generic(&self, pointer: Value<'m>) -> Value<'m> {
        let generic = Type::pointer(0);
        if !pointer.ty().is_pointer() {
            self.cast(Opcode::LLVMIntToPtr, pointer, generic)
        } else if pointer.ty() == generic {
            pointer
        } else {
            self.cast(Opcode::LLVMAddrSpaceCast, pointer, generic)
        }
    }

    /// A binary operation of integers, floating-point numbers, or vectors of them.
    pub fn binary(&self, operation: Opcode, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        use Opcode::*;
        let scalar = left.ty().scalar();
        assert!(match operation {
            LLVMFAdd | LLVMFSub | LLVMFMul | LLVMFDiv => scalar.is_floating_point(),
            LLVMAdd | LLVMSub | LLVMMul | LLVMUDiv | LLVMURem | LLVMSDiv | LLVMSRem | LLVMShl
            | LLVMLShr | LLVMAShr | LLVMAnd | LLVMOr | LLVMXor => scalar.is_integer(),
            _ => false,
        });
        assert_eq!(left.ty(), right.ty());
        // SAFETY: two values of one type that the operation takes (asserted).
        unsafe { build!(self, LLVMBuildBinOp(operation, left.raw(), right.raw())) }
    }

    /// A sum that exceeds neither the signed nor the unsigned numbers of its type.
    pub fn sum_without_overflow(&self, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        let sum = self.binary(Opcode::LLVMAdd, left, right);
        if (sum.as_instruction()).is_some_and(|sum| sum.operation() == Opcode::LLVMAdd) {
            // SAFETY: the value was just checked to be an addition.
            unsafe {
                LLVMSetNUW(sum.raw(), 1);
                LLVMSetNSW(sum.raw(), 1);
            }
        }
        sum
    }

    /// A floating-point value with its sign changed.
    pub fn negate(&self, value: Value<'m>) -> Value<'m> {
        assert!(value.ty().scalar().is_floating_point());
        // SAFETY: a floating-point value (asserted).
        unsafe { build!(self, LLVMBuildFNeg(value.raw())) }
    }

    pub fn compare(
        &self,
        predicate: LLVMIntPredicate,
        left: Value<'m>,
        right: Value<'m>,
    ) -> Value<'m> {
        assert!(left.ty() == right.ty() && left.ty().scalar().is_integer());
        // SAFETY: two values of one integer type (asserted).
        unsafe { build!(self, LLVMBuildICmp(predicate, left.raw(), right.raw())) }
    }

    pub fn compare_floats(
        &self,
        predicate: LLVMRealPredicate,
        left: Value<'m>,
        right: Value<'m>,
    ) -> Value<'m> {
        assert!(left.ty() == right.ty() && left.ty().scalar().is_floating_point());
        // SAFETY: two values of one floating-point type (asserted).
        unsafe { build!(self, LLVMBuildFCmp(predicate, left.raw(), right.raw())) }
    }

    /// A phi without incoming values.
    pub fn phi(&self, ty: Type) -> Instruction<'m> {
        // SAFETY: a phi is built for any type; whether values can have it is the verifier's question.
        unsafe { Instruction::new(LLVMBuildPhi(self.at(), ty.raw(), UNNAMED)) }
    }

    /// Inserts an instruction that stands nowhere.
    pub(super) fn insert_instruction(&self, instruction: Instruction<'m>) {
        let name = instruction.name();
        // SAFETY: two instructions of one function; the one that is inserted has no block (asserted).
        unsafe {
            assert!(LLVMGetInstructionParent(instruction.raw()).is_null());
            LLVMInsertIntoBuilder(self.at(), instruction.raw());
        }
        // LLVM forgets it.
        if !name.is_empty() {
            instruction.set_name(&name);
        }
    }

    /// A copy of `instruction` with the same operands.
    pub fn repeat(&self, instruction: Instruction<'m>) -> Instruction<'m> {
        let copy = instruction.detached_copy();
        self.insert_instruction(copy);
        copy
    }

    pub fn select(&self, condition: Value<'m>, then: Value<'m>, otherwise: Value<'m>) -> Value<'m> {
        assert!(condition.ty().scalar() == Type::int(1) && then.ty() == otherwise.ty());
        // SAFETY: a condition and two values of one type (asserted).
        unsafe {
            build!(
                self,
                LLVMBuildSelect(condition.raw(), then.raw(), otherwise.raw())
            )
        }
    }

    /// `aggregate`, a struct, with member `index` replaced.
    pub fn insert(&self, aggregate: Value<'m>, value: Value<'m>, index: u32) -> Value<'m> {
        assert_eq!(aggregate.ty().members()[index as usize], value.ty());
        // SAFETY: the struct has a member of that number and of the value's type (asserted).
        unsafe {
            build!(
                self,
                LLVMBuildInsertValue(aggregate.raw(), value.raw(), index)
            )
        }
    }

    /// Copies `bytes` bytes from `source` to `target`.
    pub fn copy(&self, target: Value<'m>, source: Value<'m>, bytes: u64) {
        assert!(target.ty().is_pointer() && source.ty().is_pointer());
        let length = Type::int(64).constant(bytes).raw();
        // SAFETY: two pointers (asserted), of which nothing is promised but that they lead to bytes, and an integer.
        unsafe { LLVMBuildMemCpy(self.at(), target.raw(), 1, source.raw(), 1, length) };
    }

    pub fn alloca(&self, ty: Type) -> Instruction<'m> {
        // SAFETY: a type that can be in memory (asserted).
        unsafe { Instruction::new(LLVMBuildAlloca(self.at(), ty.sized().raw(), UNNAMED)) }
    }

    pub fn branch_if(&self, condition: Value<'m>, then: Block<'m>, otherwise: Block<'m>) {
        assert_eq!(condition.ty(), Type::int(1));
        // SAFETY: a condition (asserted) and two blocks.
        unsafe { LLVMBuildCondBr(self.at(), condition.raw(), then.raw(), otherwise.raw()) };
    }

    pub fn branch(&self, target: Block<'m>) {
        // SAFETY: a block that is alive.
        unsafe { LLVMBuildBr(self.at(), target.raw()) };
    }

    /// Jumps to the block of the case that `value` equals, or to `otherwise`.
    pub fn switch(&self, value: Value<'m>, otherwise: Block<'m>, cases: &[(u64, Block<'m>)]) {
        let (ty, count) = (value.ty(), cases.len() as u32);
        // SAFETY: the value is an integer, or `constant` refuses; the cases are constants of its type.
        unsafe {
            let switch = LLVMBuildSwitch(self.at(), value.raw(), otherwise.raw(), count);
            for (case, block) in cases {
                LLVMAddCase(switch, ty.constant(*case).raw(), block.raw());
            }
        }
    }

    pub fn return_value(&self, value: Value<'m>) {
        // SAFETY: a value that is alive; whether the function returns such is the verifier's question.
        unsafe { LLVMBuildRet(self.at(), value.raw()) };
    }

    pub fn unreachable(&self) {
        // SAFETY: an instruction without operands.
        unsafe { LLVMBuildUnreachable(self.at()) };
    }

    pub fn return_void(&self) {
        // SAFETY: an instruction without operands; whether the function returns nothing is the verifier's question.
        unsafe { LLVMBuildRetVoid(self.at()) };
    }
}

fn types_of(values: &[Value]) -> Vec<Type> {
    values.iter().map(|v| v.ty()).collect()
}

/// Whether there is such a cast: of scalars, but for address spaces.
fn is_cast(cast: Opcode, from: Type, to: Type) -> bool {
    let bits = |ty: Type| match ty.kind() {
        LLVMTypeKind::LLVMIntegerTypeKind => Some(ty.scalar_bits()),
        LLVMTypeKind::LLVMDoubleTypeKind => Some(64),
        LLVMTypeKind::LLVMFloatTypeKind => Some(32),
        LLVMTypeKind::LLVMHalfTypeKind | LLVMTypeKind::LLVMBFloatTypeKind => Some(16),
        _ => None,
    };
    let integers = from.is_integer() && to.is_integer();
    match cast {
        Opcode::LLVMTrunc => integers && bits(from) > bits(to),
        Opcode::LLVMZExt | Opcode::LLVMSExt => integers && bits(from) < bits(to),
        Opcode::LLVMFPExt | Opcode::LLVMFPTrunc => {
            let floats = from.is_floating_point() && to.is_floating_point();
            floats
                && bits(from) != bits(to)
                && (bits(from) < bits(to)) == (cast == Opcode::LLVMFPExt)
        }
        Opcode::LLVMSIToFP | Opcode::LLVMUIToFP => from.is_integer() && to.is_floating_point(),
        Opcode::LLVMBitCast => {
            let lengths = [from, to].map(|ty| ty.is_vector().then(|| ty.vector_length()));
            let [from_bits, to_bits] = [from, to].map(|ty| bits(ty.scalar()));
            from == to || from_bits.is_some() && from_bits == to_bits && lengths[0] == lengths[1]
        }
        Opcode::LLVMPtrToInt | Opcode::LLVMPtrToAddr => from.is_pointer() && to.is_integer(),
        Opcode::LLVMIntToPtr => from.is_integer() && to.is_pointer(),
        Opcode::LLVMAddrSpaceCast => from.is_pointer() && to.is_pointer() && from != to,
        _ => false,
    }
}
