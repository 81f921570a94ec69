//! Waiting for what may never come.

use std::future::pending;

use common::units::Timestamp;
use tokio::sync::{mpsc, watch};

use crate::clock;

/// Waits for the outcome of `task`; for ever if there is none.
pub(crate) async fn of<T>(task: Option<impl Future<Output = T>>) -> T {
    match task {
        Some(task) => task.await,
        None => pending().await,
    }
}

/// Waits for the next item; for ever once nobody gives any more.
pub(crate) async fn item<T>(items: &mut mpsc::Receiver<T>) -> T {
    match items.recv().await {
        Some(item) => item,
        None => pending().await,
    }
}

/// Waits until the value is another; for ever once nobody changes it any more.
pub(crate) async fn change<T>(value: &mut watch::Receiver<T>) {
    if value.changed().await.is_err() {
        pending().await
    }
}

/// Waits until that time; for ever if there is none.
pub(crate) async fn until(time: Option<Timestamp>) {
    of(time.map(|time| tokio::time::sleep_until(clock::to_tokio(time)))).await;
}
