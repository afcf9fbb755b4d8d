//! Functions, blocks and calls.

use super::traits::*;
use super::{
    Block, Builder, Call, Function, Instruction, Module, Signature, Type, Value, ValueKind,
    context, ext, values::users_from,
};
use inkwell::attributes::{Attribute, AttributeLoc};

/// Calling convention of a CUDA kernel in NVPTX IR.
const PTX_KERNEL: u32 = 71;

extension! {
    pub trait BlockExt<'m> for Block<'m> {
        fn name(self) -> String {
            self.get_name().to_string_lossy().into_owned()
        }

        fn instructions(self) -> Vec<Instruction<'m>> {
            self.get_instructions().collect()
        }

        fn successors(self) -> Vec<Block<'m>> {
            let terminator = self.get_terminator();
            terminator.map_or_else(Vec::new, ext::successors)
        }

        /// Moves the instructions after `instruction` in this block into a new block, and branches there. No phi may
        /// refer to this block.
        fn split_after(self, instruction: Instruction<'m>) {
            assert_eq!(instruction.parent_block(), self);
            let function = instruction.parent_function();
            let rest = function.append_block(&format!("{}.rest", self.name()));
            let builder = Builder::at_end(rest);
            while let Some(next) = instruction.next() {
                builder.take(next);
            }
            Builder::at_end(self).branch(rest);
        }

        /// Moves the instructions before `instruction` in this block into a new block, which replaces this block as a
        /// branch target. The caller must terminate the new block.
        fn split_before(self, instruction: Instruction<'m>) -> Block<'m> {
            assert_eq!(instruction.parent_block(), self);
            let function = instruction.parent_function();
            let head = function.append_block(&format!("{}.head", self.name()));
            let jumps: Vec<Value> = users_from(self.get_first_use()).collect();
            for jump in jumps.iter().filter_map(|user| user.as_instruction()) {
                for (index, target) in (0..).zip(ext::successors(jump)) {
                    if target == self {
                        ext::set_successor(jump, index, head);
                    }
                }
            }
            head.move_before(self).expect("two blocks in one function");
            let builder = Builder::at_end(head);
            let instructions = self.instructions().into_iter();
            for earlier in instructions.take_while(|it| *it != instruction) {
                builder.take(earlier);
            }
            head
        }
    }
}

fn attribute_kind(name: &str) -> u32 {
    let kind = Attribute::get_named_enum_kind_id(name);
    assert_ne!(kind, 0, "LLVM has no attribute {name}");
    kind
}

pub trait Attributed: Copy {
    /// Returns the attributes of the parameters, the result, and the function or call itself.
    fn all_attributes(self) -> Vec<(AttributeLoc, Attribute)>;
    fn set_attribute(self, name: &str);
    fn set_text_attribute(self, name: &str, value: &str);
    fn text_attribute(self, name: &str) -> Option<String>;
    fn has_attribute(self, name: &str) -> bool;
    /// Removes the attribute `name` from the result, all parameters and the function or call itself.
    fn remove_attribute(self, name: &str);
    fn parameter_attribute(self, index: u32, name: &str) -> Option<Attribute>;
    /// Returns the pointee type of a by-value parameter.
    fn by_value_type(self, index: u32) -> Option<Type> {
        let attribute = self.parameter_attribute(index, "byval")?;
        Some(ext::in_context(&attribute.get_type_value()))
    }
    /// Returns the `align` attribute of a parameter.
    fn promised_alignment_bytes(self, index: u32) -> Option<u64> {
        let attribute = self.parameter_attribute(index, "align")?;
        Some(attribute.get_enum_value())
    }
}

macro_rules! attributed {
    ($type:ident, $count:ident) => {
        impl Attributed for $type<'_> {
            fn all_attributes(self) -> Vec<(AttributeLoc, Attribute)> {
                let parameters = (0..self.$count()).map(AttributeLoc::Param);
                let positions = parameters.chain([AttributeLoc::Return, AttributeLoc::Function]);
                let at = |position| {
                    self.attributes(position)
                        .into_iter()
                        .map(move |it| (position, it))
                };
                positions.flat_map(at).collect()
            }

            fn set_attribute(self, name: &str) {
                let attribute = context().create_enum_attribute(attribute_kind(name), 0);
                self.add_attribute(AttributeLoc::Function, attribute);
            }

            fn set_text_attribute(self, name: &str, value: &str) {
                let attribute = context().create_string_attribute(name, value);
                self.add_attribute(AttributeLoc::Function, attribute);
            }

            fn text_attribute(self, name: &str) -> Option<String> {
                let attribute = self.get_string_attribute(AttributeLoc::Function, name)?;
                Some(attribute.get_string_value().to_string_lossy().into_owned())
            }

            fn has_attribute(self, name: &str) -> bool {
                let position = AttributeLoc::Function;
                self.get_enum_attribute(position, attribute_kind(name))
                    .is_some()
            }

            fn remove_attribute(self, name: &str) {
                for (position, _) in self.all_attributes() {
                    self.remove_enum_attribute(position, attribute_kind(name));
                }
            }

            fn parameter_attribute(self, index: u32, name: &str) -> Option<Attribute> {
                self.get_enum_attribute(AttributeLoc::Param(index), attribute_kind(name))
            }
        }
    };
}

attributed!(Function, count_params);
attributed!(Call, count_arguments);

extension! {
    pub trait FunctionExt<'m> for Function<'m> {
        fn signature(self) -> Signature {
            ext::in_context(&self.get_type()).into_function_type()
        }

        /// Returns whether LLVM itself defines the function.
        fn is_intrinsic(self) -> bool {
            self.get_intrinsic_id() != 0
        }

        fn is_kernel(self) -> bool {
            self.get_call_conventions() == PTX_KERNEL
        }

        fn is_declaration(self) -> bool {
            self.as_global_value().is_declaration()
        }

        fn parameters(self) -> Vec<Value<'m>> {
            self.get_param_iter().map(|it| it.value()).collect()
        }

        fn instructions(self) -> Vec<Instruction<'m>> {
            let blocks = self.get_basic_block_iter();
            blocks.flat_map(|block| block.get_instructions()).collect()
        }

        fn calls(self) -> impl Iterator<Item = Call<'m>> {
            let instructions = self.instructions().into_iter();
            instructions.filter_map(|i| Call::try_from(i).ok())
        }

        /// Returns the defined functions that this function calls, once for each call.
        fn callees(self) -> Vec<Function<'m>> {
            self.calls().filter_map(Call::defined_function).collect()
        }

        /// Returns the direct calls to the function.
        fn callers(self) -> impl Iterator<Item = Call<'m>> {
            let users = self.using_instructions().into_iter();
            users
                .filter_map(|i| Call::try_from(i).ok())
                .filter(move |call| call.get_called_fn_value() == Some(self))
        }

        /// Returns whether the function has uses other than direct calls.
        fn is_address_taken(self) -> bool {
            let mut callers = self.callers();
            callers.any(|call| call.arguments().contains(&self.value()))
                || self.callers().count() < self.users().len()
        }

        fn make_internal(self) {
            self.as_global_value().make_internal();
        }

        fn append_block(self, name: &str) -> Block<'m> {
            context().append_basic_block(self, name)
        }

        /// Moves the body, names, attributes and debug information to `target`, whose parameters begin with those of
        /// `self`, and replaces `self` with `target`.
        fn move_body_to(self, module: &'m Module, target: Function<'m>) {
            for block in self.get_basic_blocks() {
                block.remove_from_function().expect("a block in a function");
                target.append_existing_basic_block(block);
            }
            for (old, new) in self.parameters().into_iter().zip(target.parameters()) {
                let name = old.name();
                old.replace_uses_with(new);
                old.rename("");
                new.rename(&name);
            }
            if let Some(subprogram) = self.get_subprogram() {
                target.set_subprogram(subprogram);
            }
            self.copy_properties_to(target);
            let name = self.name();
            self.rename("");
            target.rename(&name);
            module.supersede(self.value(), target.value());
        }

        /// Copies attributes, calling convention and linkage to `target`, whose parameters begin with those of `self`.
        fn copy_properties_to(self, target: Function<'m>) {
            for (position, attribute) in self.all_attributes() {
                target.add_attribute(position, attribute);
            }
            target.set_call_conventions(self.get_call_conventions());
            target.set_linkage(self.get_linkage());
            let visibility = self.as_global_value().get_visibility();
            target.as_global_value().set_visibility(visibility);
        }

        fn is_by_value(self, index: u32) -> bool {
            self.parameter_attribute(index, "byval").is_some()
        }

        /// Returns whether the function promises not to write through parameter `index`.
        fn is_read_only(self, index: u32) -> bool {
            let mut promises = ["readonly", "readnone"].into_iter();
            promises.any(|name| self.parameter_attribute(index, name).is_some())
        }

        /// Returns whether single-precision denormals are treated as zeros.
        fn flushes_denormals(self) -> bool {
            let modes = self.text_attribute("denormal-fp-math-f32");
            modes.is_some_and(|modes| modes.starts_with("preserve-sign"))
        }

        fn remove_string_attributes(self, predicate: impl Fn(&str) -> bool) {
            let attributes = self.attributes(AttributeLoc::Function).into_iter();
            for attribute in attributes.filter(|attribute| attribute.is_string()) {
                let name = attribute.get_string_kind_id().to_string_lossy();
                if predicate(&name) {
                    self.remove_string_attribute(AttributeLoc::Function, &name);
                }
            }
        }
    }
}

fn callee_index(call: Call) -> u32 {
    call.operand_count() - 1
}

extension! {
    pub trait CallExt<'m> for Call<'m> {
        fn called_type(self) -> Signature {
            ext::in_context(&self.get_called_fn_type()).into_function_type()
        }

        fn callee(self) -> Value<'m> {
            self.operand(callee_index(self))
        }

        /// Returns the name of the called function; the name is empty for indirect calls and inline assembly.
        fn function_name(self) -> String {
            let function = self.get_called_fn_value();
            function.map_or_else(String::new, |it| it.name())
        }

        fn defined_function(self) -> Option<Function<'m>> {
            self.get_called_fn_value().filter(|f| !f.is_declaration())
        }

        fn is_indirect(self) -> bool {
            self.get_called_fn_value().is_none()
                && self.callee().kind() != ValueKind::LLVMInlineAsmValueKind
        }

        /// Keeps LLVM from removing inline assembly or moving it across memory accesses.
        fn keep_assembly(self) {
            const CLOBBER: &str = "~{memory}";
            let assembly = self.callee().inline_assembly();
            let (template, mut constraints) = assembly.expect("a call to inline assembly");
            if !constraints.contains(CLOBBER) {
                let comma = if constraints.is_empty() { "" } else { "," };
                constraints = format!("{constraints}{comma}{CLOBBER}");
            }
            let ty = self.called_type();
            let (has_side_effects, aligns_stack, can_throw) = (true, false, false);
            let new = context().create_inline_asm(
                ty,
                template,
                constraints,
                has_side_effects,
                aligns_stack,
                None,
                can_throw,
            );
            self.instruction().set_operand(callee_index(self), new);
        }

        fn arguments(self) -> Vec<Value<'m>> {
            // The arguments are a call's first operands.
            let indices = 0..self.count_arguments();
            indices.filter_map(|index| ext::operand(&self, index)).collect()
        }

        fn set_callee(self, callee: Function<'m>) {
            assert_eq!(self.get_called_fn_type(), callee.get_type());
            self.instruction()
                .set_operand(callee_index(self), callee.basic());
        }

        /// Copies attributes, calling convention and tail-call kind to `other`, which has at least as many arguments.
        fn copy_properties_to(self, other: Call<'m>) {
            other.set_call_convention(self.get_call_convention());
            other.set_tail_call_kind(self.get_tail_call_kind());
            for (position, attribute) in self.all_attributes() {
                other.add_attribute(position, attribute);
            }
        }

        /// Copies the parameter attributes of `function` (such as `byval` and `zeroext`), which has the same number of
        /// parameters.
        fn pass_as(self, function: Function<'m>) {
            for (position, attribute) in function.all_attributes() {
                if matches!(position, AttributeLoc::Param(_)) {
                    self.add_attribute(position, attribute);
                }
            }
        }
    }
}
