//! The end of the X server, which Xlib takes for the end of the process.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};

use libloading::os::unix::{Library, RTLD_LAZY};
use net::failure::Failure;
use raw_window_handle::{HasDisplayHandle, RawDisplayHandle};

/// True if the connection to the display has broken.
static LOST: AtomicBool = AtomicBool::new(false);
/// True while a window is opened.
static OPENING: AtomicBool = AtomicBool::new(false);

/// The library through which minifb and winit speak to an X server.
const XLIB: &str = "libX11.so.6";

type OnError = unsafe extern "C" fn(*mut c_void) -> c_int;
type SetOnError = unsafe extern "C" fn(OnError) -> Option<OnError>;
type OnExit = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// Returns true once the X server of a window for which [`survive`] was called has gone.
pub(super) fn has_happened() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// Lets the process live on when the window's X server ends. With an Xlib before 1.7 (2020), which does not offer that,
/// nothing changes.
pub(super) fn survive(window: &impl HasDisplayHandle) {
    if let Err(error) = set_handlers(window) {
        tracing::debug!("the end of the X server will be the end of this process: {error}");
    }
}

/// The time in which a window is opened, until [`survive`] can be called for it: Xlib then leaves nothing but the end of the
/// process, and this sees to the sentence and the exit code.
pub(super) struct Opening(());

impl Opening {
    /// Begins it.
    pub(super) fn begin() -> Self {
        OPENING.store(true, Ordering::Relaxed);
        // SAFETY: the function has this type in X11/Xlib.h; the library stays loaded. Without it no window needs it.
        let set = || unsafe {
            let library = Library::open(Some(XLIB), RTLD_LAZY)?;
            library.get::<SetOnError>(b"XSetIOErrorHandler\0")?(on_error);
            std::mem::forget(library);
            Ok::<_, libloading::Error>(())
        };
        if let Err(error) = set() {
            tracing::debug!("{XLIB}: {error}");
        }
        Self(())
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        OPENING.store(false, Ordering::Relaxed);
    }
}

fn set_handlers(window: &impl HasDisplayHandle) -> Result<(), Box<dyn std::error::Error>> {
    let RawDisplayHandle::Xlib(handle) = window.display_handle().map_err(|e| e.to_string())?.as_raw() else {
        return Err("no X display".into());
    };
    let display = handle.display.ok_or("no X display")?.as_ptr();
    // SAFETY: minifb has loaded the same library, so nothing of it runs now for the first time; it stays loaded. The
    // functions have these types in X11/Xlib.h, and the display is open.
    unsafe {
        let library = Library::open(Some(XLIB), RTLD_LAZY)?;
        let set_exit =
            *library.get::<unsafe extern "C" fn(*mut c_void, OnExit, *mut c_void)>(b"XSetIOErrorExitHandler\0")?;
        let set_error = *library.get::<SetOnError>(b"XSetIOErrorHandler\0")?;
        std::mem::forget(library);
        set_error(on_error);
        set_exit(display, on_exit, null_mut());
    }
    Ok(())
}

/// Replaces the function of Xlib that is called first and would write a line to standard error.
unsafe extern "C" fn on_error(_display: *mut c_void) -> c_int {
    LOST.store(true, Ordering::Relaxed);
    if OPENING.load(Ordering::Relaxed) {
        let failure = Failure::device(super::SinkError::NoDisplay(super::x11::ENDED.to_owned()));
        shell::exit::at_once(&failure);
    }
    0
}

/// Replaces the function of Xlib that is called next and would end the process.
unsafe extern "C" fn on_exit(_display: *mut c_void, _data: *mut c_void) {}
