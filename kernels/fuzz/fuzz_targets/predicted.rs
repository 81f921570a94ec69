//! Files with prediction to the reference's decoder and the processor's: vectors, references and blocks. Both refuse a frame, or
//! both make the same picture.

#![no_main]

use picture::container::ContainerReader;
use picture::params::Profile;
use kernels::{BackendChoice, ClipDecoder, Picture};
use libfuzzer_sys::fuzz_target;

mod files;
mod limits;

fuzz_target!(|file: &[u8]| {
    let Ok(mut container) = ContainerReader::new(file) else { return };
    let params = *container.params();
    if !matches!(params.codec.profile, Profile::Predicted(_)) || limits::is_large(&params) {
        return;
    }
    let open =
        |choice| ClipDecoder::open(&params, choice).map(|decoder| (decoder, Picture::decoded_from(&params)));
    let (mut reference, mut cpu) = match (open(BackendChoice::Reference), open(BackendChoice::Cpu)) {
        (Ok(reference), Ok(cpu)) => (reference, cpu),
        (reference, cpu) => return assert_eq!(reference.err(), cpu.err()),
    };
    for _ in 0..limits::FRAMES {
        let Some((reference_age, received)) = files::next_blocks(&mut container) else { return };
        let result = reference.0.decode(reference_age, &received, &mut reference.1);
        assert_eq!(result, cpu.0.decode(reference_age, &received, &mut cpu.1));
        assert_eq!(reference.0.damaged_blocks(), cpu.0.damaged_blocks());
        assert!(reference.1 == cpu.1);
    }
});
