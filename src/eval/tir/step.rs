//! What a program is made into: steps over numbered registers.

use super::memory::Kind;
use crate::ir::{Buffer, Id, PrimOp, StmtId};

/// Where a number is kept: an integer or pointer as it is, a float as the bits of a double.
pub(super) type Reg = u32;
/// A place that steps jump to: a number while steps are made, an index of a step when they run.
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
    /// Memory for a place of [`Code::sites`].
    Alloc(u32),
    /// A message of [`Code::messages`] where a condition does not hold.
    Assert {
        cond: Reg,
        message: u32,
    },
    Jump(Label),
    Unless(Reg, Label),
    UnlessEqual(Reg, Reg, Label),
    /// The end of a loop's body.
    Next {
        var: Reg,
        step: Reg,
        end: Reg,
        head: Label,
    },
    /// A label stands here; not in finished code.
    Mark(Label),
    /// A region of [`Code::regions`] begins.
    Count(u32),
    /// Other threads go on up to here first: a place of [`Code::yields`].
    Yield(u32),
    /// Threads begin: a place of [`Code::forks`].
    Fork(u32),
    /// Threads end.
    Join,
    /// A number is shown to the other threads, in one of several places.
    Offer {
        slot: u32,
        from: Reg,
    },
    /// What the thread of that number has shown.
    Take {
        slot: u32,
        to: Reg,
        thread: Reg,
    },
    /// The program ends.
    End,
}

/// Which threads share what is allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sharing {
    /// Each thread has its own.
    Private,
    /// All threads of a block have it.
    Block,
}

/// A place where memory is allocated.
pub(super) struct Site {
    pub(super) base: Reg,
    /// How many elements.
    pub(super) count: Reg,
    pub(super) kind: Kind,
    pub(super) sharing: Sharing,
    pub(super) buffer: Id<Buffer>,
}

/// Where threads wait for each other, for the order in which they go on: the loops around it by their first steps, each with the
/// register that counts its rounds.
pub(super) struct Yield {
    pub(super) at: Label,
    pub(super) loops: Box<[(Label, Reg)]>,
}

/// Where threads begin.
pub(super) struct Fork {
    /// Registers of the thread's numbers, innermost last, and how many there are of each.
    pub(super) axes: Box<[(Reg, Reg)]>,
    /// The register of the number of the thread among all.
    pub(super) index: Reg,
    /// Where they end.
    pub(super) join: Label,
}

/// What a part of a program that has no branch does, each time that it is run.
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
    /// What registers hold at the beginning.
    pub(super) registers: Vec<u64>,
    pub(super) math: Vec<Math>,
    pub(super) sites: Vec<Site>,
    pub(super) messages: Vec<String>,
    pub(super) yields: Vec<Yield>,
    pub(super) forks: Vec<Fork>,
    pub(super) regions: Vec<Region>,
    /// Registers that hold pointers to buffers, for messages.
    pub(super) bases: Vec<(Reg, String)>,
    /// The register of what a function returns.
    pub(super) result: Option<Reg>,
}
