//! The network: `scores = clamp(x w1 + b1, 0, inf) w2 + b2`, trained on the squared distance to
//! one-hot targets.
//!
//! In `bf16` and `f16` the training has mixed precision: activations, the gradients between layers and the weights that
//! products read have 16 bits; products sum in `f32`; the scores, the loss, the gradients of the weights and the weights
//! that are updated are `f32`.

use std::time::{Duration, Instant};

use diptych::{
    Bias, Element, Epilogue, Exec, MatMut, MatRef, Result, VecRef, argmax_rows, axpy, clamp,
    clamp_backward_in_place, mse_grad, sum_rows,
};

use crate::data::{CLASSES, PIXELS};
use crate::random::SplitMix64;
use crate::real::{Number, Real, round, widen};

/// The weights of a layer: a row-major matrix, a row of which has the weights from one input to all outputs.
#[derive(Clone, Debug)]
struct Weights<T: Number> {
    /// The master weights, which training updates.
    master: Vec<T::Compute>,
    /// The master weights rounded to `T`; empty if they are of this type.
    rounded: Vec<T>,
}

impl<T: Number> Weights<T> {
    fn new(master: Vec<T::Compute>) -> Self {
        let rounded = match T::unrounded(&master) {
            Some(_) => Vec::new(),
            None => master.iter().map(|&w| T::from_compute(w)).collect(),
        };
        Self { master, rounded }
    }

    /// Returns the weights that products read.
    fn as_slice(&self) -> &[T] {
        T::unrounded(&self.master).unwrap_or(&self.rounded)
    }

    /// Adds `alpha` times the gradient.
    fn update(
        &mut self,
        exec: &Exec<'_>,
        alpha: T::Compute,
        gradient: &[T::Compute],
    ) -> Result<()> {
        axpy(exec, alpha, gradient, &mut self.master)?;
        // Where `rounded` is empty, this does nothing.
        round(&self.master, &mut self.rounded);
        Ok(())
    }
}

/// The parameters.
#[derive(Clone, Debug)]
pub struct Network<T: Number> {
    hidden: usize,
    /// [`PIXELS`] x hidden.
    w1: Weights<T>,
    /// One per hidden unit.
    b1: Vec<T::Compute>,
    /// hidden x [`CLASSES`].
    w2: Weights<T>,
    /// One per class.
    b2: Vec<T::Compute>,
}

impl<T: Number> Network<T> {
    /// Random weights and zero biases.
    pub fn new(hidden: usize, random: &mut SplitMix64) -> Self {
        let mut weights = |fan_in: usize, fan_out: usize| {
            let scale = initial_scale(fan_in);
            let values = (0..fan_in * fan_out).map(|_| Real::nearest(random.next_unit() * scale));
            Weights::new(values.collect())
        };
        Self {
            hidden,
            w1: weights(PIXELS, hidden),
            b1: vec![T::Compute::ZERO; hidden],
            w2: weights(hidden, CLASSES),
            b2: vec![T::Compute::ZERO; CLASSES],
        }
    }

    /// Returns the number of units in the hidden layer.
    pub fn hidden(&self) -> usize {
        self.hidden
    }

    /// Returns the number of trained parameters.
    pub fn parameters(&self) -> usize {
        self.w1.master.len() + self.b1.len() + self.w2.master.len() + self.b2.len()
    }

    /// Returns the class with the largest score for each row of `x`. Bias and clamp are fused with the product, because
    /// nothing needs the values before them.
    pub fn predict(&self, exec: &Exec<'_>, x: &[T]) -> Result<Vec<i64>> {
        let (rows, hidden) = (x.len() / PIXELS, self.hidden);
        let mut h = vec![T::default(); rows * hidden];
        let mut scores = vec![T::Compute::ZERO; rows * CLASSES];
        let mut classes = vec![0_i64; rows];
        T::product(
            exec,
            MatRef::new(x, rows, PIXELS)?,
            MatRef::new(self.w1.as_slice(), PIXELS, hidden)?,
            MatMut::new(&mut h, rows, hidden)?,
            &Epilogue {
                bias: Bias::PerColumn(VecRef::new(&self.b1)),
                clamp: Some((T::Compute::ZERO, T::Compute::INFINITY)),
            },
        )?;
        T::product(
            exec,
            MatRef::new(&h, rows, hidden)?,
            MatRef::new(self.w2.as_slice(), hidden, CLASSES)?,
            MatMut::new(&mut scores, rows, CLASSES)?,
            &Epilogue {
                bias: Bias::PerColumn(VecRef::new(&self.b2)),
                clamp: None,
            },
        )?;
        argmax_rows(
            exec,
            MatRef::new(&scores, rows, CLASSES)?,
            classes.as_mut_slice(),
        )?;
        Ok(classes)
    }

    /// Returns the 64-bit FNV-1a hash of the parameters w1, b1, w2 and b2, each value in little-endian byte order. Networks with the
    /// same bits have the same fingerprint.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = 0xCBF2_9CE4_8422_2325_u64;
        for &value in [&self.w1.master, &self.b1, &self.w2.master, &self.b2]
            .into_iter()
            .flatten()
        {
            value.for_each_byte(|byte| {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
            });
        }
        hash
    }
}

/// Returns the largest power of two `s` with `s * s * fan_in <= 6`: He's uniform initialisation, with the range rounded
/// down so that scaling is exact and needs no square root.
fn initial_scale(fan_in: usize) -> f64 {
    let mut scale = 2.0;
    while scale * scale * fan_in as f64 > 6.0 {
        scale *= 0.5;
    }
    scale
}

/// The time and the work of the matrix products.
#[derive(Clone, Copy, Debug, Default)]
pub struct GemmMeter {
    /// Time inside the products.
    pub time: Duration,
    /// The additions and multiplications done in that time.
    pub flops: u64,
}

impl GemmMeter {
    /// Returns the billions of additions and multiplications per second.
    pub fn gflops(&self) -> f64 {
        self.flops as f64 / self.time.as_secs_f64() / 1e9
    }

    /// Runs and measures one product of an m x k matrix with a k x n matrix.
    fn measure(
        &mut self,
        m: usize,
        n: usize,
        k: usize,
        run: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let start = Instant::now();
        let result = run();
        self.time += start.elapsed();
        self.flops += 2 * (m * n * k) as u64;
        result
    }
}

/// The buffers of gradient steps, allocated once: training allocates nothing.
#[derive(Clone, Debug)]
pub struct Trainer<T: Number> {
    /// The time and the work of the products so far.
    pub meter: GemmMeter,
    z: Vec<T>,
    h: Vec<T>,
    scores: Vec<T::Compute>,
    d_scores: Vec<T::Compute>,
    /// `d_scores` for the products.
    rounded_d_scores: Vec<T>,
    d_z: Vec<T>,
    /// The column sums of `d_z`.
    sums: Vec<T>,
    d_w1: Vec<T::Compute>,
    d_b1: Vec<T::Compute>,
    d_w2: Vec<T::Compute>,
    d_b2: Vec<T::Compute>,
}

impl<T: Number> Trainer<T> {
    /// Allocates buffers for `network` and at most `batch` images at a time.
    pub fn new(network: &Network<T>, batch: usize) -> Self {
        let buffer = |len| vec![T::default(); len];
        let wide = |len| vec![T::Compute::ZERO; len];
        Self {
            meter: GemmMeter::default(),
            z: buffer(batch * network.hidden),
            h: buffer(batch * network.hidden),
            scores: wide(batch * CLASSES),
            d_scores: wide(batch * CLASSES),
            rounded_d_scores: buffer(batch * CLASSES),
            d_z: buffer(batch * network.hidden),
            sums: buffer(network.b1.len()),
            d_w1: wide(network.w1.master.len()),
            d_b1: wide(network.b1.len()),
            d_w2: wide(network.w2.master.len()),
            d_b2: wide(network.b2.len()),
        }
    }

    /// Takes one step of gradient descent on the images in `x` and their one-hot `targets`. Returns the squared error
    /// before the step, summed over the batch.
    pub fn step(
        &mut self,
        exec: &Exec<'_>,
        network: &mut Network<T>,
        x: &[T],
        targets: &[T::Compute],
        learning_rate: f64,
    ) -> Result<T::Compute> {
        let rows = x.len() / PIXELS;
        self.forward(exec, network, x, rows)?;
        let n = rows * CLASSES;
        let loss = mse_grad(exec, &self.scores[..n], targets, &mut self.d_scores[..n])?;
        self.backward(exec, network, x, rows)?;

        let alpha = Real::nearest(-learning_rate / rows as f64);
        network.w1.update(exec, alpha, &self.d_w1)?;
        axpy(exec, alpha, &self.d_b1, &mut network.b1)?;
        network.w2.update(exec, alpha, &self.d_w2)?;
        axpy(exec, alpha, &self.d_b2, &mut network.b2)?;
        Ok(loss)
    }

    /// Computes `z = x w1 + b1`, `h = clamp(z, 0, inf)`, `scores = h w2 + b2`. The clamp is a call of its own, not
    /// fused, because the backward pass needs z.
    fn forward(
        &mut self,
        exec: &Exec<'_>,
        network: &Network<T>,
        x: &[T],
        rows: usize,
    ) -> Result<()> {
        let hidden = network.hidden;
        let Self {
            meter,
            z,
            h,
            scores,
            ..
        } = self;
        let (z, h) = (&mut z[..rows * hidden], &mut h[..rows * hidden]);
        meter.measure(rows, hidden, PIXELS, || {
            T::product(
                exec,
                MatRef::new(x, rows, PIXELS)?,
                MatRef::new(network.w1.as_slice(), PIXELS, hidden)?,
                MatMut::new(z, rows, hidden)?,
                &Epilogue {
                    bias: Bias::PerColumn(VecRef::new(&network.b1)),
                    clamp: None,
                },
            )
        })?;
        clamp(exec, z, T::Compute::ZERO, T::Compute::INFINITY, h)?;
        meter.measure(rows, CLASSES, hidden, || {
            T::product(
                exec,
                MatRef::new(h, rows, hidden)?,
                MatRef::new(network.w2.as_slice(), hidden, CLASSES)?,
                MatMut::new(&mut scores[..rows * CLASSES], rows, CLASSES)?,
                &Epilogue {
                    bias: Bias::PerColumn(VecRef::new(&network.b2)),
                    clamp: None,
                },
            )
        })
    }

    /// Computes the gradients of all parameters from `d_scores`: `d_w2 = h' d_scores`; `d_b2` = the column sums of
    /// `d_scores`; `d_z = d_scores w2'` where z >= 0, else 0; `d_w1 = x' d_z`; `d_b1` = the column sums of `d_z`.
    fn backward(
        &mut self,
        exec: &Exec<'_>,
        network: &Network<T>,
        x: &[T],
        rows: usize,
    ) -> Result<()> {
        let hidden = network.hidden;
        let n = rows * CLASSES;
        let product = Epilogue::default();
        let Self {
            meter,
            z,
            h,
            d_scores,
            rounded_d_scores,
            d_z,
            sums,
            d_w1,
            d_b1,
            d_w2,
            d_b2,
            ..
        } = self;
        let x = MatRef::new(x, rows, PIXELS)?;
        let h = MatRef::new(&h[..rows * hidden], rows, hidden)?;
        let w2 = MatRef::new(network.w2.as_slice(), hidden, CLASSES)?;
        let d_z = &mut d_z[..rows * hidden];

        let wide = MatRef::new(&d_scores[..n], rows, CLASSES)?;
        sum_rows(exec, wide.t(), d_b2.as_mut_slice())?;
        round(&d_scores[..n], &mut rounded_d_scores[..n]);
        let d_scores = MatRef::new(&rounded_d_scores[..n], rows, CLASSES)?;

        meter.measure(hidden, CLASSES, rows, || {
            let d_w2 = MatMut::new(d_w2, hidden, CLASSES)?;
            T::product(exec, h.t(), d_scores, d_w2, &product)
        })?;
        meter.measure(rows, hidden, CLASSES, || {
            let d_h = MatMut::new(d_z, rows, hidden)?;
            T::product(exec, d_scores, w2.t(), d_h, &product)
        })?;
        let (zero, infinity) = (T::Compute::ZERO, T::Compute::INFINITY);
        clamp_backward_in_place(exec, &z[..rows * hidden], d_z, zero, infinity)?;
        let d_z = MatRef::new(d_z, rows, hidden)?;
        meter.measure(PIXELS, hidden, rows, || {
            let d_w1 = MatMut::new(d_w1, PIXELS, hidden)?;
            T::product(exec, x.t(), d_z, d_w1, &product)
        })?;
        sum_rows(exec, d_z.t(), sums.as_mut_slice())?;
        widen(sums, d_b1);
        Ok(())
    }
}
