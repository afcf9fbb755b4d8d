//! Moves a module's variables between address spaces, and reads the source's `annotate` attributes.

use super::traits::*;
use super::{Module, Opcode, Value};

pub const ANNOTATIONS: &str = "llvm.global.annotations";

const MOVED: &str = "superstep.moved";

pub struct Annotation<'m> {
    pub value: Value<'m>,
    pub text: String,
    pub numbers: Vec<u64>,
}

impl Module {
    /// Moves the variable `name`, if it exists, to another address space.
    pub fn move_variable(&mut self, name: &str, address_space: u32) {
        self.settle();
        let Some(old) = self.variable(name) else {
            return;
        };
        let new = self.add_variable_in("", old.value_type(), address_space);
        new.set_constant(old.is_constant());
        if let Some(value) = old.initial_value() {
            new.set_initial_value(value);
        }
        new.set_linkage(old.get_linkage());
        new.set_visibility(old.get_visibility());
        new.set_alignment(old.get_alignment());
        new.set_unnamed_address(old.get_unnamed_address());
        new.set_externally_initialized(old.is_externally_initialized());
        if let Some(comdat) = old.get_comdat() {
            new.set_comdat(comdat);
        }
        let (old_address, new_address) = (old.as_pointer_value(), new.as_pointer_value());
        let new_address = new_address.const_address_space_cast(old_address.get_type());
        Self::replace_address(old_address, new_address);
        old.set_name(MOVED);
        new.set_name(name);
        self.delete_unused(MOVED);
    }

    pub fn annotations(&self) -> Vec<Annotation<'_>> {
        let list = self.variable(ANNOTATIONS).and_then(|v| v.initial_value());
        let rows = list.map(|list| list.operands()).unwrap_or_default();
        // Each row contains the annotated value, the text, the file, the line and the arguments.
        let annotations = rows.into_iter().filter_map(|row| {
            let mut value = row.operand(0);
            if value.opcode() == Some(Opcode::AddrSpaceCast) {
                value = value.operand(0);
            }
            let initial = |index| row.operand(index).as_variable()?.initial_value();
            let numbers = initial(4).map(|numbers| numbers.operands());
            let numbers = numbers.into_iter().flatten();
            Some(Annotation {
                value,
                text: initial(1)?.constant_text()?,
                numbers: numbers.filter_map(|it| it.constant_integer()).collect(),
            })
        });
        annotations.collect()
    }
}
