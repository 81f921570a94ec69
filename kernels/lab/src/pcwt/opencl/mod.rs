//! Shared parts of the OpenCL encoder and decoder of the profile `pcwt`: the program, and the trees on the device.

pub(crate) mod decoder;
pub(crate) mod encoder;
mod open;

use std::ops::Deref;
use std::sync::Arc;

use device::header::{Header, layout};
use device::kernel::Program;
use device::queue::{Buffer, Queue};
use device::{Device, Result};
use kernels::OpenError;
use kernels::parts::opencl::{IntegerChannel, LSIZE};
use picture::params::StreamParams;
use picture::pyramid::Pyramid;

pub(super) use self::open::{open_pcwt_decoder, open_pcwt_encoder};
use crate::pcwt::error::MAX_LENGTH;
use crate::pcwt::tree::Band;
use crate::pcwt::{GROUP_SIDE, Group, Tree};
use crate::transform::TransformParams;

/// Words that hold any group's bits: of each element its maximum, at most MAX_LENGTH + 1 bits with four coefficients of
/// as many and a sign.
pub(crate) const SLOT_WORDS: usize = (5 + 4 * MAX_LENGTH as usize) * GROUP_SIDE * GROUP_SIDE / 32;

layout! {
    /// A band of a level.
    BandInfo {
        /// Column and row of its coefficients in the square, their columns and rows.
        int x;
        int y;
        int w;
        int h;
        /// Columns and rows of its elements.
        int columns;
        int rows;
        /// Index of the first element.
        int start;
        /// Band of the parents, and of the children; -1: none.
        int parent;
        int child;
    }
}

layout! {
    /// A group of elements that are coded together.
    GroupInfo {
        int band;
        /// Column and row of its first element in the band, columns and rows of its elements.
        int x;
        int y;
        int columns;
        int rows;
    }
}

/// Returns the kernels of both.
pub(crate) fn program(device: &Device) -> Result<Program> {
    let sources = [
        include_str!("../../../cl/pcwt/pcwt.cl"),
        include_str!("../../../cl/pcwt/pcwt_encode.cl"),
        include_str!("../../../cl/pcwt/pcwt_decode.cl"),
    ];
    let header = Header::default()
        .define("PCWT_LSIZE", LSIZE)
        .define("MAX_LENGTH", MAX_LENGTH)
        .define("SLOT_WORDS", SLOT_WORDS)
        .layout::<BandInfo>()
        .layout::<GroupInfo>();
    device.build(&header, &sources)
}

/// All channels of a stream. Whoever owns them with memory that their queues use names them first, so that they go
/// first.
pub(crate) struct Channels(Vec<ChannelTree>);

impl Channels {
    /// Returns their planes.
    pub(crate) fn planes(&self) -> Vec<&IntegerChannel> {
        self.iter().map(|channel| &channel.plane).collect()
    }

    /// Returns their queues.
    pub(crate) fn queues(&self) -> impl Iterator<Item = &Queue> {
        self.iter().map(|channel| &channel.plane.queue)
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
        self.queues().for_each(Queue::settle);
    }
}

/// A channel's trees, and its plane and transform.
pub(crate) struct ChannelTree {
    pub(crate) plane: IntegerChannel,
    pub(crate) tree: Tree,
    pub(crate) bands: Buffer<BandInfo>,
    pub(crate) groups: Buffer<GroupInfo>,
    /// The maximum length of every element.
    pub(crate) maxima: Buffer<u8>,
}

impl ChannelTree {
    /// Opens all channels of a stream.
    pub(crate) fn all(device: &Arc<Device>, params: &StreamParams) -> Result<Channels, OpenError> {
        let pyramids = TransformParams::from(params).pyramids();
        let open = |(plane, pyramid): (IntegerChannel, &Pyramid)| {
            let (tree, queue) = (Tree::new(pyramid), &plane.queue);
            Ok(Self {
                bands: queue.constant(&bands(&tree))?,
                groups: queue.constant(&groups(&tree))?,
                maxima: queue.buffer(tree.elements())?,
                plane,
                tree,
            })
        };
        let planes = IntegerChannel::all(device, params, &pyramids)?;
        Ok(Channels(planes.into_iter().zip(&pyramids).map(open).collect::<Result<_, OpenError>>()?))
    }
}

// All numbers of both are bounded by the largest square.

fn bands(tree: &Tree) -> Vec<BandInfo> {
    let position = |band: Option<usize>| band.map_or(-1, |band| band as i32);
    let band = |band: &Band| BandInfo {
        x: band.rect.x as i32,
        y: band.rect.y as i32,
        w: band.rect.width as i32,
        h: band.rect.height as i32,
        columns: band.columns as i32,
        rows: band.rows as i32,
        start: band.start as i32,
        parent: position(band.parent),
        child: position(band.child),
    };
    tree.bands.iter().map(band).collect()
}

fn groups(tree: &Tree) -> Vec<GroupInfo> {
    let group = |group: &Group| GroupInfo {
        band: group.band as i32,
        x: group.x as i32,
        y: group.y as i32,
        columns: group.columns as i32,
        rows: group.rows as i32,
    };
    tree.groups.iter().map(group).collect()
}
