//! Steps over numbered registers, which programs are compiled to.

use super::memory::Kind;
use crate::ir::{Buffer, Id, PrimOp, StmtId};

/// A register: it holds an integer or pointer as it is, and a float as the bits of a double.
pub(super) type Reg = u32;
/// A jump target: a number during compilation, the index of a step at run time.
pub(super) type Label = u32;

/// A function of one, two or three numbers.
#[derive(Clone, Copy)]
pub(super) enum Math {
    One(fn(f64) -> f64),
    Two(fn(f64, f64) -> f64),
    Three(fn(f64, f64, f64) -> f64),
    Bits(fn(i64, i64) -> i64),
}

#[derive(Clone, Copy)]
pub(super) enum Step {
    Copy {
        to: Reg,
        from: Reg,
    },
    Int {
        op: PrimOp,
        kind: Kind,
        to: Reg,
        a: Reg,
        b: Reg,
    },
    Float {
        op: PrimOp,
        kind: Kind,
        to: Reg,
        a: Reg,
        b: Reg,
    },
    /// `to = a + b * c` as integers of 64 bits.
    Place {
        to: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
    },
    Not {
        to: Reg,
        from: Reg,
    },
    Cast {
        from_kind: Kind,
        kind: Kind,
        to: Reg,
        from: Reg,
    },
    Select {
        to: Reg,
        cond: Reg,
        then: Reg,
        other: Reg,
    },
    /// A function of [`Code::math`] on the registers that follow `a`.
    Math {
        f: u16,
        kind: Kind,
        to: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
    },
    /// The bytes of a number of one kind, read as another.
    Reinterpret {
        from_kind: Kind,
        kind: Kind,
        to: Reg,
        from: Reg,
    },
    Load {
        kind: Kind,
        to: Reg,
        base: Reg,
        place: Reg,
    },
    Store {
        kind: Kind,
        base: Reg,
        place: Reg,
        value: Reg,
    },
    /// Allocates memory for a site of [`Code::sites`].
    Alloc(u32),
    /// Fails with a message of [`Code::messages`] where a condition does not hold.
    Assert {
        cond: Reg,
        message: u32,
    },
    Jump(Label),
    Unless(Reg, Label),
    UnlessEqual(Reg, Reg, Label),
    /// Ends the body of a loop.
    Next {
        var: Reg,
        step: Reg,
        end: Reg,
        head: Label,
    },
    /// Defines a label; not in finished code.
    Mark(Label),
    /// Enters a region of [`Code::regions`].
    Count(u32),
    /// Lets other threads advance to this point first: an entry of [`Code::yields`].
    Yield(u32),
    /// Starts threads: an entry of [`Code::forks`].
    Fork(u32),
    /// Ends threads.
    Join,
    /// Shows a number to the other threads, in one of several slots.
    Offer {
        slot: u32,
        from: Reg,
    },
    /// Takes the number that the thread with this number has shown.
    Take {
        slot: u32,
        to: Reg,
        thread: Reg,
    },
    /// Ends the program.
    End,
}

/// The threads that share an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sharing {
    /// Each thread has its own.
    Private,
    /// All threads of a block share it.
    Block,
}

/// A place where memory is allocated.
pub(super) struct Site {
    pub(super) base: Reg,
    /// The number of elements.
    pub(super) count: Reg,
    pub(super) kind: Kind,
    pub(super) sharing: Sharing,
    pub(super) buffer: Id<Buffer>,
}

/// A point where threads wait for each other; the order in which they continue depends on the loops around it: their
/// first steps, each with the register that counts its rounds.
pub(super) struct Yield {
    pub(super) at: Label,
    pub(super) loops: Box<[(Label, Reg)]>,
}

/// The start of threads.
pub(super) struct Fork {
    /// Registers of the thread's indices, innermost last, and the extent of each.
    pub(super) axes: Box<[(Reg, Reg)]>,
    /// The register of the thread's number among all.
    pub(super) index: Reg,
    /// The label of their end.
    pub(super) join: Label,
}

/// The cost of one execution of a part of a program without branches.
#[derive(Clone, Debug, Default)]
pub(super) struct Region {
    pub(super) arithmetic: u64,
    pub(super) index_arithmetic: u64,
    /// Buffer, elements loaded, elements stored, bytes of an element.
    pub(super) accesses: Vec<(Id<Buffer>, u64, u64, u64)>,
}

/// A program as steps.
#[derive(Default)]
pub(super) struct Code {
    pub(super) steps: Vec<Step>,
    /// The statement of each step.
    pub(super) origins: Vec<Option<StmtId>>,
    /// The initial values of registers.
    pub(super) registers: Vec<u64>,
    pub(super) math: Vec<Math>,
    pub(super) sites: Vec<Site>,
    pub(super) messages: Vec<String>,
    pub(super) yields: Vec<Yield>,
    pub(super) forks: Vec<Fork>,
    pub(super) regions: Vec<Region>,
    /// Registers that hold pointers to buffers, for messages.
    pub(super) bases: Vec<(Reg, String)>,
    /// The register of a function's result.
    pub(super) result: Option<Reg>,
}
