//! What functions and calls say about themselves, their results and their parameters.

use super::{Call, Function, Type, context};
use llvm_sys::core::*;
use llvm_sys::prelude::LLVMAttributeRef;
use std::ffi::c_uint;

/// The function or call as a whole; 0 is its result, 1 its first parameter.
pub(super) const WHOLE: c_uint = c_uint::MAX;

/// An attribute without a value.
#[derive(Clone, Copy, Debug)]
pub enum Attribute {
    AlwaysInline,
    NoBuiltin,
    NoInline,
    NoReturn,
    NoUnwind,
}

impl Attribute {
    fn create(self) -> LLVMAttributeRef {
        let kind = attribute_kind(match self {
            Attribute::AlwaysInline => "alwaysinline",
            Attribute::NoBuiltin => "nobuiltin",
            Attribute::NoInline => "noinline",
            Attribute::NoReturn => "noreturn",
            Attribute::NoUnwind => "nounwind",
        });
        // SAFETY: the context is alive; attributes of these kinds have no value.
        unsafe { LLVMCreateEnumAttribute(context(), kind, 0) }
    }
}

/// LLVM's number for a named attribute.
fn attribute_kind(name: &str) -> c_uint {
    // SAFETY: LLVM reads as many bytes of the name as it is told.
    let kind = unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) };
    assert_ne!(kind, 0, "LLVM has no attribute {name}");
    kind
}

/// The same methods for functions and calls, each with LLVM's functions for its kind.
macro_rules! attributed {
    ($type:ident, $parameters:ident, $count:ident, $fill:ident, $get:ident, $text:ident, $add:ident, $remove:ident) => {
        impl<'m> $type<'m> {
            /// Where attributes can stand.
            pub(super) fn attribute_indices(self) -> impl Iterator<Item = c_uint> {
                (0..=self.$parameters().len() as c_uint).chain([WHOLE])
            }

            pub(super) fn attributes_at(self, index: c_uint) -> Vec<LLVMAttributeRef> {
                // SAFETY: alive, and of the kind that the functions take; LLVM fills as many entries as it said that there are.
                unsafe {
                    let mut list = vec![std::ptr::null_mut(); $count(self.raw(), index) as usize];
                    $fill(self.raw(), index, list.as_mut_ptr());
                    list
                }
            }

            fn attribute_at(self, index: c_uint, name: &str) -> Option<LLVMAttributeRef> {
                // SAFETY: alive, and of the kind that the function takes; an absent attribute is null.
                let attribute = unsafe { $get(self.raw(), index, attribute_kind(name)) };
                (!attribute.is_null()).then_some(attribute)
            }

            pub(super) fn add_attribute_at(self, index: c_uint, attribute: LLVMAttributeRef) {
                assert!(index == WHOLE || index as usize <= self.$parameters().len());
                // SAFETY: alive, and of the kind that the function takes; attributes live in the context, and the place is there.
                unsafe { $add(self.raw(), index, attribute) }
            }

            /// Says something of the whole.
            pub fn add_attribute(self, attribute: Attribute) {
                self.add_attribute_at(WHOLE, attribute.create());
            }

            /// Gives the whole an attribute of free text.
            pub fn set_text_attribute(self, name: &str, value: &str) {
                let [of_name, of_value] = [name, value].map(|text| text.len() as c_uint);
                let [name, value] = [name, value].map(|text| text.as_ptr().cast());
                // SAFETY: the context is alive; LLVM copies as many bytes as it is told.
                unsafe {
                    let context = context();
                    let new = LLVMCreateStringAttribute(context, name, of_name, value, of_value);
                    self.add_attribute_at(WHOLE, new);
                }
            }

            /// An attribute of free text of the whole.
            pub fn text_attribute(self, name: &str) -> Option<String> {
                let (bytes, mut length) = (name.as_ptr().cast(), name.len() as c_uint);
                // SAFETY: alive, and of the kind that the function takes, which reads as many bytes as it is told. An absent attribute
                // is null; one that is there lends its value and says how long it is.
                unsafe {
                    let attribute = $text(self.raw(), WHOLE, bytes, length);
                    (!attribute.is_null()).then(|| {
                        let value = LLVMGetStringAttributeValue(attribute, &mut length);
                        super::text(value, length as usize)
                    })
                }
            }

            /// Whether the whole has the attribute `name`.
            pub fn has_attribute(self, name: &str) -> bool {
                self.attribute_at(WHOLE, name).is_some()
            }

            /// Removes the attribute `name` from all places.
            pub fn remove_attribute(self, name: &str) {
                let kind = attribute_kind(name);
                for index in self.attribute_indices() {
                    // SAFETY: alive, and of the kind that the function takes; removing an absent attribute does nothing.
                    unsafe { $remove(self.raw(), index, kind) }
                }
            }

            /// Type of what parameter `index` points to, if that is passed by value.
            pub fn by_value_type(self, index: u32) -> Option<Type> {
                let attribute = self.attribute_at(index + 1, "byval")?;
                // SAFETY: an attribute of this kind holds a type.
                Some(unsafe { Type::new(LLVMGetTypeAttributeValue(attribute)) })
            }

            /// Alignment of what parameter `index` points to, where that is promised.
            pub fn promised_alignment_bytes(self, index: u32) -> Option<u64> {
                let attribute = self.attribute_at(index + 1, "align")?;
                // SAFETY: an attribute of this kind holds a number.
                Some(unsafe { LLVMGetEnumAttributeValue(attribute) })
            }
        }
    };
}

attributed!(
    Function,
    parameters,
    LLVMGetAttributeCountAtIndex,
    LLVMGetAttributesAtIndex,
    LLVMGetEnumAttributeAtIndex,
    LLVMGetStringAttributeAtIndex,
    LLVMAddAttributeAtIndex,
    LLVMRemoveEnumAttributeAtIndex
);
attributed!(
    Call,
    arguments,
    LLVMGetCallSiteAttributeCount,
    LLVMGetCallSiteAttributes,
    LLVMGetCallSiteEnumAttribute,
    LLVMGetCallSiteStringAttribute,
    LLVMAddCallSiteAttribute,
    LLVMRemoveCallSiteEnumAttribute
);

impl Function<'_> {
    /// Whether parameter `index` is passed by value behind a pointer.
    pub fn is_by_value(self, index: u32) -> bool {
        self.attribute_at(index + 1, "byval").is_some()
    }

    /// Whether the function promises not to write through parameter `index`.
    pub fn is_read_only(self, index: u32) -> bool {
        let mut promises = ["readonly", "readnone"].into_iter();
        promises.any(|name| self.attribute_at(index + 1, name).is_some())
    }

    /// Whether denormals in single precision count as zeros.
    pub fn flushes_denormals(self) -> bool {
        let modes = self.text_attribute("denormal-fp-math-f32");
        modes.is_some_and(|modes| modes.starts_with("preserve-sign"))
    }

    /// Removes the string attributes of the function itself whose names `unwanted` picks.
    pub fn remove_string_attributes(self, unwanted: impl Fn(&str) -> bool) {
        for attribute in self.attributes_at(WHOLE) {
            // SAFETY: an attribute of the context; one that is a string lends its name, which is copied, and LLVM reads as
            // many bytes of the copy as it is told.
            unsafe {
                if LLVMIsStringAttribute(attribute) == 0 {
                    continue;
                }
                let mut length = 0;
                let kind = LLVMGetStringAttributeKind(attribute, &mut length);
                let name = super::text(kind, length as usize);
                if unwanted(&name) {
                    let bytes = name.as_ptr().cast();
                    LLVMRemoveStringAttributeAtIndex(self.raw(), WHOLE, bytes, length);
                }
            }
        }
    }
}
