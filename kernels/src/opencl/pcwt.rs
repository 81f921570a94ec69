//! What the OpenCL encoder and decoder of the profile `pcwt` share: the program, memory on both sides, and the channels' trees and
//! transforms on the device.

use std::ops::Deref;
use std::sync::Arc;

use common::frame::{BitDepth, Channel};
use common::params::StreamParams;
use common::pyramid::Pyramid;
use ocl::core::OclPrm;

use super::channel::constant;
use super::choice::Schemes;
use super::device::Device;
use super::kernel::{Kernel, Program};
use super::memory::Memory;
use super::queue::{Buffer, Event, Pinned, Queue};
use super::transform::ChannelTransform;
use crate::pcwt::{Band, GROUP_SIDE, Group, MAX_LENGTH, Tree};
use crate::{Error, TransformParams};

/// Work-items in a group.
pub(super) const LSIZE: usize = 64;
/// Words that hold any group's bits: of each element its maximum, at most MAX_LENGTH + 1 bits with four coefficients of as
/// many and a sign.
pub(super) const SLOT_WORDS: usize = (5 + 4 * MAX_LENGTH as usize) * GROUP_SIDE * GROUP_SIDE / 32;
/// Ints of a band's description.
const BAND: usize = 9;
/// Ints of a group's description.
const GROUP: usize = 5;

/// The kernels of both, for samples of `depth`.
pub(super) fn program(device: &Device, depth: BitDepth) -> Result<Program, Error> {
    let sources = [
        include_str!("../../cl/pcwt.cl"),
        include_str!("../../cl/pcwt_encode.cl"),
        include_str!("../../cl/pcwt_decode.cl"),
        include_str!("../../cl/rct.cl"),
    ];
    let options = format!(
        "-D PCWT_LSIZE={LSIZE} -D MAX_LENGTH={MAX_LENGTH} -D SLOT_WORDS={SLOT_WORDS} -D BAND={BAND} -D GROUP={GROUP} -D SAMPLE_BITS={}",
        depth.bits()
    );
    device.build(&sources, &options)
}

/// Device memory, and pinned host memory of the same size from and to which it is copied.
pub(super) struct Staged<T: OclPrm> {
    pub(super) device: Buffer<T>,
    pub(super) host: Pinned<T>,
}

impl<T: OclPrm> Staged<T> {
    pub(super) fn new(queue: &Queue, len: usize) -> Result<Self, Error> {
        Ok(Self { device: queue.buffer(len)?, host: queue.pinned(len)? })
    }

    /// Makes room for `len` values; whether that took other memory, in which nothing is yet.
    pub(super) fn grow(&mut self, queue: &Queue, len: usize) -> Result<bool, Error> {
        let is_short = len > self.device.len();
        if is_short {
            *self = Self::new(queue, len + len / 4)?;
        }
        Ok(is_short)
    }

    /// Starts copying `values`, at least one and no more than there is room for, to the device.
    pub(super) fn upload(&mut self, queue: &Queue, values: &[T]) -> Result<Event, Error> {
        self.host.values_mut()[..values.len()].copy_from_slice(values);
        queue.upload(&self.host, &self.device, values.len())
    }

    /// Starts copying the first `len` values to the host.
    pub(super) fn download(&mut self, queue: &Queue, len: usize) -> Result<Event, Error> {
        queue.download(&self.device, &mut self.host, len)
    }
}

/// All channels of a stream. Whoever owns them with memory that their queues use names them first, so that they go first.
pub(super) struct Channels(Vec<ChannelTree>);

impl Channels {
    /// What a frame came to. Nothing of a failed one still uses the staging memory when the next one fills it.
    pub(super) fn after<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        if result.is_err() {
            self.settle();
        }
        result
    }

    fn settle(&self) {
        self.iter().for_each(|channel| channel.queue.settle());
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

/// A channel's trees, as cl/pcwt.cl has them, and its transform.
pub(super) struct ChannelTree {
    pub(super) channel: Channel,
    pub(super) queue: Queue,
    pub(super) tree: Tree,
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) transform: ChannelTransform<i32>,
    pub(super) bands: Buffer<i32>,
    pub(super) groups: Buffer<i32>,
    /// The maximum length of every element.
    pub(super) maxima: Buffer<u8>,
}

impl ChannelTree {
    /// All channels of a stream, each with its own queue, after `more`, the memory that is needed besides, was found to fit.
    pub(super) fn all(
        device: &Arc<Device>,
        params: &StreamParams,
        more: impl Fn(&Tree, &Pyramid, &mut Memory),
    ) -> Result<Channels, Error> {
        let transform = TransformParams::from(params);
        let mut memory = Memory::default();
        let mut plans = Vec::new();
        for (&channel, pyramid) in params.chroma.channels().iter().zip(transform.pyramids()) {
            let queue = Queue::with(device, false)?;
            let schemes = Schemes::<i32>::open(&queue, &transform, &pyramid)?;
            let tree = Tree::new(&pyramid);
            ChannelTransform::memory(&pyramid, &schemes, &mut memory);
            memory.buffers::<i32>(&[BAND * tree.bands.len(), GROUP * tree.groups.len()]);
            memory.buffers::<u8>(&[tree.elements()]);
            more(&tree, &pyramid, &mut memory);
            plans.push((channel, queue, pyramid, schemes, tree));
        }
        memory.check(device)?;
        let open = |(channel, queue, pyramid, schemes, tree): (_, Queue, Pyramid, _, Tree)| {
            Ok(Self {
                channel,
                width: pyramid.plane().width(),
                height: pyramid.plane().height(),
                transform: ChannelTransform::new(&queue, &pyramid, &schemes)?,
                bands: constant(&queue, bands(&tree).as_flattened())?,
                groups: constant(&queue, groups(&tree).as_flattened())?,
                maxima: queue.buffer(tree.elements())?,
                queue,
                tree,
            })
        };
        Ok(Channels(plans.into_iter().map(open).collect::<Result<_, Error>>()?))
    }

    /// Runs a kernel with a work-item for every column and row of these.
    pub(super) fn launch(&self, kernel: &Kernel, columns: usize, rows: usize) -> Result<(), Error> {
        if columns > 0 && rows > 0 {
            self.queue.launch(kernel, [columns.div_ceil(LSIZE), rows], [LSIZE, 1], &[])?;
        }
        Ok(())
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
