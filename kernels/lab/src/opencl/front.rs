//! Samples of a picture to quantised code-blocks (`cl/jpeg2000.cl`): colour, transform and quantiser, of which nothing but the blocks
//! comes back to the host.

use std::sync::Arc;

use device::header::{Header, layout};
use device::kernel::{Arg, Kernel, Program, kernel, named};
use device::queue::{Buffer, Event, Queue, settled, wait};
use device::staged::Staged;
use device::{Device, DeviceError, OclPrm, Result, open_within};
use kernels::parts::opencl::{ChannelTransform, backend, find, literal};
use kernels::parts::reference::Sample;
use kernels::{BackendInfo, DeviceKind, Element};

use super::address::Tabled;
use super::choice;
use crate::OpenError;
use crate::transform::TransformParams;

layout! {
    /// A code-block.
    FrontBlock {
        /// Its first coefficient in the square.
        int row;
        int column;
        /// Columns and rows in the picture: its rows and columns in the square.
        int width;
        int height;
        /// The number of its first coefficient in what is coded.
        int start;
        /// Quantised magnitude of a coefficient of 1.
        float inverse;
    }
}

/// Weights of the irreversible colour transform.
#[derive(Clone, Copy)]
pub(crate) struct Weights {
    /// Of red, green and blue in Y.
    pub(crate) light: [f32; 3],
    /// Of the differences from Y in Cb and Cr.
    pub(crate) differences: [f32; 2],
}

/// Shape of pictures and of what is made of them.
pub(crate) struct FrontShape<'a> {
    /// The transforms, each with how many components it takes.
    pub(crate) parts: &'a [(usize, TransformParams)],
    /// Columns and rows of each component.
    pub(crate) extents: &'a [(usize, usize)],
    /// The first three components are a colour transform's.
    pub(crate) mixes_colours: bool,
    pub(crate) weights: Weights,
    /// Bytes of a sample, 1 or 2, and of a coefficient, 2 or 4.
    pub(crate) sample_bytes: usize,
    pub(crate) coded_bytes: usize,
    /// Binary digits of a magnitude below the quantiser's.
    pub(crate) digits: u32,
    /// Code-blocks of each component.
    pub(crate) blocks: &'a [Vec<FrontBlock>],
}

/// Columns of a picture that a group takes.
const COLUMNS: usize = 4;
/// The same on a processor, for whole cache lines.
const CPU_COLUMNS: usize = 32;

/// Colour, transform and quantiser on a device.
pub(crate) struct OpenClFront<T: OclPrm> {
    components: Vec<Component<T>>,
    mixed: Option<Kernel>,
    group_size: usize,
    columns: usize,
    backend: BackendInfo,
}

/// A component's queue, memory and kernels.
struct Component<T: OclPrm> {
    queue: Queue,
    transform: ChannelTransform<T>,
    width: usize,
    samples: Staged<u8>,
    blocks: Buffer<FrontBlock>,
    coded: Staged<u8>,
    plane: Kernel,
    quantise: Kernel,
}

impl<T: Sample + Tabled> OpenClFront<T> {
    /// Opens it on the device whose name contains `device`, or on the best one; `reason` says why this back end was chosen.
    pub(crate) fn open(shape: &FrontShape<'_>, device: Option<&str>, reason: &str) -> Result<Self, OpenError> {
        open_within(&find(device)?, |device| Self::on(device, shape, reason))
    }

    fn on(device: &Arc<Device>, shape: &FrontShape<'_>, reason: &str) -> Result<Self, OpenError> {
        let columns = if device.info.kind == DeviceKind::Cpu { CPU_COLUMNS } else { COLUMNS };
        let program = program(device, shape, T::ELEMENT == Element::I32, columns)?;
        let pyramids = shape
            .parts
            .iter()
            .flat_map(|(_, params)| params.pyramids().into_iter().map(move |pyramid| (params, pyramid)));
        let mut components: Vec<Component<T>> = Vec::new();
        for (((params, pyramid), &(width, height)), blocks) in pyramids.zip(shape.extents).zip(shape.blocks) {
            let queue = Queue::with(device, false)?;
            let transform = ChannelTransform::new(&queue, &pyramid, &choice::open(&queue, params, &pyramid)?)?;
            let samples = Staged::new(&queue, width * height * shape.sample_bytes)?;
            let coded = Staged::new(&queue, width * height * shape.coded_bytes)?;
            let blocks = queue.constant(blocks)?;
            let (to, pitch) = transform.samples();
            let size = named(["pitch", "width", "height"], [pitch.into(), width.into(), height.into()]);
            let args = [&[("in", samples.device.arg()), ("out", to.arg())][..], &size].concat();
            let plane = kernel(&program, "jpeg2000_plane", &args)?;
            let args = [
                ("bands", transform.bands.arg()),
                ("pitch", transform.band_pitch.into()),
                ("blocks", blocks.arg()),
                ("out", coded.device.arg()),
            ];
            let quantise = kernel(&program, "jpeg2000_blocks", &args)?;
            components.push(Component { queue, transform, width, samples, blocks, coded, plane, quantise });
        }
        let mixed = if shape.mixes_colours { Some(mixed(&program, shape.extents[0], &components)?) } else { None };
        let group_size = device.tuning.group_size;
        Ok(Self { components, mixed, group_size, columns, backend: backend(device, reason) })
    }

    /// Transforms a picture: `fill` puts the samples of a component into memory. Nothing is waited for.
    pub(crate) fn transform(&mut self, fill: impl FnMut(usize, &mut [u8])) -> Result<()> {
        let result = self.run(fill);
        settled(result, self.components.iter().map(|component| &component.queue))
    }

    fn run(&mut self, mut fill: impl FnMut(usize, &mut [u8])) -> Result<()> {
        let Self { components, mixed, group_size, columns, .. } = self;
        let groups = |width: usize| [1, width.div_ceil(*columns)];
        let mut uploads: Vec<Event> = Vec::new();
        for (at, component) in components.iter_mut().enumerate() {
            fill(at, component.samples.host.values_mut());
            let Component { queue, samples, .. } = &*component;
            uploads.push(queue.upload(&samples.host, &samples.device, samples.device.len())?);
            queue.flush()?;
        }
        if let (Some(mixed), [first, others @ ..]) = (&*mixed, &components[..]) {
            first.queue.wait_for(&uploads[1..3])?;
            first.queue.launch(mixed, groups(first.width), [*group_size, 1])?;
            let made = first.queue.marker()?;
            first.queue.flush()?;
            others.iter().take(2).try_for_each(|other| other.queue.wait_for(std::slice::from_ref(&made)))?;
        }
        let alone = if mixed.is_some() { 3 } else { 0 };
        for (at, component) in components.iter().enumerate() {
            if at >= alone {
                component.queue.launch(&component.plane, groups(component.width), [*group_size, 1])?;
            }
            component.transform.run_forward(&component.queue, &mut Vec::new())?;
            component.queue.flush()?;
        }
        Ok(())
    }

    /// Quantises what was transformed and brings it to the host; waits. `blocks`: with other steps than before.
    pub(crate) fn quantise(&mut self, blocks: Option<&[Vec<FrontBlock>]>) -> Result<()> {
        let result = self.run_quantise(blocks);
        settled(result, self.components.iter().map(|component| &component.queue))
    }

    fn run_quantise(&mut self, blocks: Option<&[Vec<FrontBlock>]>) -> Result<()> {
        let mut events = Vec::new();
        for (at, Component { queue, blocks: there, coded, quantise, .. }) in self.components.iter_mut().enumerate() {
            if let Some(blocks) = blocks {
                queue.upload_now(&blocks[at], there)?;
            }
            queue.launch(quantise, [1, there.len()], [self.group_size, 1])?;
            let all = coded.device.len();
            events.push(coded.download(queue, all)?);
            queue.flush()?;
        }
        wait(&events)
    }

    /// Returns the coefficients of a component's blocks, one block after the other.
    pub(crate) fn coded(&self, component: usize) -> &[u8] {
        self.components[component].coded.host.values()
    }

    /// Returns the back end.
    pub(crate) fn backend(&self) -> &BackendInfo {
        &self.backend
    }
}

fn program(
    device: &Device,
    shape: &FrontShape<'_>,
    is_reversible: bool,
    columns: usize,
) -> Result<Program, DeviceError> {
    let coded_bits = 8 * shape.coded_bytes as u32;
    let header = Header::default()
        .layout::<FrontBlock>()
        .define("LSIZE", device.tuning.group_size)
        .define("COLUMNS", columns)
        .define("ELEMENT", if is_reversible { "int" } else { "float" })
        .define("SAMPLE", if shape.sample_bytes == 1 { "char" } else { "short" })
        .define("CODED", if shape.coded_bytes == 2 { "ushort" } else { "uint" })
        .define("LARGEST", (1_u32 << (coded_bits - 1)) - 1)
        .define("NEGATIVE", format!("{}u", 1_u32 << (coded_bits - 1)))
        .define("DIGITS", shape.digits);
    let Weights { light: [red, green, blue], differences: [per_blue, per_red] } = shape.weights;
    let float = |value: f32| literal(Element::F32, value.into());
    let header = match is_reversible {
        true => header.define("REVERSIBLE", 1),
        false => header
            .define("KR", float(red))
            .define("KG", float(green))
            .define("KB", float(blue))
            .define("PER_BLUE", float(per_blue))
            .define("PER_RED", float(per_red)),
    };
    device.build(&header, &[include_str!("../../../cl/shared/common.cl"), include_str!("../../cl/jpeg2000.cl")])
}

/// Returns the kernel that mixes the first three components.
fn mixed<T: OclPrm>(program: &Program, (width, height): (usize, usize), components: &[Component<T>]) -> Result<Kernel> {
    let from = |at: usize| components[at].samples.device.arg();
    let to = |at: usize| components[at].transform.samples().0.arg();
    let names = ["red", "green", "blue", "first_out", "second_out", "third_out", "pitch", "width", "height"];
    let pitch: Arg<'_> = components[0].transform.samples().1.into();
    let args = [from(0), from(1), from(2), to(0), to(1), to(2), pitch, width.into(), height.into()];
    kernel(program, "jpeg2000_mixed", &named(names, args))
}
