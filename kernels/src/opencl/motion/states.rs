//! Planes of states in device memory.

use device::Result;
use device::queue::{Buffer, Pinned};
use device::timeline::{DeviceStage, Recorder};

use crate::opencl::transform::channel::ChannelPipeline;

/// The states that frames may refer to, and room for one more and for one that is filtered.
pub(crate) struct DeviceStates {
    slots: Vec<Slot>,
    /// Planes to filter into.
    spare: Vec<Buffer<u8>>,
}

struct Slot {
    /// Number of the state; none before there is one.
    number: Option<u64>,
    planes: Vec<Buffer<u8>>,
}

/// Place of a state among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(usize);

impl DeviceStates {
    /// Creates room for `states` states of a stream, one more and one that is filtered.
    pub(crate) fn new(pipelines: &[ChannelPipeline], states: u8) -> Result<Self> {
        let plane = |pipeline: &ChannelPipeline| pipeline.queue.buffer(pipeline.width * pipeline.height);
        let planes = || pipelines.iter().map(plane).collect::<Result<Vec<_>>>();
        let slots = (0..=states).map(|_| Ok(Slot { number: None, planes: planes()? })).collect::<Result<_>>()?;
        Ok(Self { slots, spare: planes()? })
    }

    /// Returns a place, whatever is there.
    pub(crate) fn first(&self) -> Place {
        Place(0)
    }

    /// Returns the place of the state of this number and planes, which is brought here if it is not here yet, on the queues of
    /// `pipelines` and through `staging`; notes the commands.
    pub(crate) fn bring(
        &mut self,
        (number, planes): (u64, &[&[u8]]),
        pipelines: &[ChannelPipeline],
        staging: &mut [Pinned<u8>],
        recorder: &mut Recorder,
    ) -> Result<Place> {
        if let Some(at) = self.slots.iter().position(|slot| slot.number == Some(number)) {
            return Ok(Place(at));
        }
        let place = self.oldest(None);
        for (index, (pipeline, plane)) in pipelines.iter().zip(planes).enumerate() {
            let staging = &mut staging[index];
            staging.values_mut()[..plane.len()].copy_from_slice(plane);
            let event = pipeline.queue.upload(staging, self.plane(place, index), plane.len())?;
            recorder.note(pipeline.channel, DeviceStage::Upload, event);
        }
        self.keep(place, number);
        Ok(place)
    }

    /// Returns the place of the oldest state, which is forgotten, apart from the one that is `in_use`.
    pub(crate) fn oldest(&mut self, in_use: Option<Place>) -> Place {
        let others = (0..self.slots.len()).filter(|&at| in_use != Some(Place(at)));
        // There are at least two.
        let at = others.min_by_key(|&at| self.slots[at].number).unwrap_or(0);
        self.slots[at].number = None;
        Place(at)
    }

    /// Notes that a state is there.
    pub(crate) fn keep(&mut self, place: Place, number: u64) {
        self.slots[place.0].number = Some(number);
    }

    /// Forgets all states: nobody knows what their planes hold.
    pub(crate) fn forget(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.number = None);
    }

    /// Returns the plane of a channel that is filtered into.
    pub(crate) fn spare(&self, channel: usize) -> &Buffer<u8> {
        &self.spare[channel]
    }

    /// Puts the plane of a channel that has been filtered in the place of the one that it was filtered from.
    pub(crate) fn take_filtered(&mut self, place: Place, channel: usize) {
        std::mem::swap(&mut self.slots[place.0].planes[channel], &mut self.spare[channel]);
    }

    /// Returns the plane of a channel.
    pub(crate) fn plane(&self, place: Place, channel: usize) -> &Buffer<u8> {
        &self.slots[place.0].planes[channel]
    }
}
