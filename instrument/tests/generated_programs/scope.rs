//! Values in scope in a generated function, with the properties that the generator guarantees.

/// The space of an object: the ground truth by construction, independent of the analysis under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Buffers allocated by the host, global variables, string literals, and memory from `malloc`.
    Global,
    /// `__shared__` variables.
    Shared,
    /// `__constant__` variables.
    Constant,
    /// Stack variables.
    Local,
}

impl Space {
    /// Returns NVPTX's number for the space.
    pub fn number(self) -> u32 {
        match self {
            Space::Global => 1,
            Space::Shared => 3,
            Space::Constant => 4,
            Space::Local => 5,
        }
    }
}

/// Restrictions on mixing pointers in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// No restrictions.
    Free,
    /// Memory contains only pointers to global memory, and only pointers to global memory are converted to integers.
    Pure,
    /// Like `Pure`; in addition, phis and selects join only pointers to the same space, and nothing else hides a
    /// pointer's origin, so that everything can be proven.
    Plain,
    /// Like `Plain`, but one kernel ends by storing an address that is not in global memory, then loading and using it.
    Smuggling,
}

/// Lifetime of a pointer's target; a pointer is stored only in memory that does not outlive its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Life {
    /// At least until the kernel ends.
    Kernel,
    /// Beyond this function's return: the target belongs to a caller.
    Caller,
    /// Until this function returns.
    Own,
}

/// A pointer to at least `span` bytes of data, aligned to 16 bytes.
#[derive(Clone, Debug)]
pub struct Pointer {
    /// Value in IR.
    pub text: String,
    /// Number of its type's address space; 0 is generic.
    pub number: u32,
    /// Number of bytes available at the pointer: 128 at an object's start, otherwise 64.
    pub span: u32,
    /// Whether the program may write through the pointer.
    pub writable: bool,
    /// Lifetime of its target.
    pub life: Life,
    /// Space of its target, if known.
    pub space: Option<Space>,
}

impl Pointer {
    /// Returns a pointer that is either `self` or `other`.
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

/// Layout of pointers in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `[4 x ptr]`.
    Table,
    /// `{ ptr, i64, ptr }`.
    Pair,
}

/// A generic pointer to memory that contains pointers to data.
#[derive(Clone, Debug)]
pub struct Slots {
    /// Value in IR.
    pub text: String,
    /// Layout of its pointers.
    pub layout: Layout,
    /// Whether pointers may be stored there.
    pub writable: bool,
    /// Whether the targets of its pointers may be written.
    pub writable_targets: bool,
    /// Shortest lifetime of its pointers' targets.
    pub target_life: Life,
    /// Minimum lifetime that a pointer's target must have to be stored there.
    pub required_life: Life,
}

impl Slots {
    /// Returns a pointer that is either `self` or `other`, if both contain the same kind of pointers.
    pub fn either(&self, other: &Slots, text: String) -> Option<Slots> {
        (self.layout == other.layout && self.writable_targets == other.writable_targets).then(
            || Slots {
                text,
                layout: self.layout,
                writable: self.writable && other.writable,
                writable_targets: self.writable_targets,
                target_life: self.target_life.max(other.target_life),
                required_life: self.required_life.min(other.required_life),
            },
        )
    }
}

/// Everything that a statement can refer to.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Pointers to data.
    pub pointers: Vec<Pointer>,
    /// Memory that contains pointers.
    pub slots: Vec<Slots>,
    /// Values of type `i64`, none of which depends on an address.
    pub numbers: Vec<String>,
}

/// Returns the element that a choice selects.
pub fn pick<T: Clone>(list: &[T], choice: u16) -> T {
    list[usize::from(choice) % list.len()].clone()
}
