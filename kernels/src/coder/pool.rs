//! Memory of the pictures of states: what nobody holds any more is used again.

use std::sync::Arc;

use picture::params::StreamParams;

use crate::Picture;

/// Pictures beyond those of the states: one that is being made, one whose state has yet to be computed.
const IN_WORK: usize = 2;

/// Pictures of one stream. Those for its states are there from the start: memory that comes from the system during a stream costs a
/// fault for each of its pages, and a daemon would still grow after its first pictures.
#[derive(Debug)]
pub(super) struct Pool {
    params: StreamParams,
    /// Pictures that states hold, or once held.
    held: Vec<Arc<Picture>>,
    spare: Vec<Picture>,
}

impl Pool {
    /// For a stream that keeps so many states.
    pub(super) fn new(params: &StreamParams, states: u8) -> Self {
        let count = usize::from(states) + IN_WORK;
        let touched = || {
            let mut picture = Picture::for_stream(params.chroma, params.size);
            picture.data_mut().fill(128);
            picture
        };
        Self { params: *params, held: Vec::with_capacity(count), spare: (0..count).map(|_| touched()).collect() }
    }

    /// Returns a picture with any samples, to be written as a whole.
    pub(super) fn take(&mut self) -> Picture {
        if let Some(picture) = self.spare.pop() {
            return picture;
        }
        let free = self.held.iter().position(|picture| Arc::strong_count(picture) == 1);
        let free = free.map(|at| Arc::try_unwrap(self.held.swap_remove(at)));
        match free {
            Some(Ok(picture)) => picture,
            Some(Err(_)) | None => Picture::for_stream(self.params.chroma, self.params.size),
        }
    }

    /// Takes a picture back that became no state.
    pub(super) fn give_back(&mut self, picture: Picture) {
        self.spare.push(picture);
    }

    /// Returns the picture of a state. Its memory is used again once all who hold it have let it go.
    pub(super) fn hold(&mut self, picture: Picture) -> Arc<Picture> {
        let picture = Arc::new(picture);
        self.held.push(Arc::clone(&picture));
        picture
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashSet, VecDeque};

    use picture::frame::{Chroma, ColourSpace, FrameSize};

    use super::*;

    #[test]
    fn the_memory_of_states_is_that_of_the_start() {
        let params = StreamParams {
            colour: ColourSpace::JPEG,
            ..StreamParams::new(FrameSize::new(30, 20).unwrap(), Chroma::C420)
        };
        let mut pool = Pool::new(&params, 4);
        let at = |picture: &Picture| picture.data().as_ptr();
        let made: HashSet<_> = pool.spare.iter().map(at).collect();
        let mut states = VecDeque::new();
        for number in 0..50_u8 {
            let mut picture = pool.take();
            assert!(made.contains(&at(&picture)), "{number}");
            if number % 7 == 3 {
                pool.give_back(picture);
                continue;
            }
            picture.data_mut().fill(number);
            states.push_back((number, pool.hold(picture)));
            assert!(states.iter().all(|(number, state)| state.data().iter().all(|sample| sample == number)));
            if states.len() > 4 {
                states.pop_front();
            }
        }
        // Who holds more gets more.
        let mut hold = |_| {
            let picture = pool.take();
            pool.hold(picture)
        };
        let more: Vec<_> = (0..10).map(&mut hold).collect();
        let places: HashSet<_> =
            more.iter().chain(states.iter().map(|state| &state.1)).map(|state| at(state)).collect();
        assert_eq!(places.len(), 14);
    }
}
