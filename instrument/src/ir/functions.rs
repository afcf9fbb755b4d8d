//! Functions, blocks and calls.

use super::traits::*;
use super::{
    Block, Builder, Call, Function, Instruction, Module, Signature, Type, Value, ValueKind,
    context, ext, values::users_from,
};
use inkwell::attributes::{Attribute, AttributeLoc};

/// Calling convention of a CUDA kernel in NVPTX IR.
const PTX_KERNEL: u32 = 71;

pub trait BlockExt<'m>: Copy {
    fn name(self) -> String;
    fn instructions(self) -> Vec<Instruction<'m>>;
    fn successors(self) -> Vec<Block<'m>>;
    /// Moves what follows `instruction`, which is one of this block, into a new block of its own, and goes there. No phi may name this
    /// block: it would name the wrong one.
    fn split_after(self, instruction: Instruction<'m>);
    /// Moves what precedes `instruction`, which is one of this block, into a new block, to which all that led here leads now. Nothing
    /// leads from there to this block yet.
    fn split_before(self, instruction: Instruction<'m>) -> Block<'m>;
}

impl<'m> BlockExt<'m> for Block<'m> {
    fn name(self) -> String {
        self.get_name().to_string_lossy().into_owned()
    }

    fn instructions(self) -> Vec<Instruction<'m>> {
        self.get_instructions().collect()
    }

    fn successors(self) -> Vec<Block<'m>> {
        self.get_terminator()
            .map(ext::successors)
            .unwrap_or_default()
    }

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

    fn split_before(self, instruction: Instruction<'m>) -> Block<'m> {
        assert_eq!(instruction.parent_block(), self);
        let function = instruction.parent_function();
        let head = function.append_block(&format!("{}.head", self.name()));
        let jumps: Vec<Instruction> = users_from(self.get_first_use())
            .filter_map(|user| user.as_instruction())
            .collect();
        for jump in jumps {
            for (index, target) in (0..).zip(ext::successors(jump)) {
                if target == self {
                    ext::set_successor(jump, index, head);
                }
            }
        }
        head.move_before(self).expect("two blocks of one function");
        let builder = Builder::at_end(head);
        for earlier in self.instructions() {
            if earlier == instruction {
                break;
            }
            builder.take(earlier);
        }
        head
    }
}

fn attribute_kind(name: &str) -> u32 {
    let kind = Attribute::get_named_enum_kind_id(name);
    assert_ne!(kind, 0, "LLVM has no attribute {name}");
    kind
}

pub trait Attributed: Copy {
    fn attribute_places(self) -> Vec<AttributeLoc>;
    fn set_attribute(self, name: &str);
    fn set_text_attribute(self, name: &str, value: &str);
    fn text_attribute(self, name: &str) -> Option<String>;
    fn has_attribute(self, name: &str) -> bool;
    /// Removes the attribute `name` from all places.
    fn remove_attribute(self, name: &str);
    fn parameter_attribute(self, index: u32, name: &str) -> Option<Attribute>;
    /// Type of what parameter `index` points to, if that is passed by value.
    fn by_value_type(self, index: u32) -> Option<Type>;
    /// Alignment of what parameter `index` points to, where that is promised.
    fn promised_alignment_bytes(self, index: u32) -> Option<u64> {
        let attribute = self.parameter_attribute(index, "align")?;
        Some(attribute.get_enum_value())
    }
}

macro_rules! attributed {
    ($type:ident, $count:ident) => {
        impl Attributed for $type<'_> {
            fn attribute_places(self) -> Vec<AttributeLoc> {
                let parameters = (0..self.$count()).map(AttributeLoc::Param);
                let whole = [AttributeLoc::Return, AttributeLoc::Function];
                parameters.chain(whole).collect()
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
                let kind = attribute_kind(name);
                self.get_enum_attribute(AttributeLoc::Function, kind)
                    .is_some()
            }

            fn remove_attribute(self, name: &str) {
                for place in self.attribute_places() {
                    self.remove_enum_attribute(place, attribute_kind(name));
                }
            }

            fn parameter_attribute(self, index: u32, name: &str) -> Option<Attribute> {
                self.get_enum_attribute(AttributeLoc::Param(index), attribute_kind(name))
            }

            fn by_value_type(self, index: u32) -> Option<Type> {
                self.parameter_attribute(index, "byval")
                    .map(ext::attribute_type)
            }
        }
    };
}

attributed!(Function, count_params);
attributed!(Call, count_arguments);

pub trait FunctionExt<'m>: Copy {
    fn signature(self) -> Signature;
    /// Whether LLVM itself defines the function.
    fn is_intrinsic(self) -> bool;
    fn is_kernel(self) -> bool;
    fn is_declaration(self) -> bool;
    fn parameters(self) -> Vec<Value<'m>>;
    fn instructions(self) -> Vec<Instruction<'m>>;
    fn calls(self) -> impl Iterator<Item = Call<'m>>;
    /// The functions with a body that it calls, once for each call.
    fn callees(self) -> Vec<Function<'m>>;
    /// The calls that call it, not those that only pass its address on.
    fn callers(self) -> impl Iterator<Item = Call<'m>>;
    /// Whether it is used in another way than by calling it.
    fn is_address_taken(self) -> bool;
    fn make_internal(self);
    fn append_block(self, name: &str) -> Block<'m>;
    /// Moves the body, names, attributes and debug information into `target`, whose parameters begin with those of `self`, and puts
    /// `target` wherever `self` is used.
    fn move_body_to(self, module: &'m Module, target: Function<'m>);
    /// Gives `target`, whose parameters begin with those of `self`, the attributes, convention and linkage of `self`.
    fn copy_properties_to(self, target: Function<'m>);
    fn is_by_value(self, index: u32) -> bool;
    /// Whether the function promises not to write through parameter `index`.
    fn is_read_only(self, index: u32) -> bool;
    /// Whether denormals in single precision count as zeros.
    fn flushes_denormals(self) -> bool;
    fn remove_string_attributes(self, unwanted: impl Fn(&str) -> bool);
}

impl<'m> FunctionExt<'m> for Function<'m> {
    fn signature(self) -> Signature {
        ext::in_context(&self.get_type()).into_function_type()
    }

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
        self.get_param_iter()
            .map(|parameter| parameter.value())
            .collect()
    }

    fn instructions(self) -> Vec<Instruction<'m>> {
        let blocks = self.get_basic_block_iter();
        blocks.flat_map(|block| block.get_instructions()).collect()
    }

    fn calls(self) -> impl Iterator<Item = Call<'m>> {
        let instructions = self.instructions().into_iter();
        instructions.filter_map(|i| Call::try_from(i).ok())
    }

    fn callees(self) -> Vec<Function<'m>> {
        self.calls().filter_map(Call::defined_function).collect()
    }

    fn callers(self) -> impl Iterator<Item = Call<'m>> {
        let users = self.using_instructions().into_iter();
        users
            .filter_map(|i| Call::try_from(i).ok())
            .filter(move |call| call.get_called_fn_value() == Some(self))
    }

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

    fn move_body_to(self, module: &'m Module, target: Function<'m>) {
        for block in self.get_basic_blocks() {
            block.remove_from_function().expect("a block of a function");
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

    fn copy_properties_to(self, target: Function<'m>) {
        for place in self.attribute_places() {
            for attribute in self.attributes(place) {
                target.add_attribute(place, attribute);
            }
        }
        target.set_call_conventions(self.get_call_conventions());
        target.set_linkage(self.get_linkage());
        let visibility = self.as_global_value().get_visibility();
        target.as_global_value().set_visibility(visibility);
    }

    fn is_by_value(self, index: u32) -> bool {
        self.parameter_attribute(index, "byval").is_some()
    }

    fn is_read_only(self, index: u32) -> bool {
        let mut promises = ["readonly", "readnone"].into_iter();
        promises.any(|name| self.parameter_attribute(index, name).is_some())
    }

    fn flushes_denormals(self) -> bool {
        let modes = self.text_attribute("denormal-fp-math-f32");
        modes.is_some_and(|modes| modes.starts_with("preserve-sign"))
    }

    fn remove_string_attributes(self, unwanted: impl Fn(&str) -> bool) {
        let attributes = self.attributes(AttributeLoc::Function).into_iter();
        for attribute in attributes.filter(|attribute| attribute.is_string()) {
            let name = attribute.get_string_kind_id().to_string_lossy();
            if unwanted(&name) {
                self.remove_string_attribute(AttributeLoc::Function, &name);
            }
        }
    }
}

pub trait CallExt<'m>: Copy {
    fn called_type(self) -> Signature;
    fn callee(self) -> Value<'m>;
    /// The name of the function that is called; empty for inline assembly and computed pointers.
    fn function_name(self) -> String;
    fn defined_function(self) -> Option<Function<'m>>;
    fn is_indirect(self) -> bool;
    /// Makes a call of inline assembly one that LLVM keeps and leaves where it is among accesses to memory.
    fn keep_assembly(self);
    fn arguments(self) -> Vec<Value<'m>>;
    fn set_callee(self, callee: Function<'m>);
    /// Copies everything that the call says about itself to `other`, which passes at least as many arguments: attributes, convention,
    /// tail-call kind.
    fn copy_properties_to(self, other: Call<'m>);
    /// Takes over what `function`, which has as many parameters, says about how they are passed (`byval`, `zeroext`).
    fn pass_as(self, function: Function<'m>);
}

fn callee_index(call: Call) -> u32 {
    call.operand_count() - 1
}

impl<'m> CallExt<'m> for Call<'m> {
    fn called_type(self) -> Signature {
        ext::in_context(&self.get_called_fn_type()).into_function_type()
    }

    fn callee(self) -> Value<'m> {
        self.operand(callee_index(self))
    }

    fn function_name(self) -> String {
        self.get_called_fn_value()
            .map(|f| f.name())
            .unwrap_or_default()
    }

    fn defined_function(self) -> Option<Function<'m>> {
        self.get_called_fn_value().filter(|f| !f.is_declaration())
    }

    fn is_indirect(self) -> bool {
        self.get_called_fn_value().is_none()
            && self.callee().kind() != ValueKind::LLVMInlineAsmValueKind
    }

    fn keep_assembly(self) {
        const CLOBBER: &str = "~{memory}";
        let assembly = self.callee().inline_assembly();
        let (template, mut constraints) = assembly.expect("a call of inline assembly");
        if !constraints.contains(CLOBBER) {
            let comma = if constraints.is_empty() { "" } else { "," };
            constraints = format!("{constraints}{comma}{CLOBBER}");
        }
        let ty = self.called_type();
        let new = context().create_inline_asm(ty, template, constraints, true, false, None, false);
        self.instruction().set_operand(callee_index(self), new);
    }

    fn arguments(self) -> Vec<Value<'m>> {
        // The arguments are a call's first operands.
        let count = self.count_arguments();
        let operands = self.indexed_operands();
        operands
            .take_while(|(index, _)| *index < count)
            .map(|(_, value)| value)
            .collect()
    }

    fn set_callee(self, callee: Function<'m>) {
        assert_eq!(self.get_called_fn_type(), callee.get_type());
        self.instruction()
            .set_operand(callee_index(self), callee.basic());
    }

    fn copy_properties_to(self, other: Call<'m>) {
        other.set_call_convention(self.get_call_convention());
        other.set_tail_call_kind(self.get_tail_call_kind());
        for place in self.attribute_places() {
            for attribute in self.attributes(place) {
                other.add_attribute(place, attribute);
            }
        }
    }

    fn pass_as(self, function: Function<'m>) {
        for place in (0..function.count_params()).map(AttributeLoc::Param) {
            for attribute in function.attributes(place) {
                self.add_attribute(place, attribute);
            }
        }
    }
}
