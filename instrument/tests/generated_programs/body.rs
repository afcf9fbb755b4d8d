//! Writes one function: names, lines, and the steps that move pointers through control flow.

use super::program::Objects;
use super::recipe::Step;
use super::scope::{Life, Mode, Pointer, Scope, Slots, Space, pick};
use superstep_trace::Op;

/// Prefix of lines that are only in the program that calls the oracle.
pub const ORACLE: char = '\u{1}';
/// Prefix of lines that are only in the program to be traced.
pub const TRACED: char = '\u{2}';

/// A function being written.
pub struct Body<'a> {
    pub objects: &'a Objects,
    /// Values in scope.
    pub scope: Scope,
    /// Stack variables and their initial values.
    pub entry: String,
    /// All other lines.
    pub text: String,
    pub kernel: bool,
    /// Number of calls that may still be written.
    pub calls_left: u32,
    /// Number of loops around the current step.
    pub loops: u32,
    block: String,
    names: u32,
}

/// Returns the name of a pointer type.
pub fn pointer_type(number: u32) -> String {
    if number == 0 {
        "ptr".to_owned()
    } else {
        format!("ptr addrspace({number})")
    }
}

impl<'a> Body<'a> {
    /// Creates an empty function that starts with `scope`.
    pub fn new(objects: &'a Objects, scope: Scope, kernel: bool) -> Self {
        Body {
            objects,
            scope,
            entry: String::new(),
            text: String::new(),
            kernel,
            calls_left: if kernel { 6 } else { 2 },
            loops: 0,
            block: "body".to_owned(),
            names: 0,
        }
    }

    /// Writes a line.
    pub fn line(&mut self, line: &str) {
        self.text.push_str("  ");
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Writes a line into the function's entry block.
    pub fn entry_line(&mut self, line: &str) {
        self.entry.push_str("  ");
        self.entry.push_str(line);
        self.entry.push('\n');
    }

    /// Returns an unused name.
    pub fn fresh(&mut self) -> u32 {
        self.names += 1;
        self.names
    }

    /// Writes an instruction and names its result.
    pub fn define(&mut self, instruction: &str) -> String {
        let name = format!("%v{}", self.fresh());
        self.line(&format!("{name} = {instruction}"));
        name
    }

    fn label(&mut self, name: &str) {
        self.text.push_str(&format!("{name}:\n"));
        self.block = name.to_owned();
    }

    /// Calls the oracle for the access on the next line. In the traced program, an empty asm statement replaces this
    /// call, which keeps LLVM from merging adjacent accesses before they are counted.
    pub fn access(&mut self, op: Op, ty: &str, address: &str, bytes: &str) {
        let lines = self.access_lines(op, ty, address, bytes);
        self.text.push_str(&lines);
    }

    /// Like [`Body::access`], in the entry block.
    pub fn entry_access(&mut self, op: Op, ty: &str, address: &str, bytes: &str) {
        let lines = self.access_lines(op, ty, address, bytes);
        self.entry.push_str(&lines);
    }

    fn access_lines(&mut self, op: Op, ty: &str, address: &str, bytes: &str) -> String {
        let id = self.fresh();
        let number = op as u8;
        let (mut lines, mut generic) = (String::new(), address.to_owned());
        if ty != "ptr" {
            generic = format!("%o{id}");
            lines = format!("{ORACLE}  {generic} = addrspacecast {ty} {address} to ptr\n");
        }
        lines += &format!(
            "{ORACLE}  call void @oracle_access(i32 {id}, ptr {generic}, i64 {bytes}, i32 {number})\n"
        );
        lines + &format!("{TRACED}  call void asm sideeffect \"\", \"~{{memory}}\"()\n")
    }

    /// Returns whether all accesses in the program must be provable.
    pub fn plain(&self) -> bool {
        matches!(self.objects.mode, Mode::Plain | Mode::Smuggling)
    }

    /// Returns a pointer that may be joined with others: in a plain program, a pointer to the space that `space_choice`
    /// selects.
    fn joinable(&self, choice: u16, space_choice: u16) -> Pointer {
        let space = [Space::Global, Space::Shared][usize::from(space_choice) % 2];
        let can_join = |p: &&Pointer| !self.plain() || p.space == Some(space);
        let list: Vec<&Pointer> = self.scope.pointers.iter().filter(can_join).collect();
        pick(&list, choice).clone()
    }

    /// Returns an integer in scope.
    pub fn number(&self, choice: u16) -> String {
        pick(&self.scope.numbers, choice)
    }

    /// Returns a boolean that depends on the program's data.
    pub fn condition(&mut self, choice: u16) -> String {
        let number = self.number(choice / 4);
        let bit = self.define(&format!("lshr i64 {number}, {}", choice % 4));
        self.define(&format!("trunc i64 {bit} to i1"))
    }

    /// Returns a pointer that may be written through.
    pub fn writable_pointer(&self, choice: u16) -> Pointer {
        let list: Vec<&Pointer> = self.scope.pointers.iter().filter(|p| p.writable).collect();
        pick(&list, choice).clone()
    }

    /// Casts a pointer to a generic pointer.
    pub fn generic(&mut self, pointer: &Pointer) -> Pointer {
        let mut generic = pointer.clone();
        if pointer.number != 0 {
            let ty = pointer_type(pointer.number);
            generic.text = self.define(&format!("addrspacecast {ty} {} to ptr", pointer.text));
            generic.number = 0;
        }
        generic
    }

    /// Returns slots that satisfy `condition`, if there are any.
    pub fn slots_where(&self, choice: u16, condition: impl Fn(&Slots) -> bool) -> Option<Slots> {
        let list: Vec<&Slots> = self.scope.slots.iter().filter(|s| condition(s)).collect();
        (!list.is_empty()).then(|| pick(&list, choice).clone())
    }

    /// Returns the lifetime of this function's stack variables. In a kernel, they live until it ends.
    pub fn own_life(&self) -> Life {
        if self.kernel { Life::Kernel } else { Life::Own }
    }

    /// Writes all steps.
    pub fn steps(&mut self, steps: &[Step]) {
        let mut rest = steps;
        while let Some((step, after)) = rest.split_first() {
            let inner = match step.kind {
                78..=86 => usize::from(1 + step.choices[0] % 3).min(after.len()),
                _ => 0,
            };
            let (body, following) = after.split_at(inner);
            match step.kind {
                78..=82 => self.branch(step.choices, body),
                83..=86 => self.repeat(step.choices, body),
                _ => self.step(*step),
            }
            rest = following;
        }
    }

    fn step(&mut self, step: Step) {
        let choices = step.choices;
        match step.kind {
            0..=13 => self.load(choices),
            14..=27 => self.store(choices),
            28..=31 => self.atomic(choices),
            32..=33 => self.compare_exchange(choices),
            34..=36 => self.fill(choices),
            37..=40 => self.copy(choices),
            41..=44 => self.select(choices),
            45 => self.select_slots(choices),
            46..=49 => self.interior(choices),
            50..=51 => self.typed(choices),
            52..=57 => self.load_pointer(choices),
            58..=62 => self.store_pointer(choices),
            63..=66 if self.plain() => self.load_pointer(choices),
            63 => self.store_pointer_as_number(choices),
            64..=66 => self.through_number(choices),
            67..=73 => self.call(choices),
            74..=77 => self.call_indirectly(choices),
            87..=88 => self.stack_data(choices),
            89 => self.stack_slots(choices),
            90..=91 => self.aggregate(choices),
            92..=93 => self.vector_of_pointers(choices),
            94 => self.exchange_pointer(choices),
            95 => self.copy_slots(choices),
            96 => self.allocate(choices),
            97 => self.unchanged(choices),
            _ => self.call_by_value(choices),
        }
    }

    /// Writes a `select` between two pointers.
    fn select(&mut self, choices: [u16; 4]) {
        let left = self.joinable(choices[0], choices[3]);
        let right = self.joinable(choices[1], choices[3]);
        let (left, right) = (self.generic(&left), self.generic(&right));
        let condition = self.condition(choices[2]);
        let text = self.define(&format!(
            "select i1 {condition}, ptr {}, ptr {}",
            left.text, right.text
        ));
        self.scope.pointers.push(left.either(&right, text));
    }

    fn select_slots(&mut self, choices: [u16; 4]) {
        let left = pick(&self.scope.slots, choices[0]);
        let right = pick(&self.scope.slots, choices[1]);
        if self.plain() || left.either(&right, String::new()).is_none() {
            return;
        }
        let condition = self.condition(choices[2]);
        let text = self.define(&format!(
            "select i1 {condition}, ptr {}, ptr {}",
            left.text, right.text
        ));
        self.scope.slots.extend(left.either(&right, text));
    }

    /// Writes a branch with two or three paths that are joined by a phi.
    fn branch(&mut self, choices: [u16; 4], body: &[Step]) {
        let id = self.fresh();
        let outside = self.scope.clone();
        let cut = if choices[3].is_multiple_of(2) {
            body.len()
        } else {
            body.len() / 2
        };
        let (first, second) = body.split_at(cut);
        let is_three_way = choices[3].is_multiple_of(5);
        let third = self.joinable(choices[1], choices[0]);
        let third = self.generic(&third);
        if is_three_way {
            let number = self.number(choices[2]);
            let selector = self.define(&format!("and i64 {number}, 3"));
            self.line(&format!(
                "switch i64 {selector}, label %first{id} [ i64 1, label %second{id} i64 2, label %join{id} ]"
            ));
        } else {
            let condition = self.condition(choices[2]);
            self.line(&format!(
                "br i1 {condition}, label %first{id}, label %second{id}"
            ));
        }
        let before = self.block.clone();
        let mut incoming = Vec::new();
        for (name, steps, choice) in [
            (format!("first{id}"), first, choices[1] / 8),
            (format!("second{id}"), second, choices[2] / 8),
        ] {
            self.label(&name);
            self.steps(steps);
            let value = self.joinable(choice, choices[0]);
            let value = self.generic(&value);
            incoming.push((value, self.block.clone()));
            self.line(&format!("br label %join{id}"));
            self.scope = outside.clone();
        }
        if is_three_way {
            incoming.push((third, before));
        }
        self.label(&format!("join{id}"));
        let pairs: Vec<String> = incoming
            .iter()
            .map(|(value, block)| format!("[ {}, %{block} ]", value.text))
            .collect();
        let text = self.define(&format!("phi ptr {}", pairs.join(", ")));
        let mut joined = incoming[0].0.clone();
        for (value, _) in &incoming {
            joined = joined.either(value, text.clone());
        }
        self.scope.pointers.push(joined);
    }

    /// Writes a loop of up to three iterations whose pointer changes between iterations.
    fn repeat(&mut self, choices: [u16; 4], body: &[Step]) {
        let id = self.fresh();
        let first = self.joinable(choices[1], choices[0]);
        let next = self.joinable(choices[2], choices[0]);
        let (first, next) = (self.generic(&first), self.generic(&next));
        let before = self.block.clone();
        self.line(&format!("br label %loop{id}"));
        self.label(&format!("loop{id}"));
        self.line(&format!(
            "%p{id} = phi ptr [ {}, %{before} ], [ %q{id}, %latch{id} ]",
            first.text
        ));
        self.line(&format!(
            "%i{id} = phi i64 [ 0, %{before} ], [ %j{id}, %latch{id} ]"
        ));
        let outside = self.scope.clone();
        let pointer = first.either(&next, format!("%p{id}"));
        self.scope.pointers.push(pointer.clone());
        self.scope.numbers.push(format!("%i{id}"));
        self.loops += 1;
        self.steps(body);
        self.loops -= 1;
        let condition = self.condition(choices[3]);
        self.line(&format!("br label %latch{id}"));
        self.label(&format!("latch{id}"));
        self.line(&format!(
            "%q{id} = select i1 {condition}, ptr %p{id}, ptr {}",
            next.text
        ));
        self.line(&format!("%j{id} = add i64 %i{id}, 1"));
        let rounds = 1 + choices[3] % 3;
        self.line(&format!("%e{id} = icmp eq i64 %j{id}, {rounds}"));
        self.line(&format!("br i1 %e{id}, label %after{id}, label %loop{id}"));
        self.label(&format!("after{id}"));
        self.scope = outside;
        self.scope.pointers.push(pointer);
    }

    /// Starts a conditional part; returns the label of the block before it, and the part's number.
    pub fn begin_if(&mut self, condition: &str) -> (String, u32) {
        let id = self.fresh();
        let before = self.block.clone();
        self.line(&format!(
            "br i1 {condition}, label %then{id}, label %end{id}"
        ));
        self.label(&format!("then{id}"));
        (before, id)
    }

    /// Ends a conditional part; returns the label of its last block.
    pub fn end_if(&mut self, id: u32) -> String {
        let last = self.block.clone();
        self.line(&format!("br label %end{id}"));
        self.label(&format!("end{id}"));
        last
    }
}
