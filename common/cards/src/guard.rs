//! Debug builds: an allocator that knows when a card's callback runs, so that an allocation there fails an assertion.

/// Runs a callback's work; in a debug build it asserts that the work allocates and frees nothing.
#[cfg(not(debug_assertions))]
#[inline]
pub(crate) fn no_allocation<T>(work: impl FnOnce() -> T) -> T {
    work()
}

#[cfg(debug_assertions)]
pub(crate) use watched::*;

#[cfg(debug_assertions)]
mod watched {
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::cell::Cell;

    thread_local! {
        static STATE: Cell<State> = const { Cell::new(State { is_watched: false, count: 0 }) };
    }

    #[derive(Clone, Copy)]
    struct State {
        is_watched: bool,
        count: u64,
    }

    struct Watching;

    // A library sets it so that every program that opens cards has it.
    #[global_allocator]
    static ALLOCATOR: Watching = Watching;

    fn note() {
        // The thread's own memory may be gone when its last values are freed.
        let _ = STATE.try_with(|state| {
            let now = state.get();
            if now.is_watched {
                state.set(State { count: now.count + 1, ..now });
            }
        });
    }

    // SAFETY: everything is passed on to the system's allocator as it came; noting changes a thread's own count only.
    unsafe impl GlobalAlloc for Watching {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            note();
            // SAFETY: the caller keeps `System`'s rules, which are this function's.
            unsafe { System.alloc(layout) }
        }

        unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
            note();
            // SAFETY: as above; the block is one of `System`'s.
            unsafe { System.dealloc(block, layout) }
        }

        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            note();
            // SAFETY: as above.
            unsafe { System.alloc_zeroed(layout) }
        }

        unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            note();
            // SAFETY: as above.
            unsafe { System.realloc(block, layout, size) }
        }
    }

    /// Returns what `work` gives, and how often it allocated or freed.
    pub(crate) fn counted<T>(work: impl FnOnce() -> T) -> (T, u64) {
        let before = STATE.replace(State { is_watched: true, count: 0 });
        let result = work();
        (result, STATE.replace(before).count)
    }

    pub(crate) fn no_allocation<T>(work: impl FnOnce() -> T) -> T {
        let (result, count) = counted(work);
        assert!(count == 0, "a card's callback allocated or freed memory {count} times");
        result
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn each_allocation_is_counted() {
            assert_eq!(counted(|| 1 + 1), (2, 0));
            assert_eq!(counted(|| drop(Box::new([0u8; 100]))).1, 2);
            let mut list = Vec::with_capacity(1);
            assert_eq!(counted(|| list.extend([1, 2, 3])).1, 1);
        }

        #[test]
        #[should_panic(expected = "allocated or freed memory 2 times")]
        fn an_allocation_in_a_callback_is_refused() {
            no_allocation(|| drop(std::hint::black_box(Box::new(5))));
        }
    }
}
