//! Threads that pay: as many as a picture keeps busy.
//!
//! A thread without work looks for some before it sleeps, and each of a frame's steps, a hundred or more, wakes those that sleep:
//! with sixteen threads a frame of 1280x720 came no sooner than with four, and took twice the processor time. Who works from
//! outside of the pool waits at each step, and is woken, so that a frame's steps belong on one of its threads.

use std::sync::OnceLock;

use picture::params::StreamParams;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Samples of luma that keep a thread busy, of pictures alone and of those with prediction, whose search takes longer: three and four have
/// enough to do with 1280x720. On sixteen cores a frame of 1920x1080 alone cost 1.4 times with nine threads what it costs with two, and 1.3
/// times with six.
const ALONE_EACH: usize = 1280 * 720 * 3 / 8;
const PREDICTED_EACH: usize = 1280 * 720 / 4;
/// Fewest threads for any picture.
const LEAST: usize = 2;
/// Most threads of a pool of its own; beyond, all that there are.
const MOST: usize = 16;

/// Returns the number of threads that pay for the pictures of a stream, of so many.
fn count(params: &StreamParams, all: usize) -> usize {
    let each = if params.codec.profile.states() > 0 { PREDICTED_EACH } else { ALONE_EACH };
    params.size.pixels().div_ceil(each).max(LEAST).min(all)
}

/// Works on as many threads as pay for the pictures of a stream. On a thread of a pool it is that pool that works.
pub(crate) fn that_pay<A: Send>(params: &StreamParams, work: impl FnOnce() -> A + Send) -> A {
    static POOLS: [OnceLock<Option<ThreadPool>>; MOST] = [const { OnceLock::new() }; MOST];
    if rayon::current_thread_index().is_some() {
        return work();
    }
    let all = rayon::current_num_threads();
    let count = count(params, all);
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
    use picture::frame::{Chroma, FrameSize};
    use picture::params::{CodecParams, Profile};

    use super::*;

    fn stream(profile: Profile, width: u32, height: u32) -> StreamParams {
        let codec = CodecParams { profile, ..CodecParams::default() };
        StreamParams { codec, ..StreamParams::new(FrameSize::new(width, height).unwrap(), Chroma::C420) }
    }

    #[test]
    fn a_picture_has_the_threads_that_it_keeps_busy() {
        let sizes = [(1, 1), (640, 360), (1280, 720), (1920, 1080), (3840, 2160)];
        let of = |profile, all| sizes.map(|(width, height)| count(&stream(profile, width, height), all));
        assert_eq!(of(Profile::Quad, 16), [2, 2, 3, 6, 16]);
        assert_eq!(of(Profile::Predicted(15), 16), [2, 2, 4, 9, 16]);
        assert_eq!(of(Profile::Predicted(15), 3), [2, 2, 3, 3, 3]);
        assert_eq!(of(Profile::Quad, 1), [1; 5]);
    }

    #[test]
    fn work_is_done_on_one_pool_and_stays_there() {
        let small = stream(Profile::Quad, 64, 64);
        let threads = that_pay(&small, || {
            let outer = rayon::current_thread_index();
            assert!(outer.is_some());
            that_pay(&stream(Profile::Quad, 1920, 1080), || assert_eq!(rayon::current_thread_index(), outer));
            rayon::current_num_threads()
        });
        assert_eq!(threads, count(&small, rayon::current_num_threads()));
    }
}
