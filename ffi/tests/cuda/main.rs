//! The C functions on the GPU backend, with a driver that needs no GPU: `fake_cuda.c` is a libcuda whose
//! device memory is host memory and whose launches run the kernels on the host. Each test runs in a process of
//! its own, because the library loads the driver once per process.

mod arguments;
mod calls;
mod drivers;
mod fake;
mod loading;
mod machine;
mod operations;
mod row_maps;
mod safe;
mod scratch;
mod unused;
