//! stub
use super::Table;
use crate::args::{BenchArgs, ComputeArgs};
use anyhow::{Result, bail};
pub(crate) fn run(_: &BenchArgs, _: &ComputeArgs) -> Result<Table> {
    bail!("bench transfer is not available yet")
}
