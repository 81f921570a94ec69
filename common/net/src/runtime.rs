//! The runtime of whoever uses the network.

use crate::failure::Failure;

/// Runs a task to its end on this thread, with a single-threaded runtime of its own. A name look-up that is still under
/// way is not waited for.
pub(crate) fn on_the_network<T>(task: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::network(format!("the network cannot be used: {error}")))?;
    let result = runtime.block_on(task);
    runtime.shutdown_background();
    result
}
