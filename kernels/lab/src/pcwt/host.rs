//! The profile `pcwt` on the processor: by the reference, or vectorised and on all cores.

use kernels::parts::Transform;
use kernels::parts::Values;
use kernels::parts::reference::{check_size, check_target, rct};
use kernels::{Backend, BackendChoice, BackendInfo, Picture, PictureRef};
use picture::params::StreamParams;
use picture::pyramid::Pyramid;

use super::{
    CodeError, CodedChannel, PcwtDecoder, PcwtEncoder, PcwtError, QMIN_MAX, ReceivedChannel, Tree, cpu, parse,
    reference, trees, write,
};
use crate::OpenError;
use crate::open::open_transform;
use crate::transform::TransformParams;

/// Coder of the coefficients.
#[derive(Clone, Copy, Debug)]
enum TreeCoder {
    Reference,
    Cpu,
}

impl TreeCoder {
    /// Returns the coder that belongs to a back end.
    fn of(backend: &BackendInfo) -> Self {
        match backend.kind {
            Backend::Reference => Self::Reference,
            Backend::Cpu | Backend::Opencl => Self::Cpu,
        }
    }

    fn encode(self, square: &[i32], tree: &Tree, qmin: u8) -> CodedChannel {
        match self {
            Self::Reference => reference::encode(square, tree, qmin),
            Self::Cpu => cpu::encode::encode(square, tree, qmin),
        }
    }

    fn decode(self, channel: &ReceivedChannel<'_>, tree: &Tree, qmin: u8, square: &mut [i32]) -> Result<(), usize> {
        match self {
            Self::Reference => reference::decode(channel, tree, qmin, square),
            Self::Cpu => cpu::decode::decode(channel, tree, qmin, square),
        }
    }
}

/// Encoder and decoder on the processor.
pub(super) struct HostCoder {
    params: StreamParams,
    trees: Vec<Tree>,
    pyramids: Vec<Pyramid>,
    transform: Box<dyn Transform>,
    squares: Values,
}

impl HostCoder {
    /// Opens a coder for the pictures and frames of a stream.
    pub(super) fn open(params: &StreamParams, choice: BackendChoice) -> Result<Self, OpenError> {
        let transform = TransformParams::from(params);
        let pyramids = transform.pyramids();
        let squares = pyramids.iter().map(|pyramid| vec![0; pyramid.side() * pyramid.side()]).collect();
        Ok(Self {
            params: *params,
            trees: trees(params),
            transform: open_transform(&transform, choice, None)?,
            pyramids,
            squares: Values::I32(squares),
        })
    }
}

impl PcwtEncoder for HostCoder {
    fn encode(&mut self, picture: PictureRef<'_>, qmin: u8) -> Result<Vec<u8>, CodeError> {
        check_size(picture, self.params.size, self.params.codec.depth)?;
        if qmin > QMIN_MAX {
            return Err(PcwtError::Qmin { found: qmin }.into());
        }
        let planes = Values::I32(rct::planes(picture, self.params.chroma)?);
        self.transform.forward_planes_into(&planes, &mut self.squares)?;
        let coder = TreeCoder::of(self.transform.backend());
        let squares = self.squares.squares::<i32>(&self.pyramids)?;
        let channels = squares.iter().zip(&self.trees).map(|(square, tree)| coder.encode(square, tree, qmin));
        Ok(write(qmin, &channels.collect::<Vec<_>>())?)
    }

    fn backend(&self) -> &BackendInfo {
        self.transform.backend()
    }
}

impl PcwtDecoder for HostCoder {
    fn decode(&mut self, bytes: &[u8], out: &mut Picture) -> Result<(), CodeError> {
        check_target(out, self.params.size, &self.params)?;
        let frame = parse(bytes, &self.trees)?;
        let coder = TreeCoder::of(self.transform.backend());
        let squares = self.squares.squares_mut::<i32>(&self.pyramids)?;
        let channels = frame.channels.iter().zip(&self.trees).zip(squares);
        for (index, ((channel, tree), square)) in channels.enumerate() {
            let damaged = |group| PcwtError::Group { channel: index, group, of: tree.groups.len() };
            coder.decode(channel, tree, frame.qmin, square).map_err(damaged)?;
        }
        let planes = self.transform.inverse(&self.squares)?;
        rct::finish(planes.planes::<i32>(&self.pyramids)?, out);
        Ok(())
    }

    fn backend(&self) -> &BackendInfo {
        self.transform.backend()
    }
}
