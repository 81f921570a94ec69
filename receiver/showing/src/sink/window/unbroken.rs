//! Calls of a library that breaks down where its display server has gone: winit panics on many answers that do not come. This
//! is the one place at which panics are caught, since nobody could ask such a library in time whether the server lives: it
//! may end between any two of its requests.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static CALLS: Cell<bool> = const { Cell::new(false) };
    static BROKE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Returns what `call` returns, or the words with which it has broken down. Whoever is asked for more after that may break down
/// again.
pub(super) fn unbroken<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if CALLS.get() {
                BROKE.replace(panic.to_string());
            } else {
                usual(panic);
            }
        }));
    });
    let before = CALLS.replace(true);
    let called = catch_unwind(AssertUnwindSafe(call));
    CALLS.set(before);
    called.map_err(|_| {
        let broke = BROKE.take();
        tracing::debug!("{broke}");
        broke.lines().last().unwrap_or_default().to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_breaks_down_says_why_and_who_does_not_gives_what_was_asked_for() {
        assert_eq!(unbroken(|| 7), Ok(7));
        let missing = std::hint::black_box(None::<u8>);
        assert_eq!(unbroken(|| missing.expect("no answer")), Err("no answer".to_owned()));
        assert_eq!(unbroken(|| 8), Ok(8));
        assert!(!CALLS.get(), "others break down as always");
    }
}
