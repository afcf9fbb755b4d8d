//! Calls of all kinds: direct, recursive, indirect and virtual calls, calls to lambdas, and calls that pass structures
//! by value.

use super::super::super::scope::pick;
use super::{Body, Pointer, Table};

impl Body<'_> {
    pub(super) fn lambda(&mut self, choices: [u16; 4]) {
        let (left, right) = (self.any(choices[0]), self.any(choices[1]));
        let condition = self.condition(choices[2]);
        let id = self.fresh();
        let capture = pick(&["=", "&"], choices[3]);
        let function = pick(&["apply", "apply_inline"], choices[3] / 2);
        self.line(&format!("int *m{id} = {};", left.text));
        let value = format!(
            "{function}([{capture}](int *p) {{ return {condition} ? m{id} : p; }}, {})",
            right.text
        );
        self.either(&value, &left, &right);
    }

    /// Returns whether another call may be written; limits the number of calls that a program executes.
    fn may_call(&mut self) -> bool {
        let allowed = self.calls_left > 0 && (self.kernel || self.loops == 0);
        self.calls_left -= u32::from(allowed);
        allowed
    }

    /// Declares the result of a call guarded by the recursion depth.
    fn guarded_call(&mut self, callee: &str, choices: [u16; 4]) {
        let first = self.writable(choices[1]);
        let second = self.any(choices[2]);
        let list: Vec<Table> = self.tables.iter().filter(|t| t.writable).cloned().collect();
        let table = pick(&list, choices[3]);
        let number = self.number(choices[0]);
        let result = Pointer {
            text: String::new(),
            writable: true,
            life: first.life.max(second.life).max(table.target_life),
            global: false,
        };
        let value = format!(
            "depth > 0 ? {callee}({}, {}, {}, {number}, depth - 1) : {}",
            first.text, second.text, table.text, first.text
        );
        self.either(&value, &first, &result);
    }

    pub(super) fn call(&mut self, choices: [u16; 4]) {
        if !self.may_call() {
            return self.load(choices);
        }
        let callee = usize::from(choices[3]) % self.program.functions;
        self.guarded_call(&format!("p{}_f{callee}", self.program.number), choices);
    }

    pub(super) fn call_indirectly(&mut self, choices: [u16; 4]) {
        if !self.program.indirect || !self.may_call() {
            return self.store(choices);
        }
        let p = self.program.number;
        let name = format!("h{}", self.fresh());
        let index = self.number(choices[3]);
        if choices[3].is_multiple_of(2) {
            self.line(&format!(
                "Function {name} = load(&p{p}_functions1[{index} & 3]);"
            ));
        } else {
            let other = usize::from(choices[0]) % self.program.functions;
            self.line(&format!(
                "Function {name} = ({index} & 1) ? p{p}_f0 : p{p}_f{other};"
            ));
        }
        self.guarded_call(&name, choices);
    }

    pub(super) fn call_by_value(&mut self, choices: [u16; 4]) {
        if !self.may_call() {
            return self.load(choices);
        }
        let callee = usize::from(choices[0]) % self.program.by_value;
        let (first, second) = (self.writable(choices[1]), self.writable(choices[2]));
        let number = self.number(choices[3]);
        let (pair, life) = if choices[3].is_multiple_of(2) && !self.pairs.is_empty() {
            pick(&self.pairs, choices[3] / 2)
        } else {
            let pair = format!("Pair{{{}, {number}, {}}}", first.text, second.text);
            (pair, first.life.max(second.life))
        };
        let result = Pointer {
            text: String::new(),
            writable: true,
            life,
            global: false,
        };
        let p = self.program.number;
        let value = format!(
            "depth > 0 ? p{p}_v{callee}({pair}, {}, {number}, depth - 1) : {}",
            first.text, second.text
        );
        let other = Pointer {
            life: first.life.max(second.life),
            ..first
        };
        self.either(&value, &other, &result);
    }

    /// Writes a virtual call on one of two objects of different classes.
    pub(super) fn call_virtually(&mut self, choices: [u16; 4]) {
        if !self.program.indirect {
            return self.atomic(choices);
        }
        let (left, right) = (self.any(choices[0]), self.any(choices[1]));
        let last = self.any(choices[2]);
        let (condition, number) = (self.condition(choices[2]), self.number(choices[3]));
        let id = self.fresh();
        self.line(&format!("Odd o{id}({});", left.text));
        self.line(&format!("Even e{id}({});", right.text));
        let shape = format!("{condition} ? (const Shape *)&o{id} : &e{id}");
        let value = format!("call_pick({shape}, {}, {number})", last.text);
        let either = Pointer {
            text: String::new(),
            writable: left.writable && right.writable,
            life: left.life.max(right.life),
            global: false,
        };
        self.either(&value, &either, &last);
    }
}
