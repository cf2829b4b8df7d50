//! Counts the work of readers in tests: bytes and items that they went over.

/// Adds to the work done; nothing outside of tests.
#[inline(always)]
pub(super) fn spend(_work: usize) {
    #[cfg(test)]
    SPENT.set(SPENT.get() + _work);
}

#[cfg(test)]
thread_local! {
    static SPENT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Returns the work that a function does on this thread.
#[cfg(test)]
pub(super) fn of(run: impl FnOnce()) -> usize {
    let before = SPENT.get();
    run();
    SPENT.get() - before
}
