//! Handles of blocks and loops (TVM's `primitive/get_block_loop.cc`).

use super::analysis::{is_output, scope_root};
use super::scope::{consumers, producers};
use super::state::{BlockRef, LoopRef, State};
use super::tree::What;
use super::{Outcome, refuse};

impl State<'_> {
    /// Returns the block of a name in a function; nothing is the function that is worked on.
    pub(super) fn get_block(&mut self, name: &str, func: Option<&str>) -> Outcome<BlockRef> {
        match func {
            Some(func) => match self.function_named(func) {
                Some(at) => self.at = at,
                None => return refuse(format!("ValueError: there is no tensor program `{func}` in the module")),
            },
            None => match self.worked_on().or_else(|| self.entry()) {
                Some(at) => self.at = at,
                None => {
                    return refuse(
                        "ValueError: `get_sblock` does not know which function to be working on. Please specify the function name \
                         explicitly, or call `work_on` to specify the function before using `get_sblock`.",
                    );
                }
            },
        }
        let tree = self.tree()?;
        let named = |what: &What| match what {
            What::Block(block) => (self.store.str(self.store.prim_block(*block).name) == name).then_some(*block),
            What::Loop(_) => None,
        };
        let found: Vec<_> = tree.nodes.iter().filter_map(|node| named(&node.what)).collect();
        match found[..] {
            [block] => Ok(self.block_ref(block)),
            [] => refuse(format!("ScheduleError: Cannot find a block with the name: {name}")),
            _ => refuse(format!("ScheduleError: Found {} blocks with the name: {name}", found.len())),
        }
    }

    /// Returns the default function: the one marked as entry, or `main`. TVM looks for the only one as well, and forgets it.
    fn entry(&self) -> Option<usize> {
        let marked = (0..self.n_functions()).find(|at| self.is_entry(*at));
        marked.or_else(|| self.function_named("main"))
    }

    /// Returns the loop at which a sample says that a block is computed; none is in its own place or inlined.
    pub(super) fn compute_location(&mut self, block: BlockRef, decision: i64) -> Outcome<Option<LoopRef>> {
        let Ok(at) = usize::try_from(decision) else { return Ok(None) };
        let used = self.get_neighbours(block, true)?;
        let Some(first) = used.first().copied() else { return Ok(None) };
        Ok(self.get_loops(first)?.get(at).copied())
    }

    /// Returns the factors of a loop, from a decision that may have been made for another loop: adapts a factor that
    /// does not divide it any more.
    pub(super) fn perfect_tile(&mut self, of: LoopRef, mut sizes: Vec<i64>) -> Outcome<Vec<i64>> {
        let (tree, at) = self.find_loop(of)?;
        let (head, _) = self.head(&tree, at)?;
        let Some(mut rest) = self.store.as_prim_int(head.extent) else {
            for (place, size) in sizes.iter_mut().enumerate() {
                *size = if place == 0 { -1 } else { 1 };
            }
            return Ok(sizes);
        };
        for size in sizes.iter_mut().skip(1).rev() {
            if rest.checked_rem(*size) != Some(0) {
                *size = rest;
            }
            rest = rest.checked_div(*size).unwrap_or(1);
        }
        if let Some(first) = sizes.first_mut() {
            *first = rest;
        }
        Ok(sizes)
    }

    /// The same where the product of the sizes from a place on is divisible by a factor, which goes to that place otherwise.
    pub(super) fn partitioned_tile(&mut self, of: LoopRef, mut sizes: Vec<i64>, place: i64, factor: i64) -> Outcome<Vec<i64>> {
        let (tree, at) = self.find_loop(of)?;
        let (head, _) = self.head(&tree, at)?;
        let Some(place) = usize::try_from(place).ok().filter(|place| *place < sizes.len() && sizes.len() > 1) else {
            return refuse("ValueError: the place of the partition is none of the sizes");
        };
        let whole = self.store.as_prim_int(head.extent);
        let quotient = whole.filter(|whole| whole.checked_rem(factor) == Some(0)).and_then(|whole| whole.checked_div(factor));
        let inner = sizes[place..].iter().fold(1i64, |all, size| all.wrapping_mul(*size));
        match quotient {
            Some(_) if inner.checked_rem(factor) == Some(0) => self.perfect_tile(of, sizes),
            first => {
                sizes.fill(1);
                sizes[0] = first.unwrap_or(-1);
                if first.is_some() {
                    sizes[place] = factor;
                }
                Ok(sizes)
            }
        }
    }

    /// Returns the loops around a block up to the block that it stands in, the outermost first.
    pub(super) fn get_loops(&mut self, block: BlockRef) -> Outcome<Vec<LoopRef>> {
        let (tree, at) = self.find_block(block)?;
        let mut found = Vec::new();
        for at in tree.loops_above(at) {
            if let What::Loop(var) = tree.nodes[at].what {
                found.push(self.loop_ref(var));
            }
        }
        Ok(found)
    }

    /// Returns the blocks right in a block or loop.
    pub(super) fn get_child_blocks(&mut self, of: Result<BlockRef, LoopRef>) -> Outcome<Vec<BlockRef>> {
        let (tree, at) = match of {
            Ok(block) => self.find_block(block)?,
            Err(of) => self.find_loop(of)?,
        };
        Ok(self.refs(&tree, tree.child_blocks(at)))
    }

    fn refs(&mut self, tree: &super::tree::Tree, places: Vec<usize>) -> Vec<BlockRef> {
        places.into_iter().filter_map(|at| tree.as_block(at)).map(|block| self.block_ref(block)).collect()
    }

    /// Returns the blocks whose results a block uses, or with `after` those that use its results.
    pub(super) fn get_neighbours(&mut self, block: BlockRef, after: bool) -> Outcome<Vec<BlockRef>> {
        let (tree, at) = self.find_block(block)?;
        let root = scope_root(self, &tree, at, false)?;
        let found = if after { consumers(self, &tree, root, at)? } else { producers(self, &tree, root, at)? };
        Ok(self.refs(&tree, found))
    }

    /// Returns the blocks in a block that write what the block around them gives: a block before those inside of it.
    pub(super) fn get_output_blocks(&mut self, block: BlockRef) -> Outcome<Vec<BlockRef>> {
        let (tree, root) = self.find_block(block)?;
        let mut found = Vec::new();
        let mut todo: Vec<usize> = tree.child_blocks(root);
        todo.reverse();
        while let Some(at) = todo.pop() {
            let scope = scope_root(self, &tree, at, false)?;
            if is_output(self, &tree, at, scope)? {
                found.push(at);
            }
            todo.extend(tree.child_blocks(at).into_iter().rev());
        }
        Ok(self.refs(&tree, found))
    }
}
