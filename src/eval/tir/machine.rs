//! Executes steps.
//!
//! The threads of a block run in turn on registers of their own. At each point where one could see the writes of
//! another (the compiler marks them) the one that is behind goes first: positions are compared loop by loop, by round,
//! then by step. So threads advance as if each statement were executed by all of them at once, both with barriers in
//! the program and before ThreadSync inserts them.

use super::cache::Cache;
use super::memory::{Fault, Heap, Kind, Memory, READ, STORED, WRITTEN};
use super::step::{Code, Math, Reg, Sharing, Step};
use crate::ir::{Buffer, Id, PrimOp};
use crate::ops::kernel::MAX_BYTES;
use rustc_hash::FxHashMap;
use std::cmp::Ordering;

/// The limit of threads per block.
const MAX_THREADS: u64 = 1 << 14;

/// The reason why a run ended early: its step, a stable code and a sentence.
pub(super) struct Stopped {
    pub(super) at: usize,
    pub(super) code: &'static str,
    pub(super) message: String,
}

/// The reason why the execution of steps pauses.
enum Pause {
    End,
    Yield(u32),
    Fork(u32),
    Join,
}

struct Thread {
    regs: Vec<u64>,
    at: usize,
    /// The point where it waits; `None` when it has ended.
    waits: Option<Option<u32>>,
}

pub(super) struct Machine<'c> {
    code: &'c Code,
    pub(super) heap: Heap,
    left: u64,
    fuel: u64,
    /// The number of entries of each region.
    pub(super) counts: Vec<u64>,
    /// Memory from here on was allocated by the running threads.
    mark: usize,
    /// The number of the running thread in its block.
    thread: usize,
    /// For shared memory: the number of visits by each thread, the number of allocations, and the pointer.
    shared: FxHashMap<u32, (Vec<u32>, u32, u64)>,
    offers: Vec<Vec<u64>>,
    allocated: usize,
    /// Distinct bytes touched in freed memory, by buffer.
    pub(super) touched: FxHashMap<u32, u64>,
    /// Memory from here on is the program's own; memory before belongs to the caller.
    pub(super) own: usize,
    /// The invalid accesses so far, if the program continues after them; else the first one ends it.
    pub(super) forgiven: Option<Vec<Stopped>>,
    /// The cache that accesses go through, if it is requested.
    pub(super) cache: Option<Cache<'c>>,
}

impl<'c> Machine<'c> {
    pub(super) fn new(code: &'c Code, fuel: u64) -> Machine<'c> {
        Machine {
            code,
            heap: Heap::new(),
            left: fuel,
            fuel,
            counts: vec![0; code.regions.len()],
            mark: 0,
            thread: 0,
            shared: FxHashMap::default(),
            offers: Vec::new(),
            allocated: 0,
            touched: FxHashMap::default(),
            own: 0,
            forgiven: None,
            cache: None,
        }
    }

    /// Continues after an invalid access, if that is requested: missing elements read as zero, the program's own memory
    /// grows, and nothing is written beyond that of the caller.
    #[cold]
    fn forgive(&mut self, found: Stopped, stored: Option<(Kind, u64, i64, u64)>) -> Result<(), Stopped> {
        let Some(forgiven) = &mut self.forgiven else { return Err(found) };
        if !forgiven.iter().any(|known| known.at == found.at) {
            forgiven.push(found);
        }
        let Some((kind, pointer, place, value)) = stored else { return Ok(()) };
        let is_own = (pointer >> 40) as usize >= self.own;
        let end = (usize::try_from(place).ok())
            .and_then(|place| place.checked_add(1)?.checked_mul(kind.bytes())?.checked_add(super::memory::place_of(pointer)));
        if let Some(end) = end.filter(|end| is_own && self.allocated + end <= MAX_BYTES)
            && let Some(piece) = self.heap.piece_mut(pointer)
            && piece.bytes.len() < end
        {
            self.allocated += end - piece.bytes.len();
            piece.bytes.resize(end, 0);
            piece.flags.resize(end, 0);
            let _ = self.heap.store(kind, pointer, place, value);
        }
        Ok(())
    }

    /// Runs all steps.
    pub(super) fn run(&mut self, regs: &mut [u64]) -> Result<(), Stopped> {
        let mut at = 0;
        loop {
            match self.go(regs, &mut at)? {
                Pause::End => return Ok(()),
                Pause::Fork(fork) => {
                    self.threads(fork, regs, at)?;
                    at = self.code.forks[fork as usize].join as usize;
                }
                Pause::Yield(_) | Pause::Join => {}
            }
        }
    }

    fn threads(&mut self, fork: u32, regs: &[u64], at: usize) -> Result<(), Stopped> {
        let fork = &self.code.forks[fork as usize];
        let extents: Vec<u64> = fork.axes.iter().map(|(_, extent)| regs[*extent as usize]).collect();
        let total = extents.iter().try_fold(1u64, |all, n| all.checked_mul(*n)).filter(|n| *n <= MAX_THREADS);
        let Some(total) = total else {
            return Err(self.stopped(at, "eval-failed", format!("a block of more than {MAX_THREADS} threads")));
        };
        let (mark, outer) = (self.mark, self.heap.pieces.len());
        self.mark = outer;
        self.offers.clear();
        let mut threads: Vec<Thread> = (0..total)
            .map(|number| {
                let mut regs = regs.to_vec();
                let mut rest = number;
                for ((var, _), extent) in fork.axes.iter().zip(&extents).rev() {
                    regs[*var as usize] = rest % extent;
                    rest /= extent;
                }
                regs[fork.index as usize] = number;
                Thread { regs, at, waits: Some(None) }
            })
            .collect();
        while let Some(first) = self.hindmost(&threads) {
            let ready: Vec<usize> =
                (0..threads.len()).filter(|i| self.order(&threads[*i], &threads[first]) == Ordering::Equal).collect();
            for index in ready {
                self.thread = index;
                let thread = &mut threads[index];
                thread.waits = match self.go(&mut thread.regs, &mut thread.at)? {
                    Pause::Yield(place) => Some(Some(place)),
                    Pause::End | Pause::Join | Pause::Fork(_) => None,
                };
            }
        }
        self.retire(outer);
        self.shared.clear();
        (self.mark, self.thread) = (mark, 0);
        Ok(())
    }

    /// Returns the thread that is behind all others; `None` if all have ended.
    fn hindmost(&self, threads: &[Thread]) -> Option<usize> {
        let mut found: Option<usize> = None;
        for (index, thread) in threads.iter().enumerate() {
            if thread.waits.is_some() && found.is_none_or(|best| self.order(thread, &threads[best]) == Ordering::Less) {
                found = Some(index);
            }
        }
        found
    }

    fn order(&self, a: &Thread, b: &Thread) -> Ordering {
        let (Some(a_waits), Some(b_waits)) = (a.waits, b.waits) else {
            return a.waits.is_none().cmp(&b.waits.is_none());
        };
        let (Some(x), Some(y)) = (a_waits, b_waits) else {
            return a_waits.is_some().cmp(&b_waits.is_some());
        };
        let (x, y) = (&self.code.yields[x as usize], &self.code.yields[y as usize]);
        for ((x_head, x_round), (y_head, y_round)) in x.loops.iter().zip(&*y.loops) {
            if x_head != y_head {
                break;
            }
            let rounds = (a.regs[*x_round as usize] as i64, b.regs[*y_round as usize] as i64);
            if rounds.0 != rounds.1 {
                return rounds.0.cmp(&rounds.1);
            }
        }
        x.at.cmp(&y.at)
    }

    /// Frees memory, and remembers how much of it was touched.
    fn retire(&mut self, from: usize) {
        if let Some(cache) = &mut self.cache {
            cache.forget(from);
        }
        for piece in self.heap.pieces.drain(from..) {
            self.allocated = self.allocated.saturating_sub(piece.bytes.len());
            *self.touched.entry(piece.buffer).or_default() += touched(&piece);
        }
    }

    fn stopped(&self, at: usize, code: &'static str, message: String) -> Stopped {
        Stopped { at, code, message }
    }

    fn out_of_fuel(&self, at: usize) -> Stopped {
        let message = match self.fuel {
            ..1_000_000 => format!("the program takes more than {} steps", self.fuel),
            fuel => {
                format!("the program takes more than {} million steps; smaller shapes take less", (fuel + 500_000) / 1_000_000)
            }
        };
        self.stopped(at, "eval-fuel", message)
    }

    #[cold]
    fn fault(&self, at: usize, fault: Fault, what: &str, base: Reg, kind: Kind, place: i64) -> Stopped {
        let name = self.code.bases.iter().find(|(reg, _)| *reg == base).map_or("memory", |(_, name)| name.as_str());
        let message = match fault {
            Fault::Null => format!("the program {what} `{name}`, which has no memory"),
            Fault::Nothing => format!("the program reads element {place} of `{name}`, which nothing was written to"),
            Fault::Outside(bytes) => {
                let count = bytes / kind.bytes();
                let beyond = if place < 0 { "before the beginning" } else { "beyond the end" };
                format!("the program {what} element {place} of `{name}`, {beyond} of its memory of {count} elements")
            }
        };
        self.stopped(at, "eval-failed", message)
    }

    fn alloc(&mut self, which: u32, regs: &mut [u64]) -> Result<(), String> {
        let site = &self.code.sites[which as usize];
        let count = regs[site.count as usize] as i64;
        let bytes = usize::try_from(count).ok().and_then(|n| n.checked_mul(site.kind.bytes()));
        let Some(bytes) = bytes.filter(|n| *n <= MAX_BYTES && self.allocated + n <= MAX_BYTES) else {
            return Err(format!("a buffer of {count} elements is too large to compute with"));
        };
        let pointer = &mut regs[site.base as usize];
        let shares = site.sharing == Sharing::Block && self.mark > 0;
        let visit = if shares {
            let entry = self.shared.entry(which).or_default();
            if entry.0.len() <= self.thread {
                entry.0.resize(self.thread + 1, 0);
            }
            entry.0[self.thread] += 1;
            if entry.0[self.thread] <= entry.1 {
                *pointer = entry.2;
                return Ok(());
            }
            entry.1 += 1;
            entry.1
        } else {
            0
        };
        // Clearing memory costs work like computing it.
        self.left = self.left.saturating_sub(bytes as u64 / 64);
        // Memory that this site allocated in an earlier round of a loop is free now.
        let again = (*pointer >> 40) as usize >= self.mark.max(1) && (!shares || visit > 1);
        match self.heap.piece_mut(*pointer).filter(|piece| again && piece.bytes.len() == bytes) {
            Some(piece) => piece.flags.iter_mut().for_each(|flag| *flag &= !WRITTEN),
            None => {
                self.allocated += bytes;
                let memory =
                    Memory { bytes: vec![0; bytes], flags: vec![0; bytes], stored: false, buffer: site.buffer.index() as u32 };
                *pointer = self.heap.add(memory);
            }
        }
        if shares && let Some(entry) = self.shared.get_mut(&which) {
            entry.2 = *pointer;
        }
        Ok(())
    }

    /// Runs up to the next pause; `at` is then the step to continue with.
    #[expect(clippy::too_many_lines, reason = "a table: an arm for each step of the machine")]
    fn go(&mut self, regs: &mut [u64], at: &mut usize) -> Result<Pause, Stopped> {
        let code = self.code;
        let steps = &code.steps[..];
        let mut next = *at;
        macro_rules! reg {
            ($reg:expr) => {
                regs[$reg as usize]
            };
        }
        macro_rules! back {
            ($head:expr) => {{
                let cost = (next as u64).saturating_sub(u64::from($head)) + 1;
                if self.left < cost {
                    return Err(self.out_of_fuel(next - 1));
                }
                self.left -= cost;
                next = $head as usize;
            }};
        }
        while let Some(step) = steps.get(next) {
            next += 1;
            match *step {
                Step::Copy { to, from } => reg!(to) = reg!(from),
                Step::Place { to, a, b, c } => {
                    reg!(to) = reg!(a).wrapping_add(reg!(b).wrapping_mul(reg!(c)));
                }
                Step::Int { op, kind, to, a, b } => match int(op, kind, reg!(a) as i64, reg!(b) as i64) {
                    Some(value) => reg!(to) = value as u64,
                    None => return Err(self.stopped(next - 1, "eval-failed", "the program divides by zero".to_owned())),
                },
                Step::Float { op, kind, to, a, b } => {
                    reg!(to) = float(op, kind, f64::from_bits(reg!(a)), f64::from_bits(reg!(b)));
                }
                Step::Not { to, from } => reg!(to) = u64::from(reg!(from) == 0),
                Step::Cast { from_kind, kind, to, from } => reg!(to) = from_kind.convert(kind, reg!(from)),
                Step::Select { to, cond, then, other } => reg!(to) = if reg!(cond) != 0 { reg!(then) } else { reg!(other) },
                Step::Math { f, kind, to, a, b, c } => {
                    let number = |bits: u64| f64::from_bits(bits);
                    reg!(to) = match code.math[f as usize] {
                        Math::One(f) => kind.round(f(number(reg!(a)))).to_bits(),
                        Math::Two(f) => kind.round(f(number(reg!(a)), number(reg!(b)))).to_bits(),
                        Math::Three(f) => kind.round(f(number(reg!(a)), number(reg!(b)), number(reg!(c)))).to_bits(),
                        Math::Bits(f) => kind.wrap(f(reg!(a) as i64, reg!(b) as i64)) as u64,
                    };
                }
                Step::Reinterpret { from_kind, kind, to, from } => {
                    let piece = Memory { bytes: vec![0; 8], flags: Vec::new(), stored: false, buffer: 0 };
                    let mut heap = Heap::new();
                    let pointer = heap.add(piece);
                    let _ = heap.store(from_kind, pointer, 0, reg!(from));
                    reg!(to) = heap.load(kind, pointer, 0).unwrap_or(0);
                }
                Step::Load { kind, to, base, place } => match self.heap.load(kind, reg!(base), reg!(place) as i64) {
                    Ok(value) => {
                        if let Some(cache) = &mut self.cache {
                            cache.touch(&self.heap, reg!(base), reg!(place) as i64, kind.bytes());
                        }
                        reg!(to) = value;
                    }
                    Err(fault) => {
                        let found = self.fault(next - 1, fault, "reads", base, kind, reg!(place) as i64);
                        self.forgive(found, None)?;
                        reg!(to) = 0;
                    }
                },
                Step::Store { kind, base, place, value } => {
                    if let Err(fault) = self.heap.store(kind, reg!(base), reg!(place) as i64, reg!(value)) {
                        let found = self.fault(next - 1, fault, "writes", base, kind, reg!(place) as i64);
                        self.forgive(found, Some((kind, reg!(base), reg!(place) as i64, reg!(value))))?;
                    } else if let Some(cache) = &mut self.cache {
                        cache.touch(&self.heap, reg!(base), reg!(place) as i64, kind.bytes());
                    }
                }
                Step::Alloc(site) => {
                    if let Err(message) = self.alloc(site, regs) {
                        return Err(self.stopped(next - 1, "eval-failed", message));
                    }
                }
                Step::Assert { cond, message } => {
                    if reg!(cond) == 0 {
                        return Err(self.stopped(next - 1, "eval-failed", code.messages[message as usize].clone()));
                    }
                }
                Step::Jump(to) if to as usize >= next => next = to as usize,
                Step::Jump(to) => back!(to),
                Step::Unless(cond, to) => {
                    if reg!(cond) == 0 {
                        next = to as usize;
                    }
                }
                Step::UnlessEqual(a, b, to) => {
                    if reg!(a) != reg!(b) {
                        next = to as usize;
                    }
                }
                Step::Next { var, step, end, head } => {
                    let value = (reg!(var) as i64).wrapping_add(reg!(step) as i64);
                    reg!(var) = value as u64;
                    if value < reg!(end) as i64 {
                        back!(head);
                    }
                }
                Step::Mark(_) => {}
                Step::Count(region) => self.counts[region as usize] += 1,
                Step::Yield(place) => {
                    *at = next;
                    return Ok(Pause::Yield(place));
                }
                Step::Fork(fork) => {
                    *at = next;
                    return Ok(Pause::Fork(fork));
                }
                Step::Join => {
                    *at = next;
                    return Ok(Pause::Join);
                }
                Step::Offer { slot, from } => {
                    let slot = slot as usize;
                    if self.offers.len() <= slot {
                        self.offers.resize(slot + 1, Vec::new());
                    }
                    if self.offers[slot].len() <= self.thread {
                        self.offers[slot].resize(self.thread + 1, 0);
                    }
                    self.offers[slot][self.thread] = reg!(from);
                }
                Step::Take { slot, to, thread } => {
                    let shown = self.offers.get(slot as usize).and_then(|shown| shown.get(reg!(thread) as usize));
                    // A missing thread leaves the value as it is.
                    if let Some(value) = shown {
                        reg!(to) = *value;
                    }
                }
                Step::End => return Ok(Pause::End),
            }
        }
        Ok(Pause::End)
    }

    /// Returns the distinct bytes that were touched in memory of a buffer.
    pub(super) fn touched_of(&self, buffer: Id<Buffer>) -> u64 {
        let index = buffer.index() as u32;
        let live: u64 = self.heap.pieces[1..].iter().filter(|piece| piece.buffer == index).map(touched).sum();
        live + self.touched.get(&index).copied().unwrap_or(0)
    }
}

fn touched(piece: &Memory) -> u64 {
    piece.flags.iter().filter(|flag| **flag & (READ | STORED) != 0).count() as u64
}

/// Computes an operation on integers; `None` for a division by zero.
#[inline]
pub(super) fn int(op: PrimOp, kind: Kind, x: i64, y: i64) -> Option<i64> {
    let unsigned = kind == Kind::UInt(64);
    let less = |x: i64, y: i64| if unsigned { (x as u64) < (y as u64) } else { x < y };
    let truth = |b: bool| Some(i64::from(b));
    let value = match op {
        PrimOp::Add => x.wrapping_add(y),
        PrimOp::Sub => x.wrapping_sub(y),
        PrimOp::Mul => x.wrapping_mul(y),
        PrimOp::Div | PrimOp::FloorDiv if unsigned => (x as u64).checked_div(y as u64)? as i64,
        PrimOp::Mod | PrimOp::FloorMod if unsigned => (x as u64).checked_rem(y as u64)? as i64,
        PrimOp::Div | PrimOp::Mod | PrimOp::FloorDiv | PrimOp::FloorMod if y == 0 => return None,
        PrimOp::Div => x.wrapping_div(y),
        PrimOp::Mod => x.wrapping_rem(y),
        PrimOp::FloorDiv => {
            let q = x.wrapping_div(y);
            if x.wrapping_rem(y) != 0 && (x < 0) != (y < 0) { q - 1 } else { q }
        }
        PrimOp::FloorMod => {
            let r = x.wrapping_rem(y);
            if r != 0 && (r < 0) != (y < 0) { r + y } else { r }
        }
        PrimOp::Min => return Some(if less(y, x) { y } else { x }),
        PrimOp::Max => return Some(if less(x, y) { y } else { x }),
        PrimOp::Eq => return truth(x == y),
        PrimOp::Ne => return truth(x != y),
        PrimOp::Lt => return truth(less(x, y)),
        PrimOp::Le => return truth(!less(y, x)),
        PrimOp::Gt => return truth(less(y, x)),
        PrimOp::Ge => return truth(!less(x, y)),
        PrimOp::And => return truth(x != 0 && y != 0),
        PrimOp::Or => return truth(x != 0 || y != 0),
    };
    Some(kind.wrap(value))
}

/// Computes an operation on floats, rounded to their kind.
#[inline]
pub(super) fn float(op: PrimOp, kind: Kind, x: f64, y: f64) -> u64 {
    let value = match op {
        PrimOp::Add => x + y,
        PrimOp::Sub => x - y,
        PrimOp::Mul => x * y,
        PrimOp::Div => x / y,
        PrimOp::FloorDiv => (x / y).floor(),
        PrimOp::Mod => x % y,
        PrimOp::FloorMod => x - (x / y).floor() * y,
        // Like LLVM's code: a comparison and a choice.
        PrimOp::Min => {
            if x < y {
                x
            } else {
                y
            }
        }
        PrimOp::Max => {
            if x > y {
                x
            } else {
                y
            }
        }
        PrimOp::Eq => return u64::from(x == y),
        PrimOp::Ne => return u64::from(x != y),
        PrimOp::Lt => return u64::from(x < y),
        PrimOp::Le => return u64::from(x <= y),
        PrimOp::Gt => return u64::from(x > y),
        PrimOp::Ge => return u64::from(x >= y),
        PrimOp::And => return u64::from(x != 0.0 && y != 0.0),
        PrimOp::Or => return u64::from(x != 0.0 || y != 0.0),
    };
    kind.round(value).to_bits()
}
