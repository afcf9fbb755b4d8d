//! Extends inkwell's values with methods for the passes in this crate.

use super::traits::*;
use super::{
    Block, Call, Function, Instruction, Location, Type, Value, ValueKind, Variable, context, ext,
};
use crate::reach::reach;
use inkwell::AtomicOrdering;
use inkwell::module::Linkage;
use inkwell::values::{
    AnyValue, ArrayValue, BasicMetadataValueEnum, BasicValue, BasicValueEnum, BasicValueUse,
    FastMathFlags, FloatValue, IntValue, MetadataValue, PhiValue,
};
use superstep_trace::SiteId;

const SITES: &str = "superstep.sites";

/// Returns the users of a value or block, once for each use, given its first use.
pub(super) fn users_from<'m>(first: Option<BasicValueUse<'m>>) -> impl Iterator<Item = Value<'m>> {
    std::iter::successors(first, |it| it.get_next_use()).map(BasicValueUse::get_user)
}

pub trait ValueExt<'m>: AnyValue<'m> + Sized {
    /// Converts to inkwell's enumeration of all values, which can be compared.
    fn value(&self) -> Value<'m> {
        self.as_any_value_enum()
    }

    /// Converts to a value that code can compute with; a function becomes its address.
    fn basic(&self) -> BasicValueEnum<'m> {
        match self.value() {
            Value::FunctionValue(f) => f.as_global_value().as_pointer_value().into(),
            value => value.try_into().expect("a value that code computes with"),
        }
    }

    fn as_call(&self) -> Option<Call<'m>> {
        self.as_instruction()?.try_into().ok()
    }

    fn as_function(&self) -> Option<Function<'m>> {
        self.value().try_into().ok()
    }

    /// Returns the value's name, or an empty string if it has none.
    fn name(&self) -> String {
        match self.value() {
            Value::InstructionValue(_) => String::new(),
            value => value.basic().get_name().to_string_lossy().into_owned(),
        }
    }

    fn rename(&self, name: &str) {
        self.basic().set_name(name);
    }

    fn print(&self) -> String {
        self.print_to_string().to_string_lossy().into_owned()
    }

    /// Returns operand `index`, which must be a value.
    fn operand(&self, index: u32) -> Value<'m> {
        let operand = ext::operand(self, index);
        operand.unwrap_or_else(|| panic!("operand {index} is not a value"))
    }

    /// Iterates over the operands that are values, with their indices.
    fn indexed_operands(&self) -> impl Iterator<Item = (u32, Value<'m>)> {
        let indices = 0..self.operand_count();
        indices.filter_map(|index| Some((index, ext::operand(self, index)?)))
    }

    fn operands(&self) -> Vec<Value<'m>> {
        self.indexed_operands().map(|(_, it)| it).collect()
    }

    fn is_compound_constant(&self) -> bool {
        matches!(
            self.kind(),
            ValueKind::LLVMConstantExprValueKind
                | ValueKind::LLVMConstantStructValueKind
                | ValueKind::LLVMConstantArrayValueKind
                | ValueKind::LLVMConstantVectorValueKind
        )
    }

    /// Returns the parts of a compound constant; other values have none.
    fn constant_parts(&self) -> Vec<Value<'m>> {
        if self.is_compound_constant() {
            self.operands()
        } else {
            Vec::new()
        }
    }

    fn users(&self) -> Vec<Value<'m>> {
        users_from(match self.value() {
            Value::InstructionValue(instruction) => instruction.get_first_use(),
            value => value.basic().get_first_use(),
        })
        .collect()
    }

    /// Returns the instructions among the users, once for each use.
    fn using_instructions(&self) -> Vec<Instruction<'m>> {
        let users = self.users().into_iter();
        users.filter_map(|user| user.as_instruction()).collect()
    }

    /// Returns the instructions that use the value, directly or through constants.
    fn users_in_code(&self) -> Vec<Instruction<'m>> {
        let mut found = Vec::new();
        reach([self.value()], |value| {
            let (code, constants): (Vec<_>, Vec<_>) =
                (value.users().into_iter()).partition(|user| user.as_instruction().is_some());
            found.extend(code.into_iter().filter_map(|user| user.as_instruction()));
            constants
        });
        found
    }

    /// Whether the value is a constant.
    fn is_known(&self) -> bool {
        match self.value() {
            Value::InstructionValue(_) => false,
            value => value.basic().is_const(),
        }
    }

    /// Returns the value of a constant integer of at most 64 bits.
    fn constant_integer(&self) -> Option<u64> {
        let number = IntValue::try_from(self.value()).ok()?;
        number.get_zero_extended_constant()
    }

    /// Returns a constant C string without its NUL.
    fn constant_text(&self) -> Option<String> {
        let array = ArrayValue::try_from(self.value()).ok()?;
        let is_data = self.kind() == ValueKind::LLVMConstantDataArrayValueKind;
        let bytes = (is_data && array.is_const_string()).then(|| array.as_const_string())??;
        let text = String::from_utf8_lossy(bytes);
        Some(text.strip_suffix('\0').unwrap_or(&text).to_owned())
    }

    fn constant_number(&self) -> Option<f64> {
        let (number, _) = FloatValue::try_from(self.value()).ok()?.get_constant()?;
        Some(number)
    }

    fn set_alignment_bytes(&self, bytes: u32) {
        match (self.as_variable(), self.as_instruction()) {
            (Some(variable), _) => variable.set_alignment(bytes),
            (_, Some(access)) if access.set_alignment(bytes).is_ok() => {}
            _ => panic!("{} cannot be aligned to {bytes} bytes", self.print()),
        }
    }

    fn location(&self) -> Location {
        self.as_instruction().map(Location::of).unwrap_or_default()
    }
}

impl<'m, T: AnyValue<'m>> ValueExt<'m> for T {}

/// Methods of instructions and calls, which belong to a block until they are erased.
pub trait InstructionExt<'m>: ValueExt<'m> {
    fn instruction(&self) -> Instruction<'m> {
        self.as_instruction().expect("an instruction")
    }

    fn parent_block(&self) -> Block<'m> {
        let block = self.instruction().get_parent();
        block.expect("the instruction was erased")
    }

    fn parent_function(&self) -> Function<'m> {
        let function = self.parent_block().get_parent();
        function.expect("the block is in a function")
    }

    fn next(&self) -> Option<Instruction<'m>> {
        self.parent_block();
        self.instruction().get_next_instruction()
    }

    fn replace_operand(&self, old: Value<'m>, new: Value<'m>) {
        assert_eq!(old.ty(), new.ty());
        for (index, operand) in self.indexed_operands() {
            if operand == old {
                self.instruction().set_operand(index, new.basic());
            }
        }
    }

    /// Replaces this instruction with `other`, which takes over its name.
    fn replace_with(&self, other: Value<'m>) {
        if !self.ty().is_void_type() {
            let name = self.name();
            self.replace_uses_with(other);
            self.rename("");
            if !name.is_empty() {
                other.rename(&name);
            }
        }
        self.erase();
    }

    /// Removes an unused instruction, other than a terminator, from its block. The instruction is never freed, so its
    /// handles stay *alive*.
    fn erase(&self) {
        let instruction = self.instruction();
        assert!(Some(instruction) != self.parent_block().get_terminator());
        assert!(
            self.users().is_empty(),
            "an erased instruction is used: {}",
            self.print()
        );
        if !self.ty().is_void_type() {
            // Debug information loses the value, as if LLVM had deleted the instruction.
            self.replace_uses_with(ext::poison(self.ty().basic()));
        }
        for (index, operand) in self.indexed_operands() {
            instruction.set_operand(index, ext::poison(operand.ty().basic()).basic());
        }
        instruction.remove_from_basic_block();
    }

    fn alloca_type(&self) -> Type {
        let ty = self.instruction().get_allocated_type();
        ext::in_context(&ty.expect("an alloca"))
    }

    fn is_volatile(&self) -> bool {
        self.instruction().get_volatile() == Ok(true)
    }

    fn is_atomic(&self) -> bool {
        let ordering = self.instruction().get_atomic_ordering();
        ordering.is_ok_and(|ordering| ordering != AtomicOrdering::NotAtomic)
    }

    fn make_volatile(&self) {
        let set = self.instruction().set_volatile(true);
        set.expect("a memory access");
    }

    fn incoming(&self) -> Vec<(Value<'m>, Block<'m>)> {
        let phi = PhiValue::try_from(self.instruction()).expect("a phi");
        let incoming = phi.get_incomings();
        incoming.map(|(it, from)| (it.value(), from)).collect()
    }

    fn allows_contraction(&self) -> bool {
        let flags = self.instruction().get_fast_math_flags();
        flags.is_ok_and(|flags| flags.contains(FastMathFlags::AllowContract))
    }

    /// Copies all fast-math flags except contraction to `other`, unless `other` was folded to a constant.
    fn copy_fast_math_except_contraction(&self, other: Value<'m>) {
        let flags = self.instruction().get_fast_math_flags();
        if let (Ok(flags), Some(other)) = (flags, other.as_instruction())
            && other.can_use_fast_math_flags()
        {
            let set = other.set_fast_math_flags(flags - FastMathFlags::AllowContract);
            set.expect("an operation with fast-math flags");
        }
    }

    /// Returns the sites whose accesses this instruction performs, as set by [`add_sites`](InstructionExt::add_sites).
    fn sites(&self) -> Vec<SiteId> {
        let kind = context().get_kind_id(SITES);
        let node = self.instruction().get_metadata(kind);
        let numbers = node.and_then(|node| node.get_node_values());
        let number = |value: BasicMetadataValueEnum| {
            let number = value.into_int_value().get_zero_extended_constant();
            SiteId(number.expect("a constant") as u32)
        };
        numbers.into_iter().flatten().map(number).collect()
    }

    fn add_sites(&self, sites: &[SiteId]) {
        let mut all = self.sites();
        all.extend(sites);
        if !all.is_empty() {
            let number = |site: SiteId| Type::int(32).constant(u64::from(site.0));
            let numbers: Vec<_> = all.into_iter().map(|s| number(s).basic().into()).collect();
            let kind = context().get_kind_id(SITES);
            let node = context().metadata_node(&numbers);
            let set = self.instruction().set_metadata(node, kind);
            set.expect("a list of numbers is a node");
        }
    }

    fn clear_sites(&self) {
        ext::clear_metadata(self.instruction(), context().get_kind_id(SITES));
    }

    fn set_scopes(&self, own: Scope, other: Scope) {
        for (name, scope) in [("alias.scope", own), ("noalias", other)] {
            let (access, kind) = (self.instruction(), context().get_kind_id(name));
            let set = access.set_metadata(scope.0, kind);
            set.expect("a list of scopes is a node");
        }
    }
}

impl<'m> InstructionExt<'m> for Instruction<'m> {}
impl<'m> InstructionExt<'m> for Call<'m> {}

/// A list with one alias scope; accesses in different scopes do not alias.
#[derive(Clone, Copy)]
pub struct Scope(MetadataValue<'static>);

impl Scope {
    pub fn named(name: &str) -> Self {
        let text = |text| context().metadata_string(text).into();
        let node = |parts: &[_]| context().metadata_node(parts);
        // Scopes identified by strings are the same in all modules.
        let domain = node(&[text("superstep.memory")]);
        Scope(node(&[node(&[text(name), domain.into()]).into()]))
    }
}

extension! {
    /// Methods of global variables. As a value, a variable is its address.
    pub trait VariableExt<'m> for Variable<'m> {
        fn value_type(self) -> Type {
            ext::in_context(&self.get_value_type())
        }

        fn initial_value(self) -> Option<Value<'m>> {
            self.get_initializer().map(|value| value.value())
        }

        fn set_initial_value(self, value: Value<'m>) {
            assert!(value.is_known() && value.ty() == self.value_type());
            self.set_initializer(&value.basic());
        }

        fn as_generic_constant(self) -> Value<'m> {
            if self.ty().address_space() == 0 {
                return self.value();
            }
            let generic = Type::pointer(0).into_pointer_type();
            let address = self.as_pointer_value();
            address.const_address_space_cast(generic).value()
        }

        /// Gives the variable internal linkage, and removes it from its comdat.
        fn make_internal(self) {
            self.set_linkage(Linkage::Internal);
            ext::clear_comdat(self);
        }
    }
}
