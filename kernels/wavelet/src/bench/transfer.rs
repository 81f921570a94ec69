//! Copies of a 4:2:0 frame between pinned host memory and the device.

use anyhow::Result;
use lab::opencl::OpenClTransfer;
use picture::frame::PixelFormat;

use super::sizes::sizes;
use super::{Axes, Limit, Table, gb_s, medians, require_opencl, us};
use crate::args::{BenchArgs, ComputeArgs};

pub(crate) fn run(args: &BenchArgs, compute: &ComputeArgs) -> Result<Table> {
    require_opencl("transfer", compute)?;
    let mut table =
        Table::new(&["device", "size", "bytes", "upload_us", "download_us", "upload_gb_s", "download_gb_s"]);
    table.note("one 4:2:0 frame from and to pinned memory, wall time from the call to the end of the copy");
    for size in sizes(&args.sizes, "1920x1080")? {
        let bytes = PixelFormat::I420.bytes(size);
        let mut transfer = OpenClTransfer::open(compute.device.as_deref(), bytes)?;
        let [upload, download] = medians(Limit::of(args), || {
            let times = transfer.run()?;
            Ok([times.upload, times.download])
        })?;
        table.plot(Axes {
            title: format!("Copies between pinned host memory and the device: {}", transfer.device()),
            values: &["upload_gb_s", "download_gb_s"],
            quantity: "throughput, GB/s",
            logarithmic: false,
            ..Axes::TIMES
        });
        table.push(vec![
            transfer.device().to_owned(),
            size.to_string(),
            bytes.to_string(),
            us(upload),
            us(download),
            gb_s(bytes, upload),
            gb_s(bytes, download),
        ]);
    }
    Ok(table)
}
