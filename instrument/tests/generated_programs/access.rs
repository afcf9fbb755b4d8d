//! Data types, and statements that read and write data.

use super::body::Body;
use super::scope::{Pointer, pick};
use superstep_trace::Op;

/// Data type: its name, size in bytes, alignment, and the integer or floating-point type of its elements.
struct Data(&'static str, u32, u32, &'static str);

const TYPES: &[Data] = &[
    Data("i32", 4, 4, "i32"),
    Data("i8", 1, 1, "i8"),
    Data("i16", 2, 2, "i16"),
    Data("i64", 8, 8, "i64"),
    Data("i24", 3, 4, "i24"),
    Data("i128", 16, 16, "i128"),
    Data("half", 2, 2, "half"),
    Data("float", 4, 4, "float"),
    Data("double", 8, 8, "double"),
    Data("<2 x i8>", 2, 2, "i8"),
    Data("<4 x i8>", 4, 4, "i8"),
    Data("<2 x i16>", 4, 4, "i16"),
    Data("<2 x i32>", 8, 8, "i32"),
    Data("<3 x i32>", 12, 4, "i32"),
    Data("<4 x i32>", 16, 16, "i32"),
    Data("<2 x i64>", 16, 16, "i64"),
    Data("<2 x float>", 8, 8, "float"),
    Data("<4 x float>", 16, 16, "float"),
    Data("<2 x double>", 16, 16, "double"),
];

/// Returns the integer type that is as wide as an element type.
fn integer_of(element: &str) -> &str {
    match element {
        "half" => "i16",
        "float" => "i32",
        "double" => "i64",
        _ => element,
    }
}

impl Body<'_> {
    /// Writes the address for an access of `bytes` bytes through a pointer, in the pointer's address space.
    fn address(&mut self, pointer: &Pointer, bytes: u32, alignment: u32, choice: u16) -> String {
        let ty = super::body::pointer_type(pointer.number);
        // For any number, the masked offset keeps the access within the 64 bytes at the pointer.
        let limit = if bytes <= alignment { 63 } else { 31 };
        let mask = limit & !(alignment - 1);
        let number = self.number(choice / 4);
        match choice % 4 {
            0 => pointer.text.clone(),
            1 => {
                let offset = u32::from(choice / 4) & mask;
                self.define(&format!(
                    "getelementptr inbounds i8, {ty} {}, i64 {offset}",
                    pointer.text
                ))
            }
            2 => {
                let offset = self.define(&format!("and i64 {number}, {mask}"));
                self.define(&format!(
                    "getelementptr i8, {ty} {}, i64 {offset}",
                    pointer.text
                ))
            }
            _ => {
                let index = self.define(&format!("and i64 {number}, {}", mask / 16));
                self.define(&format!(
                    "getelementptr inbounds [4 x {{ i64, i64 }}], {ty} {}, i64 0, i64 {index}",
                    pointer.text
                ))
            }
        }
    }

    /// Writes a load of data: plain, volatile or atomic.
    pub fn load(&mut self, choices: [u16; 4]) {
        let pointer = pick(&self.scope.pointers, choices[0]);
        let Data(name, bytes, alignment, element) = &TYPES[usize::from(choices[1]) % TYPES.len()];
        let address = self.address(&pointer, *bytes, *alignment, choices[2]);
        let ty = super::body::pointer_type(pointer.number);
        self.access(Op::Load, &ty, &address, &bytes.to_string());
        let kind = match choices[3] % 8 {
            0 => "volatile",
            1 if matches!(*name, "i32" | "i64" | "i16" | "i8" | "float") => "atomic",
            _ => "",
        };
        let order = if kind == "atomic" { "acquire, " } else { "" };
        let order = order.trim_end_matches(", ");
        let value = self.define(&format!(
            "load {kind} {name}, {ty} {address} {order}, align {alignment}"
        ));
        let value = if name.starts_with('<') {
            let last = name[1..2].parse::<u16>().unwrap_or(1);
            self.define(&format!(
                "extractelement {name} {value}, i32 {}",
                choices[3] / 8 % last
            ))
        } else {
            value
        };
        let integer = integer_of(element);
        let value = if integer == *element {
            value
        } else {
            self.define(&format!("bitcast {element} {value} to {integer}"))
        };
        let number = match integer {
            "i64" => value,
            "i128" => self.define(&format!("trunc i128 {value} to i64")),
            _ => self.define(&format!("zext {integer} {value} to i64")),
        };
        self.scope.numbers.push(number);
    }

    /// Writes a store of data.
    pub fn store(&mut self, choices: [u16; 4]) {
        let pointer = self.writable_pointer(choices[0]);
        let Data(name, bytes, alignment, element) = &TYPES[usize::from(choices[1]) % TYPES.len()];
        let integer = integer_of(element);
        let number = self.number(choices[3] / 8);
        let mut value = match integer {
            "i64" => number,
            "i128" => self.define(&format!("zext i64 {number} to i128")),
            _ => self.define(&format!("trunc i64 {number} to {integer}")),
        };
        if integer != *element {
            value = self.define(&format!("bitcast {integer} {value} to {element}"));
        }
        if name.starts_with('<') {
            let lanes = name[1..2].parse::<u16>().unwrap_or(1);
            let lane = choices[3] % lanes;
            value = self.define(&format!(
                "insertelement {name} zeroinitializer, {element} {value}, i32 {lane}"
            ));
        }
        let address = self.address(&pointer, *bytes, *alignment, choices[2]);
        let ty = super::body::pointer_type(pointer.number);
        self.access(Op::Store, &ty, &address, &bytes.to_string());
        let kind = match choices[3] % 8 {
            0 => "volatile",
            1 if matches!(*name, "i32" | "i64" | "i16" | "i8" | "float") => "atomic",
            _ => "",
        };
        let order = if kind == "atomic" { "release" } else { "" };
        self.line(&format!(
            "store {kind} {name} {value}, {ty} {address} {order}, align {alignment}"
        ));
    }

    /// Writes an `atomicrmw` on data.
    pub fn atomic(&mut self, choices: [u16; 4]) {
        const OPERATIONS: &[(&str, Op)] = &[
            ("add", Op::AtomicAdd),
            ("sub", Op::AtomicSub),
            ("xchg", Op::AtomicExch),
            ("min", Op::AtomicMin),
            ("umin", Op::AtomicMin),
            ("max", Op::AtomicMax),
            ("umax", Op::AtomicMax),
            ("uinc_wrap", Op::AtomicInc),
            ("udec_wrap", Op::AtomicDec),
            ("and", Op::AtomicAnd),
            ("or", Op::AtomicOr),
            ("xor", Op::AtomicXor),
            ("nand", Op::AtomicOther),
            ("fadd", Op::AtomicAdd),
        ];
        let pointer = self.writable_pointer(choices[0]);
        let (name, op) = OPERATIONS[usize::from(choices[1]) % OPERATIONS.len()];
        let wide = choices[3] % 2 == 1;
        let (integer, bytes) = if wide { ("i64", 8) } else { ("i32", 4) };
        let number = self.number(choices[3] / 8);
        let value = if wide {
            number
        } else {
            self.define(&format!("trunc i64 {number} to i32"))
        };
        let address = self.address(&pointer, bytes, bytes, choices[2]);
        let ty = super::body::pointer_type(pointer.number);
        self.access(op, &ty, &address, &bytes.to_string());
        let old = if name == "fadd" {
            let real = if wide { "double" } else { "float" };
            let old = self.define(&format!(
                "atomicrmw fadd {ty} {address}, {real} 1.5 seq_cst"
            ));
            self.define(&format!("bitcast {real} {old} to {integer}"))
        } else {
            let scope = if choices[3] % 4 < 2 {
                ""
            } else {
                "syncscope(\"block\") "
            };
            self.define(&format!(
                "atomicrmw {name} {ty} {address}, {integer} {value} {scope}monotonic"
            ))
        };
        let number = if wide {
            old
        } else {
            self.define(&format!("zext i32 {old} to i64"))
        };
        self.scope.numbers.push(number);
    }

    /// Writes a `cmpxchg` on data.
    pub fn compare_exchange(&mut self, choices: [u16; 4]) {
        let pointer = self.writable_pointer(choices[0]);
        let (integer, bytes) = [("i32", 4), ("i64", 8), ("i16", 2)][usize::from(choices[1]) % 3];
        let number = self.number(choices[3]);
        let value = if bytes == 8 {
            number
        } else {
            self.define(&format!("trunc i64 {number} to {integer}"))
        };
        let address = self.address(&pointer, bytes, bytes, choices[2]);
        let ty = super::body::pointer_type(pointer.number);
        self.access(Op::AtomicCas, &ty, &address, &bytes.to_string());
        let pair = self.define(&format!(
            "cmpxchg {ty} {address}, {integer} 0, {integer} {value} acq_rel monotonic"
        ));
        let success = self.define(&format!("extractvalue {{ {integer}, i1 }} {pair}, 1"));
        let number = self.define(&format!("zext i1 {success} to i64"));
        self.scope.numbers.push(number);
    }

    /// Returns a length of up to 32 bytes, which may be constant and is often 0.
    fn length(&mut self, choice: u16) -> String {
        const CONSTANT: [u32; 6] = [0, 1, 8, 12, 32, 24];
        match choice % 4 {
            0 | 1 => CONSTANT[usize::from(choice / 4) % CONSTANT.len()].to_string(),
            2 => {
                let number = self.number(choice / 4);
                self.define(&format!("and i64 {number}, 31"))
            }
            _ => {
                let number = self.number(choice / 4);
                self.define(&format!("and i64 {number}, 8"))
            }
        }
    }

    /// Writes a `memset`.
    pub fn fill(&mut self, choices: [u16; 4]) {
        let pointer = self.writable_pointer(choices[0]);
        let length = self.length(choices[1]);
        let number = self.number(choices[2]);
        let byte = self.define(&format!("trunc i64 {number} to i8"));
        let ty = super::body::pointer_type(pointer.number);
        self.access(Op::Store, &ty, &pointer.text, &length);
        self.line(&format!(
            "call void @llvm.memset.p{}.i64({ty} {}, i8 {byte}, i64 {length}, i1 false)",
            pointer.number, pointer.text
        ));
    }

    /// Writes a `memcpy` or `memmove` from the upper half of one pointer's 64 bytes to the lower half of another
    /// pointer's 64 bytes. The halves never overlap, because each pointer is at a multiple of 64 bytes in its object.
    pub fn copy(&mut self, choices: [u16; 4]) {
        let target = self.writable_pointer(choices[0]);
        let source = pick(&self.scope.pointers, choices[1]);
        let length = self.length(choices[2]);
        let target_type = super::body::pointer_type(target.number);
        let source_type = super::body::pointer_type(source.number);
        let from = self.define(&format!(
            "getelementptr i8, {source_type} {}, i64 32",
            source.text
        ));
        self.access(Op::Load, &source_type, &from, &length);
        self.access(Op::Store, &target_type, &target.text, &length);
        let name = if choices[3].is_multiple_of(2) {
            "memcpy"
        } else {
            "memmove"
        };
        self.line(&format!(
            "call void @llvm.{name}.p{}.p{}.i64({target_type} {}, {source_type} {from}, i64 {length}, i1 {})",
            target.number,
            source.number,
            target.text,
            choices[3] % 8 == 7
        ));
    }
}
