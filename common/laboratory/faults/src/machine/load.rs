//! Programs that keep all processors busy.

use std::process::{Child, Command};

use anyhow::Result;

/// Programs that do nothing but compute. They end with their value.
#[derive(Debug, Default)]
pub(crate) struct Load(Vec<Child>);

impl Load {
    /// Starts one for each processor.
    pub(crate) fn start() -> Result<Self> {
        let mut load = Self::default();
        for _ in 0..std::thread::available_parallelism()?.get() {
            load.0.push(Command::new("sh").args(["-c", "while :; do :; done"]).spawn()?);
        }
        Ok(load)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for program in &mut self.0 {
            // It computes until it is killed.
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}
