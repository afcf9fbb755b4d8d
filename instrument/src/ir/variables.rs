//! What changes variables of a module, and what the source's attributes `annotate` say.

use super::{Module, Opcode, Value, c_string};
use llvm_sys::comdat::{LLVMGetComdat, LLVMSetComdat};
use llvm_sys::core::*;

/// LLVM's list of what is annotated, with what.
const ANNOTATIONS: &str = "llvm.global.annotations";

/// What an attribute `annotate` says.
pub struct Annotation<'m> {
    /// The function or variable.
    pub value: Value<'m>,
    pub text: String,
    /// The numbers behind the text.
    pub numbers: Vec<u64>,
}

impl Module {
    /// Puts the variable of that name, if there is one, into another address space.
    pub fn move_variable(&mut self, name: &str, address_space: u32) {
        self.settle();
        let Some(old) = self.variable(name) else {
            return;
        };
        let new = self.add_variable_in("", old.value_type(), address_space);
        new.set_constant(old.is_never_written());
        if let Some(value) = old.initializer() {
            new.set_initializer(value);
        }
        let (old, new, name) = (old.raw(), new.raw(), c_string(name));
        // SAFETY: two variables of this module of one type, of which the new one takes over all that the old one says of itself. What uses
        // the old one gets the new one's address, cast to the old one's type. No handle exists of the old one or of constants that name it:
        // the module is borrowed by `&mut`, and those here end.
        unsafe {
            LLVMSetLinkage(new, LLVMGetLinkage(old));
            LLVMSetVisibility(new, LLVMGetVisibility(old));
            LLVMSetAlignment(new, LLVMGetAlignment(old));
            LLVMSetUnnamedAddress(new, LLVMGetUnnamedAddress(old));
            LLVMSetExternallyInitialized(new, LLVMIsExternallyInitialized(old));
            LLVMSetComdat(new, LLVMGetComdat(old));
            LLVMReplaceAllUsesWith(old, LLVMConstAddrSpaceCast(new, LLVMTypeOf(old)));
            LLVMDeleteGlobal(old);
            LLVMSetValueName2(new, name.as_ptr(), name.count_bytes());
        }
    }

    /// The annotations of the source.
    pub fn annotations(&self) -> Vec<Annotation<'_>> {
        let list = self.variable(ANNOTATIONS).and_then(|v| v.initializer());
        let rows = list.map(|list| list.operands()).unwrap_or_default();
        // A row has what is annotated, the text, file, line and numbers.
        let annotations = rows.into_iter().filter_map(|row| {
            let mut value = row.operand(0);
            if value.opcode() == Some(Opcode::LLVMAddrSpaceCast) {
                value = value.operand(0);
            }
            let initial = |index| row.operand(index).as_variable()?.initializer();
            let numbers = initial(4).map(|numbers| numbers.operands());
            let numbers = numbers.unwrap_or_default().into_iter();
            Some(Annotation {
                value,
                text: initial(1)?.constant_text()?,
                numbers: numbers.filter_map(Value::constant_integer).collect(),
            })
        });
        annotations.collect()
    }

    /// Deletes the annotations.
    pub fn delete_annotations(&mut self) {
        self.settle();
        if let Some(list) = self.variable(ANNOTATIONS) {
            assert!(list.users().is_empty());
            // SAFETY: a variable of this module that nothing uses (asserted). No other handle of it exists, for the module is borrowed by
            // `&mut`, and the one here ends.
            unsafe { LLVMDeleteGlobal(list.raw()) }
        }
    }
}
