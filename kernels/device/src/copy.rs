//! Copies between pinned and other host memory, by several threads: one alone is slower than the way to the device.

use rayon::Scope;

use crate::Result;
use crate::queue::{Event, wait};

/// Bytes that are worth a task of their own.
const PIECE: usize = 1 << 18;

/// Copies `from` to `to`, which are equally long: a quarter here, while threads that `scope` waits for are waking up
/// and copy the rest.
pub fn copy_in<'a>(scope: &Scope<'a>, from: &'a [u8], to: &'a mut [u8]) {
    divide(scope, from, to, |from, to| to.copy_from_slice(from));
}

/// Copies planes that a device brings to pinned memory to `out`, one after the other, each when its event says that it is there.
pub fn copy_planes<'a>(planes: impl Iterator<Item = (&'a [u8], &'a Event)>, out: &'a mut [u8]) -> Result<()> {
    rayon::in_place_scope(|scope| {
        let mut rest = out;
        for (samples, there) in planes {
            wait(std::slice::from_ref(there))?;
            let (plane, later) = std::mem::take(&mut rest).split_at_mut(samples.len());
            copy_in(scope, samples, plane);
            rest = later;
        }
        Ok(())
    })
}

/// Copies `from` to pinned memory, which is as long, for a device that reads it `over_bus` or not. If so, the bytes
/// pass the processor's caches: out of those of several cores a transfer takes up to five times as long.
pub fn copy_to_pinned(from: &[u8], to: &mut [u8], over_bus: bool) {
    rayon::in_place_scope(|scope| {
        if over_bus {
            divide(scope, from, to, stream);
        } else {
            copy_in(scope, from, to);
        }
    });
}

fn divide<'a>(scope: &Scope<'a>, from: &'a [u8], to: &'a mut [u8], copy: impl Fn(&[u8], &mut [u8]) + Copy + Send + 'a) {
    let others = from.len().saturating_sub(PIECE.max(from.len() / 4));
    let ((from, from_here), (to, to_here)) = (from.split_at(others), to.split_at_mut(others));
    for (from, to) in from.chunks(PIECE).zip(to.chunks_mut(PIECE)) {
        scope.spawn(move |_| copy(from, to));
    }
    copy(from_here, to_here);
}

#[cfg(target_arch = "x86_64")]
fn stream(from: &[u8], to: &mut [u8]) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    // SAFETY: any 16 bytes are a vector.
    let (head, body, tail) = unsafe { to.align_to_mut::<__m128i>() };
    let (first, rest) = from.split_at(head.len());
    let (middle, last) = rest.split_at(size_of_val(body));
    head.copy_from_slice(first);
    for (to, from) in body.iter_mut().zip(middle.as_chunks::<16>().0) {
        // SAFETY: SSE2 is part of x86-64; `to` is aligned, and `from` 16 bytes long.
        unsafe { _mm_stream_si128(to, _mm_loadu_si128(from.as_ptr().cast())) };
    }
    tail.copy_from_slice(last);
    // SAFETY: SSE2 is part of x86-64. Without this, such stores come in any order.
    unsafe { _mm_sfence() };
}

#[cfg(not(target_arch = "x86_64"))]
fn stream(from: &[u8], to: &mut [u8]) {
    to.copy_from_slice(from);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_where_it_belongs() {
        let from: Vec<u8> = (0..5 * PIECE + 77).map(|at| (at * at % 251) as u8).collect();
        for (start, end) in [(0, 0), (3, 4), (1, 31), (5, 300), (0, PIECE), (7, 2 * PIECE + 9), (2, from.len())] {
            for shift in [0, 1, 9] {
                let part = &from[start..end];
                let mut to = vec![0; part.len() + 2 * shift];
                for over_bus in [true, false] {
                    to.fill(0);
                    copy_to_pinned(part, &mut to[shift..shift + part.len()], over_bus);
                    assert!(to[shift..shift + part.len()] == *part, "{start}..{end} to {shift}");
                    assert!(to[..shift].iter().chain(&to[shift + part.len()..]).all(|&byte| byte == 0));
                }
            }
        }
    }
}
