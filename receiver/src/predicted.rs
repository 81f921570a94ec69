//! Frames that refer to others: the decoder and the states that it has.

use common::prediction::Held;
use common::units::FrameId;
use common::wire::states::StatesReport;
use kernels::motion::{StateDecoder, open_state_decoder};
use kernels::{BackendChoice, BackendInfo, DecodeError, DecodeTimes, OpenError, Picture};
use picture::coded::{BlockState, ReceivedFrame};
use picture::gaps::Gaps;
use picture::params::StreamParams;
use picture::pyramid::BlockLayout;
use shell::limited;

/// A report has the hash of the newest state whose number is a multiple of this.
const HASHED: u32 = 8;

/// The decoder of a stream with prediction.
pub struct Predicted {
    decoder: StateDecoder,
    backend: BackendInfo,
    held: Held<Picture>,
    window: u8,
    coarse_blocks: usize,
}

impl Predicted {
    /// Opens the decoder. It runs on the processor, whatever is asked for: the sender chooses the profile.
    pub fn open(params: &StreamParams, choice: BackendChoice) -> Result<Self, OpenError> {
        let choice = if choice == BackendChoice::Reference { choice } else { BackendChoice::Cpu };
        let decoder = open_state_decoder(params, choice, None)?;
        let reason = "predicted frames are decoded on the processor".to_owned();
        let backend = BackendInfo { reason, ..decoder.backend().clone() };
        let window = params.codec.profile.states();
        let coarse_blocks = BlockLayout::new(params).coarse_blocks();
        Ok(Self { decoder, backend, held: Held::new(window), window, coarse_blocks })
    }

    /// Forgets the states: another sender begins.
    pub fn restart(&mut self) {
        self.held = Held::new(self.window);
    }

    /// Returns what decodes.
    pub fn backend(&self) -> &BackendInfo {
        &self.backend
    }

    /// Decodes a frame; false if it cannot be, and the picture before it stays.
    pub fn decode(
        &mut self,
        id: FrameId,
        reference: u8,
        frame: &mut ReceivedFrame,
        out: &mut Picture,
    ) -> Result<bool, DecodeError> {
        let gaps = Gaps::of(frame);
        let state = self.held.reference(id, reference);
        if reference > 0 && state.is_none() {
            limited!(info, "frame {} refers to a state that is not there: the last picture stays", id.0);
            self.held.on_lacking(id);
            return Ok(false);
        }
        // Without one, what a coarse block would be taken from is not known at both ends.
        if reference == 0 && (0..self.coarse_blocks).any(|index| frame.block(index) == BlockState::Missing) {
            self.held.on_not_used(id);
            return Ok(false);
        }
        self.decoder.decode(frame, state, out)?;
        let hash = id.0.is_multiple_of(HASHED).then(|| out.hash());
        self.held.on_used(id, gaps, out.clone(), hash);
        Ok(true)
    }

    /// Returns the duration of the stages of the last frame decoded.
    pub fn times(&self) -> DecodeTimes {
        self.decoder.times()
    }

    /// Returns the fates of the last frames, for the sender.
    pub fn report(&self) -> Option<StatesReport> {
        self.held.report()
    }
}
