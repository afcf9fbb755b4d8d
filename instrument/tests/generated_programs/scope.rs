//! What a generated function has at hand, with what the generator itself knows of it.

/// Where an object lies. This is the ground truth by construction and owes nothing to the analysis under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Buffers of the host, global variables, string literals, `malloc`.
    Global,
    /// `__shared__` variables.
    Shared,
    /// `__constant__` variables.
    Constant,
    /// Stack variables.
    Local,
}

impl Space {
    /// NVPTX' number of the space.
    pub fn number(self) -> u32 {
        match self {
            Space::Global => 1,
            Space::Shared => 3,
            Space::Constant => 4,
            Space::Local => 5,
        }
    }
}

/// How freely a program mixes its pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Everything goes.
    Free,
    /// Memory holds pointers to global memory only, and only their addresses become numbers.
    Pure,
    /// As pure; besides, what meets in a phi or a select is of one space, and nothing else hides a pointer's origin: all of it
    /// can be proven.
    Plain,
    /// As plain, but one kernel ends by bringing one other address into memory, in one way, and using it from there.
    Smuggling,
}

/// How long what a pointer points to lives; pointers are only stored where nothing outlives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Life {
    /// At least until the kernel ends.
    Kernel,
    /// At least until this function has returned.
    Caller,
    /// Until this function returns.
    Own,
}

/// A pointer to at least `span` bytes of data, aligned to 16 bytes.
#[derive(Clone, Debug)]
pub struct Pointer {
    /// The value in IR.
    pub text: String,
    /// Number of its type's address space; 0 generic.
    pub number: u32,
    /// Bytes behind it: 128 at an object's start, else 64.
    pub span: u32,
    /// Whether it may be written through.
    pub writable: bool,
    /// How long its target lives.
    pub life: Life,
    /// Where its target lies, where the generator knows.
    pub space: Option<Space>,
}

impl Pointer {
    /// A pointer that is either this or the other.
    pub fn either(&self, other: &Pointer, text: String) -> Pointer {
        Pointer {
            text,
            number: 0,
            span: self.span.min(other.span),
            writable: self.writable && other.writable,
            life: self.life.max(other.life),
            space: self.space.filter(|space| other.space == Some(*space)),
        }
    }
}

/// How pointers are laid out in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `[4 x ptr]`.
    Table,
    /// `{ ptr, i64, ptr }`.
    Pair,
}

/// A generic pointer to memory that holds pointers to data.
#[derive(Clone, Debug)]
pub struct Slots {
    /// The value in IR.
    pub text: String,
    /// How its pointers are laid out.
    pub layout: Layout,
    /// Whether pointers may be stored there.
    pub writable: bool,
    /// Whether what its pointers point to may be written.
    pub writable_targets: bool,
    /// The shortest life of what its pointers point to.
    pub holds: Life,
    /// The shortest life of what may be stored there.
    pub takes: Life,
}

impl Slots {
    /// A pointer that is either this or the other, if the two hold the same.
    pub fn either(&self, other: &Slots, text: String) -> Option<Slots> {
        (self.layout == other.layout && self.writable_targets == other.writable_targets).then(
            || Slots {
                text,
                layout: self.layout,
                writable: self.writable && other.writable,
                writable_targets: self.writable_targets,
                holds: self.holds.max(other.holds),
                takes: self.takes.min(other.takes),
            },
        )
    }
}

/// Everything that a statement can refer to.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Pointers to data.
    pub pointers: Vec<Pointer>,
    /// Memory that holds pointers.
    pub slots: Vec<Slots>,
    /// Values of type `i64`. None of them depends on an address.
    pub numbers: Vec<String>,
}

/// The element that a choice selects.
pub fn pick<T: Clone>(list: &[T], choice: u16) -> T {
    list[usize::from(choice) % list.len()].clone()
}
