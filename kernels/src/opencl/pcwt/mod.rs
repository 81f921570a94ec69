//! Shared parts of the OpenCL encoder and decoder of the profile `pcwt`: the program, and the trees on the device.

pub(crate) mod decoder;
pub(crate) mod encoder;

use std::ops::Deref;
use std::sync::Arc;

use picture::params::StreamParams;
use picture::pyramid::Pyramid;

use crate::opencl::device::Device;
use crate::opencl::device::Result;
use crate::opencl::device::kernel::Program;
use crate::opencl::device::memory::Memory;
use crate::opencl::device::queue::Buffer;
use crate::opencl::lossless::channel::{IntegerChannel, LSIZE, Plan};
use crate::pcwt::error::MAX_LENGTH;
use crate::pcwt::tree::Band;
use crate::pcwt::{GROUP_SIDE, Group, Tree};
use crate::{OpenError, TransformParams};

/// Words that hold any group's bits: of each element its maximum, at most MAX_LENGTH + 1 bits with four coefficients of
/// as many and a sign.
pub(crate) const SLOT_WORDS: usize = (5 + 4 * MAX_LENGTH as usize) * GROUP_SIDE * GROUP_SIDE / 32;
/// Ints of a band's description.
const BAND: usize = 9;
/// Ints of a group's description.
const GROUP: usize = 5;

/// Returns the kernels of both.
pub(crate) fn program(device: &Device) -> Result<Program> {
    let sources = [
        include_str!("../../../cl/pcwt/pcwt.cl"),
        include_str!("../../../cl/pcwt/pcwt_encode.cl"),
        include_str!("../../../cl/pcwt/pcwt_decode.cl"),
    ];
    let options = format!(
        "-D PCWT_LSIZE={LSIZE} -D MAX_LENGTH={MAX_LENGTH} -D SLOT_WORDS={SLOT_WORDS} -D BAND={BAND} -D GROUP={GROUP}"
    );
    device.build(&sources, &options)
}

/// All channels of a stream. Whoever owns them with memory that their queues use names them first, so that they go
/// first.
pub(crate) struct Channels(Vec<ChannelTree>);

impl Channels {
    /// Returns their planes.
    pub(crate) fn planes(&self) -> Vec<&IntegerChannel> {
        self.iter().map(|channel| &channel.plane).collect()
    }

    /// Passes on the result of a frame. After a failure, waits until no command uses the staging memory.
    pub(crate) fn after<T, E>(&self, result: Result<T, E>) -> Result<T, E> {
        if result.is_err() {
            self.settle();
        }
        result
    }

    fn settle(&self) {
        self.iter().for_each(|channel| channel.plane.queue.settle());
    }
}

impl Deref for Channels {
    type Target = [ChannelTree];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Drop for Channels {
    fn drop(&mut self) {
        // Nothing may use the staging memory any more.
        self.settle();
    }
}

/// A channel's trees, as cl/pcwt/pcwt.cl has them, and its plane and transform.
pub(crate) struct ChannelTree {
    pub(crate) plane: IntegerChannel,
    pub(crate) tree: Tree,
    pub(crate) bands: Buffer<i32>,
    pub(crate) groups: Buffer<i32>,
    /// The maximum length of every element.
    pub(crate) maxima: Buffer<u8>,
}

impl ChannelTree {
    /// Opens all channels of a stream, after `more`, the memory that is needed for all together and for each of them
    /// besides, was found to fit.
    pub(crate) fn all(
        device: &Arc<Device>,
        params: &StreamParams,
        mut memory: Memory,
        more: impl Fn(&Tree, &Pyramid, &mut Memory),
    ) -> Result<Channels, OpenError> {
        let mut plans = Vec::new();
        for plan in Plan::all(device, params, &TransformParams::from(params).pyramids())? {
            let tree = Tree::new(&plan.pyramid);
            plan.memory(&mut memory);
            memory.buffers::<i32>(&[BAND * tree.bands.len(), GROUP * tree.groups.len()]);
            memory.buffers::<u8>(&[tree.elements()]);
            more(&tree, &plan.pyramid, &mut memory);
            plans.push((plan, tree));
        }
        memory.check(device)?;
        let open = |(plan, tree): (Plan, Tree)| {
            let queue = &plan.queue;
            Ok(Self {
                bands: queue.constant(bands(&tree).as_flattened())?,
                groups: queue.constant(groups(&tree).as_flattened())?,
                maxima: queue.buffer(tree.elements())?,
                plane: plan.open()?,
                tree,
            })
        };
        Ok(Channels(plans.into_iter().map(open).collect::<Result<_, OpenError>>()?))
    }
}

fn bands(tree: &Tree) -> Vec<[i32; BAND]> {
    let position = |band: Option<usize>| band.map_or(-1, |band| band as i32);
    // All are bounded by the largest square.
    let band = |band: &Band| {
        let rect = band.rect;
        let [x, y, width, height] = [rect.x, rect.y, rect.width, rect.height].map(|value| value as i32);
        let [columns, rows, start] = [band.columns, band.rows, band.start].map(|value| value as i32);
        [x, y, width, height, columns, rows, start, position(band.parent), position(band.child)]
    };
    tree.bands.iter().map(band).collect()
}

fn groups(tree: &Tree) -> Vec<[i32; GROUP]> {
    let group = |group: &Group| [group.band, group.x, group.y, group.columns, group.rows].map(|value| value as i32);
    tree.groups.iter().map(group).collect()
}
