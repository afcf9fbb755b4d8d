//! Calls: direct, recursive, through function pointers, and with structures passed and returned by value.

use super::body::Body;
use super::pointers::PAIR;
use super::scope::{Layout, Life, Pointer, Slots, Space, pick};
use superstep_trace::Op;

/// The arguments for the common signature, and the lifetime of their targets.
struct Arguments {
    text: String,
    life: Life,
    fallback: Pointer,
}

impl Body<'_> {
    /// Returns whether another call may be written; limits the number of calls that a program executes.
    fn may_call(&mut self) -> bool {
        let allowed = self.calls_left > 0 && (self.kernel || self.loops == 0);
        self.calls_left -= u32::from(allowed);
        allowed
    }

    /// Returns the pointer to use if the call is not executed.
    fn fallback(&self, argument: Pointer) -> Pointer {
        let space = Some(Space::Global);
        let is_global = |p: &&Pointer| p.number == 0 && p.writable && p.space == space;
        match self.scope.pointers.iter().find(is_global) {
            Some(global) if self.plain() => global.clone(),
            _ => argument,
        }
    }

    fn depth(&mut self) -> String {
        if self.kernel {
            "3".to_owned()
        } else {
            self.define("sub i32 %depth, 1")
        }
    }

    fn arguments(&mut self, choices: [u16; 4]) -> Option<Arguments> {
        let table = self.slots_where(choices[3] / 16, |s| {
            s.layout == Layout::Table && s.writable && s.writable_targets
        })?;
        let first = self.writable_pointer(choices[1]);
        let first = self.generic(&first);
        let second = pick(&self.scope.pointers, choices[2]);
        let second = self.generic(&second);
        let number = self.number(choices[3]);
        let depth = self.depth();
        Some(Arguments {
            text: format!(
                "ptr {}, ptr {}, ptr {}, i64 {number}, i32 {depth}",
                first.text, second.text, table.text
            ),
            life: first.life.max(second.life).max(table.target_life),
            fallback: self.fallback(first),
        })
    }

    /// Writes a call, unconditionally in a kernel, and elsewhere in a conditional part guarded by the depth counter.
    fn guarded(&mut self, fallback: &Pointer, life: Life, call: impl FnOnce(&mut Self) -> String) {
        let result = Pointer {
            text: String::new(),
            number: 0,
            span: 64,
            writable: true,
            life,
            space: self.plain().then_some(Space::Global),
        };
        if self.kernel {
            let text = call(self);
            self.scope.pointers.push(Pointer { text, ..result });
            return;
        }
        let condition = self.define("icmp sgt i32 %depth, 0");
        let (before, id) = self.begin_if(&condition);
        let outside = self.scope.clone();
        let text = call(self);
        self.scope = outside;
        let last = self.end_if(id);
        let joined = self.define(&format!(
            "phi ptr [ {text}, %{last} ], [ {}, %{before} ]",
            fallback.text
        ));
        self.scope.pointers.push(fallback.either(&result, joined));
    }

    /// Calls a function with the common signature, possibly the caller.
    pub fn call(&mut self, choices: [u16; 4]) {
        if !self.may_call() {
            return self.load(choices);
        }
        let Some(arguments) = self.arguments(choices) else {
            return;
        };
        let callee = usize::from(choices[0]) % self.objects.functions;
        let prefix = self.objects.prefix.clone();
        self.guarded(&arguments.fallback, arguments.life, |body| {
            body.define(&format!("call ptr @{prefix}_f{callee}({})", arguments.text))
        });
    }

    /// Calls a function from a table, or one of two functions.
    pub fn call_indirectly(&mut self, choices: [u16; 4]) {
        if !self.objects.indirect || !self.may_call() {
            return self.store(choices);
        }
        let Some(arguments) = self.arguments(choices) else {
            return;
        };
        let prefix = self.objects.prefix.clone();
        self.guarded(&arguments.fallback, arguments.life, |body| {
            let callee = if choices[0].is_multiple_of(4) {
                let condition = body.condition(choices[0] / 4);
                let (left, right) = (body.objects.pointed_to(choices[1]), body.objects.pointed_to(choices[2]));
                body.define(&format!(
                    "select i1 {condition}, ptr @{prefix}_f{left}, ptr @{prefix}_f{right}"
                ))
            } else {
                let number = body.number(choices[0] / 4);
                let index = body.define(&format!("and i64 {number}, 3"));
                let space = if choices[0] % 4 == 1 { 4 } else { 1 };
                let slot = body.define(&format!(
                    "getelementptr ptr, ptr addrspace({space}) @{prefix}_functions{space}, i64 {index}"
                ));
                let ty = format!("ptr addrspace({space})");
                body.access(Op::Load, &ty, &slot, "8");
                body.define(&format!("load ptr, {ty} {slot}"))
            };
            body.define(&format!("call ptr {callee}({})", arguments.text))
        });
    }

    /// Passes a structure by value (a load at the call), and extracts the pointer from the result.
    pub fn call_by_value(&mut self, choices: [u16; 4]) {
        if !self.may_call() {
            return self.load(choices);
        }
        let Some(pair) = self.slots_where(choices[3], |s| {
            s.layout == Layout::Pair && s.writable_targets
        }) else {
            return;
        };
        let first = self.writable_pointer(choices[1]);
        let first = self.generic(&first);
        let number = self.number(choices[2]);
        let callee = usize::from(choices[0]) % self.objects.by_value;
        let prefix = self.objects.prefix.clone();
        let depth = self.depth();
        let life = first.life.max(pair.target_life);
        let fallback = self.fallback(first.clone());
        self.guarded(&fallback, life, |body| {
            body.access(Op::Load, "ptr", &pair.text, "24");
            let result = body.define(&format!(
                "call {{ ptr, i64 }} @{prefix}_v{callee}(ptr byval({PAIR}) align 8 {}, ptr {}, i64 {number}, i32 {depth})",
                pair.text, first.text
            ));
            body.define(&format!("extractvalue {{ ptr, i64 }} {result}, 0"))
        });
    }

    /// Returns a pointer that the function may return: its target must outlive the function.
    pub fn returnable(&mut self, choice: u16) -> Pointer {
        let list: Vec<Pointer> = self.scope.pointers.clone();
        let candidates: Vec<&Pointer> = list
            .iter()
            .filter(|p| p.writable && p.life <= Life::Caller)
            .filter(|p| !self.plain() || p.space == Some(Space::Global))
            .collect();
        let pointer = pick(&candidates, choice).clone();
        self.generic(&pointer)
    }
}

/// Describes the structure in a by-value parameter.
pub fn by_value_parameter(life: Life, own: Life) -> Slots {
    Slots {
        text: "%s".to_owned(),
        layout: Layout::Pair,
        writable: true,
        writable_targets: true,
        target_life: life.max(own),
        required_life: own,
    }
}
