//! Writes programs, and modules that contain them.

use super::body::{Body, ORACLE, TRACED};
use super::calls;
use super::pointers::PAIR;
use super::recipe::{Recipe, Step};
use super::scope::{Layout, Life, Mode, Pointer, Scope, Slots, Space};
use std::fmt::Write as _;
use superstep_trace::Op;

/// Everything that a program's functions can refer to.
pub struct Objects {
    /// Prefix of all names in the program.
    pub prefix: String,
    /// Restrictions on mixing pointers.
    pub mode: Mode,
    /// Whether functions are also called through pointers.
    pub indirect: bool,
    /// Number of functions with the common signature.
    pub functions: usize,
    /// Number of functions that accept a structure by value.
    pub by_value: usize,
    memory: [u16; 8],
}

/// Form of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// With a call to the oracle before each access.
    Oracle,
    /// For the instrumenter; `barriers` keeps LLVM from merging accesses.
    Traced {
        /// Whether accesses are separated.
        barriers: bool,
    },
}

impl Objects {
    /// Returns one of the functions whose address is taken. All other functions are only called directly.
    pub fn pointed_to(&self, choice: u16) -> usize {
        self.functions - 1 - usize::from(choice) % self.functions.div_ceil(2)
    }

    /// Returns whether a pointer may be written to memory or converted to an integer.
    pub fn may_hide(&self, space: Option<Space>) -> bool {
        self.mode == Mode::Free || space == Some(Space::Global)
    }

    /// Returns the space of a pointer that was read from memory.
    pub fn space_in_memory(&self) -> Option<Space> {
        (self.mode != Mode::Free).then_some(Space::Global)
    }

    fn constant(&self, name: &str, number: u32) -> String {
        format!(
            "addrspacecast (ptr addrspace({number}) @{}_{name} to ptr)",
            self.prefix
        )
    }

    /// Returns four initial pointers for stack or shared memory.
    pub fn initial_targets(&self, choice: u16) -> [String; 4] {
        let global = format!("ptr {}", self.constant("g0", 1));
        let other = format!(
            "ptr getelementptr (i8, ptr {}, i64 64)",
            self.constant("g1", 1)
        );
        let shared = format!("ptr {}", self.constant("s0", 3));
        std::array::from_fn(|index| match choice >> (2 * index) & 3 {
            0 => global.clone(),
            1 => other.clone(),
            _ if self.mode != Mode::Free => global.clone(),
            _ => shared.clone(),
        })
    }

    /// Returns the objects in a function's scope.
    fn scope(&self) -> Scope {
        let mut scope = Scope::default();
        scope.numbers.push("7".to_owned());
        for (name, space, writable) in [
            ("g0", Space::Global, true),
            ("g1", Space::Global, true),
            ("s0", Space::Shared, true),
            ("c0", Space::Constant, false),
        ] {
            let typed = Pointer {
                text: format!("@{}_{name}", self.prefix),
                number: space.number(),
                span: 128,
                writable,
                life: Life::Kernel,
                space: Some(space),
            };
            scope.pointers.push(Pointer {
                text: self.constant(name, space.number()),
                number: 0,
                ..typed.clone()
            });
            scope.pointers.push(typed);
        }
        scope.pointers.push(Pointer {
            text: format!("@{}_literal", self.prefix),
            number: 0,
            span: 128,
            writable: false,
            life: Life::Kernel,
            space: Some(Space::Global),
        });
        scope.pointers.push(Pointer {
            text: "addrspacecast (ptr addrspace(3) @dynamic to ptr)".to_owned(),
            number: 0,
            span: 128,
            writable: true,
            life: Life::Kernel,
            space: Some(Space::Shared),
        });
        for (name, number, layout, writable, writable_targets) in [
            ("t0", 1, Layout::Table, true, true),
            ("t1", 1, Layout::Table, true, false),
            ("t3", 3, Layout::Table, true, true),
            (
                "t4",
                4,
                Layout::Table,
                false,
                self.constant_table_is_writable(),
            ),
            ("q1", 1, Layout::Pair, true, true),
        ] {
            scope.slots.push(Slots {
                text: self.constant(name, number),
                layout,
                writable,
                writable_targets,
                target_life: Life::Kernel,
                required_life: Life::Kernel,
            });
        }
        scope
    }

    /// Returns whether the table in constant memory points only to writable memory.
    fn constant_table_is_writable(&self) -> bool {
        self.mode != Mode::Free || self.memory[7].is_multiple_of(2)
    }

    fn globals(&self) -> String {
        let p = &self.prefix;
        let bytes = |seed: u16| {
            (0..128_u16)
                .map(|i| {
                    format!(
                        "\\{:02X}",
                        (seed.wrapping_mul(31).wrapping_add(i * 7)) & 0xff
                    )
                })
                .collect::<String>()
        };
        let g0 = self.constant("g0", 1);
        let inner = format!("getelementptr (i8, ptr {}, i64 64)", self.constant("g1", 1));
        let writable: Vec<String> = (0..4)
            .map(|i| {
                if self.memory[1] >> i & 1 == 0 {
                    g0.clone()
                } else {
                    inner.clone()
                }
            })
            .collect();
        let readable: Vec<String> = (0..4)
            .map(|i| match self.memory[2] >> (2 * i) & 3 {
                0 => g0.clone(),
                1 => format!("@{p}_literal"),
                _ if self.mode != Mode::Free => inner.clone(),
                _ => self.constant("c0", 4),
            })
            .collect();
        let table = |list: &[String]| {
            let list: Vec<String> = list.iter().map(|t| format!("ptr {t}")).collect();
            format!("[4 x ptr] [{}]", list.join(", "))
        };
        let functions: Vec<String> = (0..4)
            .map(|i| format!("@{p}_f{}", self.pointed_to(self.memory[3] >> (3 * i))))
            .collect();
        let constant_table = if self.constant_table_is_writable() {
            &writable
        } else {
            &readable
        };
        let mut text = String::new();
        for (name, what, value) in [
            (
                "g0",
                "addrspace(1) global",
                format!("[128 x i8] c\"{}\"", bytes(self.memory[4])),
            ),
            (
                "g1",
                "internal addrspace(1) global",
                "[128 x i8] zeroinitializer".to_owned(),
            ),
            (
                "s0",
                "internal addrspace(3) global",
                "[128 x i8] undef".to_owned(),
            ),
            (
                "c0",
                "addrspace(4) externally_initialized global",
                format!("[128 x i8] c\"{}\"", bytes(self.memory[5])),
            ),
            (
                "literal",
                "private constant",
                format!("[128 x i8] c\"{}\"", bytes(self.memory[6])),
            ),
            ("t0", "addrspace(1) global", table(&writable)),
            ("t1", "addrspace(1) global", table(&readable)),
            (
                "t3",
                "internal addrspace(3) global",
                "[4 x ptr] undef".to_owned(),
            ),
            ("t4", "addrspace(4) constant", table(constant_table)),
            (
                "q1",
                "addrspace(1) global",
                format!("{PAIR} {{ ptr {g0}, i64 3, ptr {inner} }}"),
            ),
            ("functions1", "addrspace(1) global", table(&functions)),
            ("functions4", "addrspace(4) constant", table(&functions)),
        ] {
            if self.indirect || !name.starts_with("functions") {
                writeln!(text, "@{p}_{name} = {what} {value}, align 16").unwrap();
            }
        }
        text
    }
}

/// A program, and its restrictions on mixing pointers.
pub type Program = (Recipe, Mode);

/// Writes a module of programs; program `n` has the kernels `p<n>_k0`, `p<n>_k1`, ….
pub fn module(programs: &[Program], form: Form) -> String {
    let mut text = String::from(
        "target datalayout = \"e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"\n\
         target triple = \"nvptx64-nvidia-cuda\"\n\
         @dynamic = external addrspace(3) global [0 x i8], align 16\n\
         declare ptr @malloc(i64)\n",
    );
    if form == Form::Oracle {
        text.push_str("declare void @oracle_access(i32, ptr, i64, i32)\n");
    }
    for (number, (recipe, mode)) in programs.iter().enumerate() {
        text.push_str(&program(recipe, *mode, number));
    }
    let lines = text.lines().filter_map(|line| match line.chars().next() {
        Some(ORACLE) => (form == Form::Oracle).then(|| &line[1..]),
        Some(TRACED) => (form == Form::Traced { barriers: true }).then(|| &line[1..]),
        _ => Some(line),
    });
    lines.fold(String::new(), |all, line| all + line + "\n")
}

fn program(recipe: &Recipe, mode: Mode, number: usize) -> String {
    let objects = Objects {
        prefix: format!("p{number}"),
        mode,
        indirect: matches!(mode, Mode::Free | Mode::Pure) && recipe.memory[3] % 2 == 1,
        functions: recipe.functions.len(),
        by_value: recipe.by_value.len(),
        memory: recipe.memory,
    };
    let mut text = objects.globals();
    for (position, steps) in recipe.functions.iter().enumerate() {
        text += &function(&objects, position, steps);
    }
    for (position, steps) in recipe.by_value.iter().enumerate() {
        text += &by_value_function(&objects, position, steps);
    }
    for (position, steps) in recipe.kernels.iter().enumerate() {
        text += &kernel(&objects, position, steps);
    }
    text
}

/// Describes a parameter that points to data.
fn parameter(name: &str, number: u32, writable: bool, kernel: bool) -> Pointer {
    Pointer {
        text: name.to_owned(),
        number,
        span: if kernel { 128 } else { 64 },
        writable,
        life: if kernel { Life::Kernel } else { Life::Caller },
        space: kernel.then_some(Space::Global),
    }
}

fn table_parameter(target_life: Life) -> Slots {
    Slots {
        text: "%t".to_owned(),
        layout: Layout::Table,
        writable: true,
        writable_targets: true,
        target_life,
        required_life: Life::Kernel,
    }
}

/// Puts the arguments before everything else, so that small choices, which shrinking prefers, select them.
fn prepend_arguments(scope: &mut Scope, pointers: Vec<Pointer>, slots: Vec<Slots>) {
    scope.pointers.splice(0..0, pointers);
    scope.slots.splice(0..0, slots);
    scope.numbers.insert(0, "%x".to_owned());
}

fn finish(body: Body, head: &str, last: &str) -> String {
    format!(
        "{head} {{\nentry:\n{}  br label %body\nbody:\n{}  {last}\n}}\n",
        body.entry, body.text
    )
}

fn choice_of(steps: &[Step]) -> u16 {
    steps.last().map_or(0, |step| step.choices[3])
}

fn function(objects: &Objects, position: usize, steps: &[Step]) -> String {
    let mut scope = objects.scope();
    let pointers = vec![
        parameter("%a", 0, true, false),
        parameter("%b", 0, false, false),
    ];
    prepend_arguments(&mut scope, pointers, vec![table_parameter(Life::Caller)]);
    let mut body = Body::new(objects, scope, false);
    body.steps(steps);
    let result = body.returnable(choice_of(steps));
    let head = format!(
        "define internal ptr @{}_f{position}(ptr %a, ptr %b, ptr %t, i64 %x, i32 %depth) {}",
        objects.prefix,
        if choice_of(steps).is_multiple_of(2) {
            "noinline"
        } else {
            ""
        }
    );
    finish(body, &head, &format!("ret ptr {}", result.text))
}

fn by_value_function(objects: &Objects, position: usize, steps: &[Step]) -> String {
    let mut scope = objects.scope();
    let pair = calls::by_value_parameter(Life::Caller, Life::Own);
    prepend_arguments(
        &mut scope,
        vec![parameter("%a", 0, true, false)],
        vec![pair],
    );
    let mut body = Body::new(objects, scope, false);
    body.steps(steps);
    let result = body.returnable(choice_of(steps));
    let number = body.number(choice_of(steps));
    let partial = body.define(&format!(
        "insertvalue {{ ptr, i64 }} zeroinitializer, ptr {}, 0",
        result.text
    ));
    let value = body.define(&format!(
        "insertvalue {{ ptr, i64 }} {partial}, i64 {number}, 1"
    ));
    let head = format!(
        "define internal {{ ptr, i64 }} @{}_v{position}(ptr byval({PAIR}) align 8 %s, ptr %a, i64 %x, i32 %depth) noinline",
        objects.prefix
    );
    finish(body, &head, &format!("ret {{ ptr, i64 }} {value}"))
}

fn kernel(objects: &Objects, position: usize, steps: &[Step]) -> String {
    let mut scope = objects.scope();
    let pointers = vec![
        parameter("%a", 0, true, true),
        parameter("%b", 0, true, true),
        parameter("%c", 1, true, true),
    ];
    let slots = vec![
        table_parameter(Life::Kernel),
        calls::by_value_parameter(Life::Kernel, Life::Kernel),
    ];
    prepend_arguments(&mut scope, pointers, slots);
    let mut body = Body::new(objects, scope, true);
    for (index, target) in objects
        .initial_targets(objects.memory[0])
        .iter()
        .enumerate()
    {
        let slot = format!("%t3_{index}");
        body.entry_line(&format!(
            "{slot} = getelementptr [4 x ptr], ptr addrspace(3) @{}_t3, i64 0, i64 {index}",
            objects.prefix
        ));
        body.entry_access(Op::Store, "ptr addrspace(3)", &slot, "8");
        body.entry_line(&format!("store {target}, ptr addrspace(3) {slot}"));
    }
    body.steps(steps);
    if objects.mode == Mode::Smuggling && position == 0 {
        body.smuggle(objects.memory[0]);
    }
    let head = format!(
        "define ptx_kernel void @{}_k{position}(ptr %a, ptr %b, ptr addrspace(1) %c, ptr %t, ptr byval({PAIR}) align 8 %s, i64 %x)",
        objects.prefix
    );
    finish(body, &head, "ret void")
}
