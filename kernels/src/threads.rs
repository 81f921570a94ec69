//! Threads that pay: as many as a picture keeps busy.
//!
//! A thread without work looks for some before it sleeps, and each of a frame's steps, a hundred or more, wakes those that sleep:
//! with sixteen threads a frame of 1280x720 came no sooner than with four, and took twice the processor time. Who works from
//! outside of the pool waits at each step, and is woken, so that a frame's steps belong on one of its threads.

use std::sync::OnceLock;

use picture::frame::FrameSize;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Samples of luma that keep a thread busy: four have enough to do with 1280x720.
const PIXELS_EACH: usize = 1280 * 720 / 4;
/// Fewest threads for any picture.
const LEAST: usize = 2;
/// Most threads of a pool of its own; beyond, all that there are.
const MOST: usize = 16;

/// Returns the number of threads that pay for pictures of this size, of so many.
fn count(size: FrameSize, all: usize) -> usize {
    size.pixels().div_ceil(PIXELS_EACH).max(LEAST).min(all)
}

/// Works on as many threads as pay for pictures of this size. On a thread of a pool it is that pool that works.
pub(crate) fn that_pay<A: Send>(size: FrameSize, work: impl FnOnce() -> A + Send) -> A {
    static POOLS: [OnceLock<Option<ThreadPool>>; MOST] = [const { OnceLock::new() }; MOST];
    if rayon::current_thread_index().is_some() {
        return work();
    }
    let all = rayon::current_num_threads();
    let count = count(size, all);
    let place = POOLS.get(count - 1).filter(|_| count < all);
    let pool = place.and_then(|place| {
        let name = |index| format!("codec-{index}");
        place.get_or_init(|| ThreadPoolBuilder::new().num_threads(count).thread_name(name).build().ok()).as_ref()
    });
    match pool {
        Some(pool) => pool.install(work),
        None => rayon::scope(|_| work()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_the_threads_that_it_keeps_busy() {
        let of = |width, height, all| count(FrameSize::new(width, height).unwrap(), all);
        assert_eq!([of(1, 1, 16), of(640, 360, 16), of(1280, 720, 16), of(1920, 1080, 16)], [2, 2, 4, 9]);
        assert_eq!([of(1, 1, 1), of(1280, 720, 3), of(3840, 2160, 16)], [1, 3, 16]);
    }

    #[test]
    fn work_is_done_on_one_pool_and_stays_there() {
        let size = FrameSize::new(64, 64).unwrap();
        let threads = that_pay(size, || {
            let outer = rayon::current_thread_index();
            assert!(outer.is_some());
            that_pay(FrameSize::new(1920, 1080).unwrap(), || assert_eq!(rayon::current_thread_index(), outer));
            rayon::current_num_threads()
        });
        assert_eq!(threads, count(size, rayon::current_num_threads()));
    }
}
