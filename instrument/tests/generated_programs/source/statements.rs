//! The statements of a generated CUDA function.

mod calls;

use super::super::recipe::Step;
use super::super::scope::{Life, pick};
use super::Program;
use std::fmt::Write as _;

/// A pointer to at least 64 bytes, aligned to 16 bytes.
#[derive(Clone)]
struct Pointer {
    text: String,
    writable: bool,
    life: Life,
    /// Whether the pointer is known to point to global memory.
    global: bool,
}

/// Memory that contains four pointers to writable data.
#[derive(Clone)]
struct Table {
    text: String,
    writable: bool,
    target_life: Life,
    required_life: Life,
}

/// A function being written.
pub struct Body<'a> {
    program: &'a Program,
    pointers: Vec<Pointer>,
    tables: Vec<Table>,
    numbers: Vec<String>,
    /// Structures with two pointers.
    pairs: Vec<(String, Life)>,
    kernel: bool,
    text: String,
    names: u32,
    calls_left: u32,
    loops: u32,
}

/// Data types.
const TYPES: &[&str] = &[
    "u32", "u8", "u16", "u64", "u32x2", "u32x4", "u64x2", "f32x4", "float", "double",
];

impl<'a> Body<'a> {
    fn new(program: &'a Program, kernel: bool) -> Self {
        let mut body = Body {
            program,
            pointers: Vec::new(),
            tables: Vec::new(),
            numbers: vec!["x".to_owned(), "sum".to_owned()],
            pairs: Vec::new(),
            kernel,
            text: String::new(),
            names: 0,
            calls_left: if kernel { 5 } else { 2 },
            loops: 0,
        };
        let p = program.number;
        body.point("a", true, body.outer(), kernel);
        body.point(&format!("p{p}_g0"), true, Life::Kernel, true);
        body.point(&format!("p{p}_c0"), false, Life::Kernel, false);
        body.point(&format!("(p{p}_g1 + 16)"), true, Life::Kernel, true);
        body.table(&format!("p{p}_t0"), true, Life::Kernel, Life::Kernel);
        body.table(
            &format!("(int **)p{p}_t4"),
            false,
            Life::Kernel,
            Life::Kernel,
        );
        body
    }

    /// Starts a function with the common signature.
    pub fn function(program: &'a Program) -> Self {
        let mut body = Self::new(program, false);
        body.point("b", false, Life::Caller, false);
        body.table("t", true, Life::Caller, Life::Kernel);
        body
    }

    /// Starts a function that accepts a structure by value.
    pub fn by_value(program: &'a Program) -> Self {
        let mut body = Self::new(program, false);
        body.point("s.first", true, Life::Caller, false);
        body.pairs.push(("s".to_owned(), Life::Caller));
        body
    }

    /// Starts a kernel.
    pub fn kernel(program: &'a Program) -> Self {
        let mut body = Self::new(program, true);
        body.point("b", true, Life::Kernel, true);
        body.point("c", true, Life::Kernel, true);
        body.point("s.second", true, Life::Kernel, true);
        body.pairs.push(("s".to_owned(), Life::Kernel));
        body.table("t", true, Life::Kernel, Life::Kernel);
        body.line("__shared__ alignas(16) int s0[32];");
        body.line("__shared__ int *s1[4];");
        body.line("for (int i = 0; i < 32; i++) s0[i] = 5 * i;");
        body.line("for (int i = 0; i < 4; i++) s1[i] = a;");
        body.line("escape(s0), escape(s1);");
        body.point("s0", true, Life::Kernel, false);
        body.table("s1", true, Life::Kernel, Life::Kernel);
        body
    }

    /// Returns the lifetime of a parameter's target.
    fn outer(&self) -> Life {
        if self.kernel {
            Life::Kernel
        } else {
            Life::Caller
        }
    }

    fn own(&self) -> Life {
        if self.kernel { Life::Kernel } else { Life::Own }
    }

    fn point(&mut self, text: &str, writable: bool, life: Life, global: bool) {
        self.pointers.push(Pointer {
            text: text.to_owned(),
            writable,
            life,
            global,
        });
    }

    fn table(&mut self, text: &str, writable: bool, target_life: Life, required_life: Life) {
        self.tables.push(Table {
            text: text.to_owned(),
            writable,
            target_life,
            required_life,
        });
    }

    fn line(&mut self, line: &str) {
        writeln!(self.text, "  {line}").unwrap();
    }

    fn fresh(&mut self) -> u32 {
        self.names += 1;
        self.names
    }

    /// Returns the text of the whole function.
    pub fn write(mut self, steps: &[Step], returns: bool) -> String {
        let head = "  alignas(16) int l0[32], l1[32];\n  int *l2[4];\n  u64 sum = x;\n  \
                    for (int i = 0; i < 32; i++) l0[i] = i, l1[i] = 7 * i;\n  \
                    for (int i = 0; i < 4; i++) l2[i] = a;\n  escape(l0), escape(l1), escape(l2);\n";
        self.point("l0", true, self.own(), false);
        self.point("l1", true, self.own(), false);
        self.table("l2", true, self.own(), self.own());
        self.steps(steps);
        self.line("store(at<u64>(a, 0), sum);");
        if returns {
            let choice = steps.last().map_or(0, |step| step.choices[3]);
            let can_return = |p: &Pointer| p.writable && p.life <= Life::Caller;
            let result = self.choose(choice, can_return).text;
            self.line(&format!("return {result};"));
        }
        format!("{head}{}", self.text)
    }

    fn choose(&self, choice: u16, fits: impl Fn(&Pointer) -> bool) -> Pointer {
        let list: Vec<Pointer> = self.pointers.iter().filter(|p| fits(p)).cloned().collect();
        pick(&list, choice)
    }

    fn any(&self, choice: u16) -> Pointer {
        self.choose(choice, |_| true)
    }

    fn writable(&self, choice: u16) -> Pointer {
        self.choose(choice, |p| p.writable)
    }

    /// Returns a pointer that may be converted to a number or stored.
    fn storable(&self, choice: u16, max_life: Life) -> Pointer {
        self.choose(choice, |p| {
            p.writable && p.life <= max_life && (p.global || self.program.free)
        })
    }

    fn number(&self, choice: u16) -> String {
        format!("({} >> {})", pick(&self.numbers, choice), choice / 8 % 48)
    }

    fn condition(&self, choice: u16) -> String {
        format!("({} & 1)", self.number(choice))
    }

    /// Declares a pointer that is either `left` or `right`.
    fn either(&mut self, value: &str, left: &Pointer, right: &Pointer) {
        let name = format!("q{}", self.fresh());
        self.line(&format!("int *{name} = {value};"));
        self.join(name, left, right);
    }

    fn join(&mut self, text: String, left: &Pointer, right: &Pointer) {
        self.pointers.push(Pointer {
            text,
            writable: left.writable && right.writable,
            life: left.life.max(right.life),
            global: left.global && right.global,
        });
    }

    fn steps(&mut self, steps: &[Step]) {
        let mut rest = steps;
        while let Some((step, after)) = rest.split_first() {
            let inner = match step.kind {
                44..=56 => usize::from(1 + step.choices[0] % 3).min(after.len()),
                _ => 0,
            };
            let (body, following) = after.split_at(inner);
            self.step(*step, body);
            rest = following;
        }
    }

    fn step(&mut self, step: Step, body: &[Step]) {
        let choices = step.choices;
        match step.kind {
            0..=11 => self.load(choices),
            12..=21 => self.store(choices),
            22..=29 => self.atomic(choices),
            30..=33 => self.copy_or_fill(choices),
            34..=43 => {
                let (left, right) = (self.any(choices[0]), self.any(choices[1]));
                let condition = self.condition(choices[2]);
                let value = format!("{condition} ? {} : {}", left.text, right.text);
                self.either(&value, &left, &right);
            }
            44..=50 => self.branch(choices, body),
            51..=56 => self.repeat(choices, body),
            57..=62 => self.load_pointer(choices),
            63..=68 => self.store_pointer(choices),
            69..=72 => self.through_number(choices),
            73..=78 => self.lambda(choices),
            79..=86 => self.call(choices),
            87..=90 => self.call_by_value(choices),
            91..=94 => self.call_indirectly(choices),
            _ => self.call_virtually(choices),
        }
    }

    fn load(&mut self, choices: [u16; 4]) {
        let pointer = self.any(choices[0]).text;
        let ty = pick(TYPES, choices[1]);
        let offset = self.number(choices[2]);
        self.line(&format!(
            "sum += number(load(at<{ty}>({pointer}, {offset})));"
        ));
    }

    fn store(&mut self, choices: [u16; 4]) {
        let pointer = self.writable(choices[0]).text;
        let ty = pick(TYPES, choices[1]);
        let (offset, value) = (self.number(choices[2]), self.number(choices[3]));
        self.line(&format!(
            "store(at<{ty}>({pointer}, {offset}), Convert<{ty}>::from({value}));"
        ));
    }

    fn atomic(&mut self, choices: [u16; 4]) {
        let pointer = self.writable(choices[0]).text;
        let offset = self.number(choices[2]);
        // The value must have unknown bits, since LLVM turns an `and` with 0 into an exchange.
        let value = format!("sum + 2 * {} + 1", self.number(choices[3]));
        let ty = pick(&["u32", "u64", "int", "long"], choices[1] / 16);
        let scope = pick(&["", "_block", "_system"], choices[1] / 64);
        const NAMES: &[&str] = &["add", "sub", "exch", "min", "max", "and", "or", "xor"];
        self.line(&match choices[1] % 11 {
            0 => format!("sum += atomic_inc(at<u32>({pointer}, {offset}), {value});"),
            1 => format!("sum += atomic_add_float(at<float>({pointer}, {offset}));"),
            2 => format!("sum += atomic_cas(at<{ty}>({pointer}, {offset}), {value});"),
            name => {
                let name = NAMES[usize::from(name) - 3];
                format!("sum += atomic_{name}{scope}(at<{ty}>({pointer}, {offset}), {value});")
            }
        });
    }

    fn copy_or_fill(&mut self, choices: [u16; 4]) {
        let target = self.writable(choices[0]).text;
        let length = match choices[2] % 4 {
            0 => "24".to_owned(),
            1 => "32".to_owned(),
            2 => format!("{} & 8", self.number(choices[3])),
            _ => format!("{} & 31", self.number(choices[3])),
        };
        if choices[3].is_multiple_of(3) {
            let byte = self.number(choices[1]);
            self.line(&format!("fill({target}, {byte}, {length});"));
        } else {
            let source = self.any(choices[1]).text;
            self.line(&format!("copy({target}, {source}, {length});"));
        }
    }

    /// Writes steps inside braces; their declarations go out of scope at the closing brace.
    fn inside(&mut self, steps: &[Step]) {
        let (pointers, numbers) = (self.pointers.clone(), self.numbers.clone());
        self.steps(steps);
        self.pointers = pointers;
        self.numbers = numbers;
    }

    fn branch(&mut self, choices: [u16; 4], body: &[Step]) {
        let (left, right) = (self.any(choices[0]), self.any(choices[1]));
        let condition = self.condition(choices[2]);
        let name = format!("q{}", self.fresh());
        let (first, second) = body.split_at(body.len() / 2);
        self.line(&format!("int *{name};"));
        self.line(&format!("if {condition} {{"));
        self.inside(first);
        self.line(&format!("  {name} = {};", left.text));
        self.line("} else {");
        self.inside(second);
        self.line(&format!("  {name} = {};", right.text));
        self.line("}");
        self.join(name, &left, &right);
    }

    fn repeat(&mut self, choices: [u16; 4], body: &[Step]) {
        let (first, next) = (self.any(choices[0]), self.any(choices[1]));
        let id = self.fresh();
        let name = format!("q{id}");
        self.line(&format!("int *{name} = {};", first.text));
        let rounds = 1 + choices[2] % 3;
        self.line(&format!(
            "for (u64 i{id} = 0; i{id} < {rounds}; i{id}++) {{"
        ));
        let count = self.pointers.len();
        self.join(name.clone(), &first, &next);
        self.loops += 1;
        let numbers = self.numbers.clone();
        self.numbers.push(format!("i{id}"));
        self.inside(body);
        self.numbers = numbers;
        self.loops -= 1;
        let condition = self.condition(choices[3]);
        self.line(&format!("  if {condition} {name} = {};", next.text));
        self.line("}");
        self.pointers.truncate(count + 1);
    }

    fn load_pointer(&mut self, choices: [u16; 4]) {
        let table = pick(&self.tables, choices[0]);
        let index = self.number(choices[1]);
        let name = format!("q{}", self.fresh());
        self.line(&format!(
            "int *{name} = load(&({})[{index} & 3]);",
            table.text
        ));
        self.point(&name, true, table.target_life, !self.program.free);
    }

    fn store_pointer(&mut self, choices: [u16; 4]) {
        let list: Vec<Table> = self.tables.iter().filter(|t| t.writable).cloned().collect();
        let table = pick(&list, choices[0]);
        let pointer = self.storable(choices[1], table.required_life).text;
        let index = self.number(choices[2]);
        self.line(&format!(
            "store(&({})[{index} & 3], (int *){pointer});",
            table.text
        ));
    }

    fn through_number(&mut self, choices: [u16; 4]) {
        let pointer = self.storable(choices[0], Life::Own);
        let key = self.number(choices[1]);
        let value = format!("reveal((u64){} ^ {key}, {key})", pointer.text);
        self.either(&value, &pointer, &pointer);
    }
}
