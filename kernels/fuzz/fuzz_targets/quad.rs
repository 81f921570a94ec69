//! Files of the profile `quad` to the reference's decoder and the processor's: both refuse a frame, or both make the same picture.

#![no_main]

use picture::coded::ReceivedFrame;
use picture::container::ContainerReader;
use picture::params::Profile;
use kernels::{BackendChoice, Decoder, DecodeError, Picture};
use libfuzzer_sys::fuzz_target;

mod files;
mod limits;

/// Decodes; returns the number of blocks damaged so far.
fn decode(decoder: &mut Decoder, frame: &ReceivedFrame, out: &mut Picture) -> Result<u64, DecodeError> {
    decoder.decode(frame, None, out)?;
    Ok(decoder.damaged_blocks())
}

fuzz_target!(|file: &[u8]| {
    let Ok(mut container) = ContainerReader::new(file) else { return };
    let params = *container.params();
    if params.codec.profile != Profile::Quad || limits::is_large(&params) {
        return;
    }
    let open = |choice| Decoder::open(&params, choice).map(|decoder| (decoder, Picture::decoded_from(&params)));
    let (mut reference, mut cpu) = match (open(BackendChoice::Reference), open(BackendChoice::Cpu)) {
        (Ok(reference), Ok(cpu)) => (reference, cpu),
        (reference, cpu) => return assert_eq!(reference.err(), cpu.err()),
    };
    for _ in 0..limits::FRAMES {
        let Some((_, frame)) = files::next_blocks(&mut container) else { return };
        let damaged = decode(&mut reference.0, &frame, &mut reference.1);
        assert_eq!(damaged, decode(&mut cpu.0, &frame, &mut cpu.1));
        assert!(reference.1 == cpu.1);
    }
});
