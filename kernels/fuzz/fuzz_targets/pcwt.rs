//! Files of the profile `pcwt` to the reference's decoder and the processor's: both refuse a frame, or both make the
//! same picture.

#![no_main]

use picture::container::ContainerReader;
use picture::params::Profile;
use kernels::{BackendChoice, Picture};
use lab::pcwt::open_pcwt_decoder;
use libfuzzer_sys::fuzz_target;

mod files;
mod limits;

fuzz_target!(|file: &[u8]| {
    let Ok(mut container) = ContainerReader::new(file) else { return };
    let params = *container.params();
    if params.codec.profile != Profile::Pcwt || limits::is_large(&params) {
        return;
    }
    let open =
        |choice| open_pcwt_decoder(&params, choice, None).map(|decoder| (decoder, Picture::decoded_from(&params)));
    let (mut reference, mut cpu) = match (open(BackendChoice::Reference), open(BackendChoice::Cpu)) {
        (Ok(reference), Ok(cpu)) => (reference, cpu),
        (reference, cpu) => return assert_eq!(reference.err(), cpu.err()),
    };
    for _ in 0..limits::FRAMES {
        let Some(frame) = files::next_bytes(&mut container) else { return };
        let result = reference.0.decode(&frame, &mut reference.1);
        assert_eq!(result, cpu.0.decode(&frame, &mut cpu.1));
        assert!(result.is_err() || reference.1 == cpu.1);
    }
});
