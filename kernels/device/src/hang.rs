//! Drivers whose compiler does not come back.

use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::BUILD_MAX;

type Hook = Box<dyn Fn(&str) + Send + Sync>;

static HOOK: OnceLock<Hook> = OnceLock::new();

/// Has `hook` called with a sentence, on a thread of its own, when a driver hangs while it compiles. Nothing can take
/// that call back, so that all a hook can do is to end the process or to start it anew. The first hook stays.
pub fn on_hang(hook: impl Fn(&str) + Send + Sync + 'static) {
    let _ = HOOK.set(Box::new(hook));
}

/// Watches a call into a driver until it is dropped.
pub(crate) struct Watch(#[expect(dead_code, reason = "its end tells the watching thread")] Option<Sender<()>>);

/// Watches `device` compile, if there is a hook.
pub(crate) fn watch(device: &str) -> Watch {
    Watch(HOOK.get().and_then(|hook| watch_for(BUILD_MAX, device, hook)))
}

fn watch_for(limit: Duration, device: &str, hook: &'static Hook) -> Option<Sender<()>> {
    let sentence = format!(
        "the driver of the OpenCL device `{device}` has not compiled Duet's kernels in {} s: choose another device with \
         --device, or --backend cpu",
        limit.as_secs()
    );
    let (done, ended) = channel::<()>();
    let wait = move || {
        if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            hook(&sentence);
        }
    };
    // Without a thread it is not watched.
    thread::Builder::new().name("opencl watch".to_owned()).spawn(wait).ok().map(|_| done)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn only_a_call_that_does_not_come_back_is_told() {
        let (tell, told) = channel();
        let tell = Mutex::new(tell);
        let hook: Hook = Box::new(move |sentence| tell.lock().unwrap().send(sentence.to_owned()).unwrap());
        let hook = Box::leak(Box::new(hook));
        drop(watch_for(Duration::from_secs(3600), "swift", hook));
        let _hangs = watch_for(Duration::ZERO, "stuck", hook);
        assert!(told.recv().unwrap().contains("`stuck`"));
        assert!(told.try_recv().is_err());
    }
}
