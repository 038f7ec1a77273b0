//! The loop over epochs: shuffle, gather minibatches, step, measure.

use std::time::{Duration, Instant};

use diptych::{Element, Exec, Result};

use crate::data::{CLASSES, Digits, Images, PIXELS};
use crate::network::{GemmMeter, Network, Trainer};
use crate::random::SplitMix64;
use crate::real::{Number, Real};

/// The options of the training. `examples/c/digits.c` has the same defaults.
#[derive(Clone, Debug)]
pub struct Options {
    /// Passes over the training images.
    pub epochs: usize,
    /// Units in the hidden layer.
    pub hidden: usize,
    /// Step size for the gradient averaged over a batch.
    pub learning_rate: f64,
    /// Images per step; the last batch of an epoch may be smaller.
    pub batch: usize,
    /// Seed of the initial weights and of the shuffles.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            epochs: 50,
            hidden: 128,
            learning_rate: 0.125,
            batch: 32,
            seed: 1,
        }
    }
}

/// The figures of an epoch.
#[derive(Clone, Copy, Debug)]
pub struct Epoch {
    /// The number of the epoch, counted from 1.
    pub number: usize,
    /// The squared error per training image, averaged over the steps of the epoch.
    pub loss: f64,
    /// The share of the held-out images that are recognised after the epoch.
    pub accuracy: f64,
}

/// The result of a training.
#[derive(Clone, Debug)]
pub struct Outcome<T: Number> {
    /// The trained network.
    pub network: Network<T>,
    /// The figures of each epoch.
    pub history: Vec<Epoch>,
    /// The number of held-out images, by digit shown (row) and digit recognised (column).
    pub confusion: [[u32; CLASSES]; CLASSES],
    /// The number of gradient steps.
    pub steps: usize,
    /// The total time of the steps, without shuffling, gathering and measuring.
    pub step_time: Duration,
    /// The time and the work of the matrix products in the steps.
    pub meter: GemmMeter,
}

/// Trains a new network and calls `on_epoch` after each epoch.
pub fn train<T: Number>(
    digits: &Digits<T>,
    options: &Options,
    exec: &Exec<'_>,
    mut on_epoch: impl FnMut(&Epoch),
) -> Result<Outcome<T>> {
    let mut random = SplitMix64::new(options.seed);
    let mut network = Network::new(options.hidden, &mut random);
    let mut trainer = Trainer::new(&network, options.batch);
    let mut order: Vec<usize> = (0..digits.train.len()).collect();
    let mut batch = Batch {
        x: Vec::new(),
        targets: Vec::new(),
    };
    let mut history = Vec::with_capacity(options.epochs);
    let (mut steps, mut step_time) = (0, Duration::ZERO);

    for number in 1..=options.epochs {
        random.shuffle(&mut order);
        let mut loss = 0.0;
        for indices in order.chunks(options.batch) {
            batch.gather(&digits.train, indices);
            let start = Instant::now();
            let rate = options.learning_rate;
            loss += trainer
                .step(exec, &mut network, &batch.x, &batch.targets, rate)?
                .widen();
            step_time += start.elapsed();
            steps += 1;
        }
        let confusion = confusion(exec, &network, &digits.held_out)?;
        let epoch = Epoch {
            number,
            loss: loss / digits.train.len() as f64,
            accuracy: accuracy(&confusion),
        };
        on_epoch(&epoch);
        history.push(epoch);
    }
    let confusion = confusion(exec, &network, &digits.held_out)?;
    Ok(Outcome {
        network,
        history,
        confusion,
        steps,
        step_time,
        meter: trainer.meter,
    })
}

/// One minibatch, gathered into contiguous rows.
struct Batch<T: Number> {
    x: Vec<T>,
    targets: Vec<T::Compute>,
}

impl<T: Number> Batch<T> {
    fn gather(&mut self, images: &Images<T>, indices: &[usize]) {
        self.x.clear();
        self.targets.clear();
        self.targets
            .resize(indices.len() * CLASSES, T::Compute::ZERO);
        for (row, &index) in indices.iter().enumerate() {
            self.x
                .extend_from_slice(&images.pixels[index * PIXELS..][..PIXELS]);
            self.targets[row * CLASSES + usize::from(images.labels[index])] = T::Compute::ONE;
        }
    }
}

fn confusion<T: Number>(
    exec: &Exec<'_>,
    network: &Network<T>,
    images: &Images<T>,
) -> Result<[[u32; CLASSES]; CLASSES]> {
    let mut counts = [[0; CLASSES]; CLASSES];
    let recognised = network.predict(exec, &images.pixels)?;
    for (&shown, recognised) in images.labels.iter().zip(recognised) {
        counts[usize::from(shown)][recognised as usize] += 1;
    }
    Ok(counts)
}

/// Returns the share of the images on the diagonal of a confusion matrix.
pub fn accuracy(confusion: &[[u32; CLASSES]; CLASSES]) -> f64 {
    let right: u32 = (0..CLASSES).map(|digit| confusion[digit][digit]).sum();
    let all: u32 = confusion.iter().flatten().sum();
    f64::from(right) / f64::from(all)
}
