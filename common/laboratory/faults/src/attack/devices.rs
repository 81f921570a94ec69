//! OpenCL devices that have no room for a stream, and drivers that are removed.

use anyhow::Result;
use common::wire::control::StreamEnd;
use picture::frame::{Chroma, FrameSize};
use picture::params::StreamParams;

use super::caller::call;
use super::giants::offer;
use super::{Outcome, Testbed};
use crate::hostile::HostileLine;
use crate::machine::device::{self, Layer, NO_LOADER};

/// Devices with too little memory: those that say so, and those that have no room left when they are asked.
const DEVICES: [(&str, &str, &str); 2] =
    [("DUET_LAYER_MEMORY", "20000000", "altogether"), ("DUET_LAYER_BUFFER", "1500000", "clCreateBuffer")];

fn params(width: u32, height: u32) -> Result<StreamParams> {
    Ok(StreamParams::new(FrameSize::new(width, height)?, Chroma::C420))
}

/// Offers 1920x1080 to a receiver on each device: it refuses, and serves a sender of small pictures afterwards.
pub(super) fn too_small(testbed: &Testbed) -> Result<Outcome> {
    let Some(layer) = Layer::build(&testbed.file(""), &testbed.path("receiver"))? else {
        return Ok(Outcome::not_tried(NO_LOADER));
    };
    let mut all = Outcome::default();
    for (limit, bytes, word) in DEVICES {
        let address = testbed.free_address()?;
        let mut command = testbed.receiver_on("opencl", address, &testbed.key("sender")?)?;
        layer.join(&mut command, &testbed.file("device"))?;
        let mut receiver = testbed.start("receiver", command.env(limit, bytes))?;
        testbed.wait_until_bound(address, &mut receiver)?;
        receiver.begin();
        let refused = call(testbed, "sender", "receiver", async |endpoint| {
            let mut line = HostileLine::open(endpoint, address, StreamEnd::Sender).await?;
            offer(&mut line, params(1_920, 1_080)?, &mut receiver).await
        })?;
        let told =
            refused.as_deref().is_some_and(|why| why.contains("too much for the receiver") && why.contains(word));
        all.expect(told, format!("{limit}: told {refused:?}"));
        let logged = receiver.until_said("the sender's stream is refused");
        all.expect(logged.is_ok(), format!("{limit}: not in the log"));
        let _sender = testbed.calling_sender(address)?;
        let served = testbed.wait_for_pictures(&mut receiver, 3);
        all.expect(served.is_ok(), format!("{limit}: the next call: {served:?}"));
        let on_device = receiver.until_said("320x180 at 30 frames a second, opencl on");
        all.expect(on_device.is_ok(), format!("{limit}: not on the device: {on_device:?}"));
        let outcome = receiver.outcome()?;
        all.log_lines = Some(all.log_lines.unwrap_or_default() + outcome.log_lines.unwrap_or_default());
        all.exit_code = all.exit_code.or(outcome.exit_code);
        all.expect(outcome.exit_code.is_none(), format!("{limit}: the receiver has ended"));
        std::fs::remove_file(testbed.file("pictures"))?;
    }
    Ok(all)
}

/// Removes the driver under a receiver that may choose its device: it serves another stream, and, begun anew, goes on
/// without.
pub(super) fn removed(testbed: &Testbed) -> Result<Outcome> {
    let Some(layer) = Layer::build(&testbed.file(""), &testbed.path("receiver"))? else {
        return Ok(Outcome::not_tried(NO_LOADER));
    };
    let drivers = device::copy_drivers(&testbed.file(""))?;
    let address = testbed.free_address()?;
    let start = || {
        let mut command = testbed.receiver_on("auto", address, &testbed.key("sender")?)?;
        layer.join(&mut command, &testbed.file("device"))?;
        let mut receiver =
            testbed.start("receiver", command.env("OCL_ICD_VENDORS", &drivers).env("DUET_LAYER_GPU", "1"))?;
        testbed.wait_until_bound(address, &mut receiver)?;
        receiver.begin();
        anyhow::Ok(receiver)
    };
    let mut receiver = start()?;
    let sender = testbed.calling_sender(address)?;
    testbed.wait_for_pictures(&mut receiver, 3)?;
    let mut outcome = Outcome::default();
    outcome.expect(receiver.until_said("opencl on").is_ok(), "it began without a device");
    device::remove_drivers(&drivers)?;
    testbed.wait_for_pictures(&mut receiver, 3)?;
    drop(sender);
    let refused = call(testbed, "sender", "receiver", async |endpoint| {
        let mut line = HostileLine::open(endpoint, address, StreamEnd::Sender).await?;
        offer(&mut line, params(640, 360)?, &mut receiver).await
    })?;
    outcome.expect(refused.is_none(), format!("another stream is refused: {refused:?}"));
    let one = receiver.outcome()?;
    outcome.exit_code = one.exit_code;
    drop(receiver);
    std::fs::remove_file(testbed.file("pictures"))?;
    let mut receiver = start()?;
    let _sender = testbed.calling_sender(address)?;
    testbed.wait_for_pictures(&mut receiver, 3)?;
    outcome.expect(receiver.until_said("cpu on").is_ok(), "without a driver it does not take the processor");
    outcome.log_lines = Some(one.log_lines.unwrap_or_default() + receiver.lines());
    Ok(outcome)
}
