//! The back end that computes. It stands here because a configuration names it and the codec opens it, and neither
//! knows the other.

/// Back end to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// A GPU through OpenCL if there is one, else the processor.
    #[default]
    Auto,
    /// OpenCL, on whatever device it offers.
    Opencl,
    /// The processor: vectorised, several threads.
    Cpu,
    /// The processor: plain, slow, the specification.
    Reference,
}
