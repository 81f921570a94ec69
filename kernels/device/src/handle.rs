//! OpenCL objects whose release may fail.
//!
//! The `ocl` crate panics if an object cannot be released, and drivers refuse that once a device is lost. Here such an
//! object is left to the driver: the process goes on without the device.

use std::mem::ManuallyDrop;
use std::ops::Deref;

use ocl::core as cl;

/// An object that is released quietly.
#[derive(Debug)]
pub struct Handle<T: Release>(ManuallyDrop<T>);

/// An object with a reference count of the driver's.
pub trait Release {
    /// Gives one reference back.
    ///
    /// # Safety
    ///
    /// The reference is used no more.
    unsafe fn release(&self) -> cl::Result<()>;
}

macro_rules! release {
    ($($object:ident by $release:ident),*) => {$(
        impl Release for cl::$object {
            unsafe fn release(&self) -> cl::Result<()> {
                // SAFETY: as the caller promises.
                unsafe { cl::$release(self) }
            }
        }
    )*};
}

release!(
    Context by release_context,
    CommandQueue by release_command_queue,
    Mem by release_mem_object,
    Program by release_program,
    Kernel by release_kernel,
    Event by release_event
);

impl<T: Release> From<T> for Handle<T> {
    fn from(object: T) -> Self {
        Self(ManuallyDrop::new(object))
    }
}

impl<T: Release> Deref for Handle<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Release> Drop for Handle<T> {
    fn drop(&mut self) {
        // SAFETY: the reference is this value's own, and `T`'s drop, which would release it again, never runs.
        let _ = unsafe { self.0.release() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Lost;

    impl Release for Lost {
        unsafe fn release(&self) -> cl::Result<()> {
            Err(cl::Error::from("lost"))
        }
    }

    impl Drop for Lost {
        fn drop(&mut self) {
            unreachable!("released by ocl");
        }
    }

    #[test]
    fn an_object_that_cannot_be_released_is_left() {
        drop(Handle::from(Lost));
    }
}
