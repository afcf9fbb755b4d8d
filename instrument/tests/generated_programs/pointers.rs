//! Statements that pass pointers through arithmetic, casts, integers, memory, structures and vectors.

use super::body::{Body, pointer_type};
use super::scope::{Layout, Life, Pointer, Slots, Space, pick};
use superstep_trace::Op;

/// Type of a structure with two pointers and an integer.
pub const PAIR: &str = "{ ptr, i64, ptr }";

impl Body<'_> {
    /// Writes a pointer to either half of an object.
    pub fn interior(&mut self, choices: [u16; 4]) {
        let pointer = pick(&self.scope.pointers, choices[0]);
        let ty = pointer_type(pointer.number);
        let text = if pointer.span < 128 {
            self.define(&format!("getelementptr i8, {ty} {}, i64 0", pointer.text))
        } else {
            let number = self.number(choices[1]);
            let offset = self.define(&format!("and i64 {number}, 64"));
            self.define(&format!(
                "getelementptr inbounds i8, {ty} {}, i64 {offset}",
                pointer.text
            ))
        };
        self.scope.pointers.push(Pointer {
            text,
            span: 64,
            ..pointer
        });
    }

    /// Casts a pointer to the address space that it points into.
    pub fn typed(&mut self, choices: [u16; 4]) {
        let list: Vec<Pointer> = self.scope.pointers.clone();
        let known: Vec<&Pointer> = list
            .iter()
            .filter(|p| p.number == 0 && p.space.is_some())
            .collect();
        let pointer = pick(&known, choices[0]).clone();
        let number = pointer.space.map_or(1, Space::number);
        let text = self.define(&format!(
            "addrspacecast ptr {} to {}",
            pointer.text,
            pointer_type(number)
        ));
        self.scope.pointers.push(Pointer {
            text,
            number,
            ..pointer
        });
    }

    /// Converts a pointer to an integer and back.
    pub fn through_number(&mut self, choices: [u16; 4]) {
        let pointer = pick(&self.scope.pointers, choices[0]);
        if !self.objects.may_hide(pointer.space) {
            return;
        }
        let pointer = self.generic(&pointer);
        let address = self.define(&format!("ptrtoint ptr {} to i64", pointer.text));
        let key = self.number(choices[1]);
        let hidden = self.define(&format!("xor i64 {address}, {key}"));
        let shown = self.define(&format!("xor i64 {hidden}, {key}"));
        let text = self.define(&format!("inttoptr i64 {shown} to ptr"));
        self.scope.pointers.push(Pointer { text, ..pointer });
    }

    /// Writes instructions that return a pointer unchanged.
    pub fn unchanged(&mut self, choices: [u16; 4]) {
        let pointer = pick(&self.scope.pointers, choices[0]);
        let pointer = self.generic(&pointer);
        // Not `llvm.ptrmask`: if it masks a constant, LLVM 22.1's address-space inference produces an invalid module.
        let text = if choices[1].is_multiple_of(2) {
            self.define(&format!("freeze ptr {}", pointer.text))
        } else {
            self.define(&format!(
                "call ptr @llvm.launder.invariant.group.p0(ptr {})",
                pointer.text
            ))
        };
        self.scope.pointers.push(Pointer { text, ..pointer });
    }

    /// Returns the address of one of the pointers in `slots`.
    fn slot(&mut self, slots: &Slots, choice: u16) -> String {
        match slots.layout {
            Layout::Table if choice.is_multiple_of(2) => {
                let number = self.number(choice / 2);
                let index = self.define(&format!("and i64 {number}, 3"));
                self.define(&format!(
                    "getelementptr ptr, ptr {}, i64 {index}",
                    slots.text
                ))
            }
            Layout::Table => self.define(&format!(
                "getelementptr inbounds [4 x ptr], ptr {}, i64 0, i64 {}",
                slots.text,
                choice / 2 % 4
            )),
            Layout::Pair => self.define(&format!(
                "getelementptr inbounds {PAIR}, ptr {}, i64 0, i32 {}",
                slots.text,
                choice % 2 * 2
            )),
        }
    }

    /// Describes the pointer `text` that was read from `slots`.
    pub fn loaded(&self, slots: &Slots, text: String) -> Pointer {
        Pointer {
            text,
            number: 0,
            span: 64,
            writable: slots.writable_targets,
            life: slots.target_life,
            space: self.objects.space_in_memory(),
        }
    }

    /// Writes a load of a pointer.
    pub fn load_pointer(&mut self, choices: [u16; 4]) {
        let slots = pick(&self.scope.slots, choices[0]);
        let address = self.slot(&slots, choices[1]);
        self.access(Op::Load, "ptr", &address, "8");
        let text = self.define(&format!("load ptr, ptr {address}"));
        let pointer = self.loaded(&slots, text);
        self.scope.pointers.push(pointer);
    }

    /// Returns a pointer that may be stored to `slots`, if there is one.
    pub fn storable(&mut self, slots: &Slots, choice: u16) -> Option<Pointer> {
        let list: Vec<Pointer> = self.scope.pointers.clone();
        let candidates: Vec<&Pointer> = list
            .iter()
            .filter(|p| p.life <= slots.required_life && (p.writable || !slots.writable_targets))
            .filter(|p| self.objects.may_hide(p.space))
            .collect();
        let pointer = (!candidates.is_empty()).then(|| pick(&candidates, choice).clone())?;
        Some(self.generic(&pointer))
    }

    /// Writes a store of a pointer.
    pub fn store_pointer(&mut self, choices: [u16; 4]) {
        let Some(slots) = self.slots_where(choices[0], |s| s.writable) else {
            return;
        };
        let Some(pointer) = self.storable(&slots, choices[2]) else {
            return;
        };
        let address = self.slot(&slots, choices[1]);
        self.access(Op::Store, "ptr", &address, "8");
        self.line(&format!("store ptr {}, ptr {address}", pointer.text));
    }

    /// Writes a store of a pointer as an integer.
    pub fn store_pointer_as_number(&mut self, choices: [u16; 4]) {
        let Some(slots) = self.slots_where(choices[0], |s| s.writable) else {
            return;
        };
        let Some(pointer) = self.storable(&slots, choices[2]) else {
            return;
        };
        let number = self.define(&format!("ptrtoint ptr {} to i64", pointer.text));
        let address = self.slot(&slots, choices[1]);
        self.access(Op::Store, "ptr", &address, "8");
        self.line(&format!("store i64 {number}, ptr {address}"));
    }

    /// Reads or writes a whole structure with two pointers and an integer.
    pub fn aggregate(&mut self, choices: [u16; 4]) {
        if choices[3].is_multiple_of(2) {
            let Some(pair) = self.slots_where(choices[0], |s| s.layout == Layout::Pair) else {
                return;
            };
            self.access(Op::Load, "ptr", &pair.text, "24");
            let value = self.define(&format!("load {PAIR}, ptr {}", pair.text));
            self.extract_members(&pair, &value);
            return;
        }
        let Some(pair) = self.slots_where(choices[0], |s| s.layout == Layout::Pair && s.writable)
        else {
            return;
        };
        let (Some(first), Some(second)) = (
            self.storable(&pair, choices[1]),
            self.storable(&pair, choices[2]),
        ) else {
            return;
        };
        let number = self.number(choices[3]);
        let mut value = "zeroinitializer".to_owned();
        for (index, member) in [
            format!("ptr {}", first.text),
            format!("i64 {number}"),
            format!("ptr {}", second.text),
        ]
        .into_iter()
        .enumerate()
        {
            value = self.define(&format!("insertvalue {PAIR} {value}, {member}, {index}"));
        }
        self.access(Op::Store, "ptr", &pair.text, "24");
        self.line(&format!("store {PAIR} {value}, ptr {}", pair.text));
    }

    fn extract_members(&mut self, pair: &Slots, value: &str) {
        for index in [0, 2] {
            let text = self.define(&format!("extractvalue {PAIR} {value}, {index}"));
            let pointer = self.loaded(pair, text);
            self.scope.pointers.push(pointer);
        }
        let number = self.define(&format!("extractvalue {PAIR} {value}, 1"));
        self.scope.numbers.push(number);
    }

    /// Reads or writes two pointers as a vector.
    pub fn vector_of_pointers(&mut self, choices: [u16; 4]) {
        let write = choices[3] % 2 == 1;
        let Some(table) = self.slots_where(choices[0], |s| {
            s.layout == Layout::Table && (s.writable || !write)
        }) else {
            return;
        };
        let half = self.define(&format!(
            "getelementptr ptr, ptr {}, i64 {}",
            table.text,
            choices[3] / 2 % 2 * 2
        ));
        if !write {
            self.access(Op::Load, "ptr", &half, "16");
            let vector = self.define(&format!("load <2 x ptr>, ptr {half}, align 16"));
            let lane = choices[1] % 2;
            let text = self.define(&format!("extractelement <2 x ptr> {vector}, i32 {lane}"));
            let pointer = self.loaded(&table, text);
            self.scope.pointers.push(pointer);
            return;
        }
        let (Some(first), Some(second)) = (
            self.storable(&table, choices[1]),
            self.storable(&table, choices[2]),
        ) else {
            return;
        };
        let partial = self.define(&format!(
            "insertelement <2 x ptr> zeroinitializer, ptr {}, i32 0",
            first.text
        ));
        let vector = self.define(&format!(
            "insertelement <2 x ptr> {partial}, ptr {}, i32 1",
            second.text
        ));
        self.access(Op::Store, "ptr", &half, "16");
        self.line(&format!("store <2 x ptr> {vector}, ptr {half}, align 16"));
    }

    /// Exchanges a pointer atomically.
    pub fn exchange_pointer(&mut self, choices: [u16; 4]) {
        let Some(slots) = self.slots_where(choices[0], |s| s.writable) else {
            return;
        };
        let Some(pointer) = self.storable(&slots, choices[2]) else {
            return;
        };
        let address = self.slot(&slots, choices[1]);
        let old = if choices[3].is_multiple_of(2) {
            self.access(Op::AtomicExch, "ptr", &address, "8");
            self.define(&format!(
                "atomicrmw xchg ptr {address}, ptr {} seq_cst",
                pointer.text
            ))
        } else {
            let expected = pick(&self.scope.pointers, choices[3]);
            let expected = self.generic(&expected);
            self.access(Op::AtomicCas, "ptr", &address, "8");
            let pair = self.define(&format!(
                "cmpxchg ptr {address}, ptr {}, ptr {} seq_cst monotonic",
                expected.text, pointer.text
            ));
            self.define(&format!("extractvalue {{ ptr, i1 }} {pair}, 0"))
        };
        let pointer = self.loaded(&slots, old);
        self.scope.pointers.push(pointer);
    }

    /// Copies a table of pointers completely, partly or not at all.
    pub fn copy_slots(&mut self, choices: [u16; 4]) {
        let Some(target) = self.slots_where(choices[0], |s| s.writable) else {
            return;
        };
        let Some(source) = self.slots_where(choices[1], |s| {
            s.layout == target.layout
                && s.target_life <= target.required_life
                && (s.writable_targets || !target.writable_targets)
        }) else {
            return;
        };
        let length = if choices[2].is_multiple_of(2) {
            "24".to_owned()
        } else {
            let number = self.number(choices[3]);
            self.define(&format!("and i64 {number}, 24"))
        };
        self.access(Op::Load, "ptr", &source.text, &length);
        self.access(Op::Store, "ptr", &target.text, &length);
        self.line(&format!(
            "call void @llvm.memmove.p0.p0.i64(ptr {}, ptr {}, i64 {length}, i1 false)",
            target.text, source.text
        ));
    }

    /// Allocates memory on the device heap.
    pub fn allocate(&mut self, choices: [u16; 4]) {
        let text = self.define("call ptr @malloc(i64 128)");
        self.access(Op::Store, "ptr", &text, "128");
        self.line(&format!(
            "call void @llvm.memset.p0.i64(ptr {text}, i8 {}, i64 128, i1 false)",
            choices[0] % 128
        ));
        self.scope.pointers.push(Pointer {
            text,
            number: 0,
            span: 128,
            writable: true,
            life: Life::Kernel,
            space: Some(Space::Global),
        });
    }

    /// Declares a stack variable.
    pub fn stack_data(&mut self, choices: [u16; 4]) {
        let name = format!("%s{}", self.fresh());
        self.entry_line(&format!("{name} = alloca [128 x i8], align 16"));
        self.entry_access(Op::Store, "ptr", &name, "128");
        self.entry_line(&format!(
            "call void @llvm.memset.p0.i64(ptr {name}, i8 {}, i64 128, i1 false)",
            choices[0] % 128
        ));
        self.scope.pointers.push(Pointer {
            text: name,
            number: 0,
            span: 128,
            writable: true,
            life: self.own_life(),
            space: Some(Space::Local),
        });
    }

    /// Declares stack variables that contain pointers.
    pub fn stack_slots(&mut self, choices: [u16; 4]) {
        let (layout, ty) = if choices[0].is_multiple_of(2) {
            (Layout::Table, "[4 x ptr]")
        } else {
            (Layout::Pair, PAIR)
        };
        let name = format!("%t{}", self.fresh());
        self.entry_line(&format!("{name} = alloca {ty}, align 16"));
        let initial = self.objects.initial_targets(choices[1]);
        for (index, target) in initial.iter().enumerate() {
            let value = match (layout, index) {
                (Layout::Pair, 1) => "i64 5",
                (Layout::Pair, 3) => continue,
                _ => target,
            };
            let slot = format!("{name}_{index}");
            self.entry_line(&format!(
                "{slot} = getelementptr i8, ptr {name}, i64 {}",
                8 * index
            ));
            self.entry_access(Op::Store, "ptr", &slot, "8");
            self.entry_line(&format!("store {value}, ptr {slot}"));
        }
        self.scope.slots.push(Slots {
            text: name,
            layout,
            writable: true,
            writable_targets: true,
            target_life: self.own_life(),
            required_life: self.own_life(),
        });
    }
}
