//! The C functions on the device panel, with a driver that needs no GPU: `fake_cuda.c` is a libcuda whose
//! device memory is host memory and whose launches the kernels' host twins run. Each test is a process of
//! its own, for the library meets one driver in its life.

mod arguments;
mod calls;
mod drivers;
mod fake;
mod loading;
mod machine;
mod operations;
mod safe;
mod scratch;
mod unused;
