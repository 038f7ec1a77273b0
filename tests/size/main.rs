//! A program that calls four operations for one type. `cargo xtask size` limits its size, so that users link only what
//! they call.

use diptych::{Exec, MatMut, MatRef, Pool};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const N: usize = 40;
    let pool = Pool::new(2)?;
    let exec = Exec::new().with_pool(&pool, 2);
    let x: Vec<f64> = (0..N * N).map(|i| i as f64).collect();
    let a = MatRef::new(&x, N, N)?;
    let mut c = vec![0.0; N * N];
    diptych::gemm(&exec, 1.0, a, a.t(), 0.0, MatMut::new(&mut c, N, N)?)?;
    let mut product = vec![0.0; N * N];
    let out = MatMut::new(&mut product, N, N)?;
    diptych::outer(&exec, &x[..N], &x[N..2 * N], out)?;
    let mut sums = vec![0.0; N];
    diptych::sum_rows(&exec, a, &mut sums[..])?;
    let mut grad = vec![0.0; N];
    diptych::lsq_grad(&exec, a, &x[..N], &x[N..2 * N], &mut grad)?;
    println!("{} {} {} {}", c[1], product[1], sums[1], grad[1]);
    Ok(())
}
