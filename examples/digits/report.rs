//! Prints the progress and the results. The progress bar goes to stderr, and only to a terminal; the rest is plain text
//! on stdout.

use diptych::Level;
use diptych_examples::data::{CLASSES, Digits, PIXELS};
use diptych_examples::real::Number;
use diptych_examples::training::{Epoch, Options, Outcome, accuracy};
use indicatif::{ProgressBar, ProgressStyle};

/// The number of lines about the progress, for any number of epochs.
const PROGRESS_LINES: usize = 10;

/// The running report.
pub struct Report {
    bar: ProgressBar,
    epochs: usize,
}

impl Report {
    /// Makes a report on `epochs` epochs.
    pub fn new(epochs: usize) -> Self {
        let style = "  {bar:40.cyan/blue} epoch {pos}/{len}  {msg}";
        let bar = ProgressBar::new(epochs as u64);
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        Self { bar, epochs }
    }

    /// Prints the data, the options and the machine.
    pub fn start<T: Number>(
        &self,
        digits: &Digits<T>,
        options: &Options,
        level: Level,
        threads: usize,
    ) {
        let (train, held_out) = (digits.train.len(), digits.held_out.len());
        let Options {
            hidden,
            batch,
            learning_rate,
            seed,
            ..
        } = options;
        let (dtype, level) = (T::NAME, level.name());
        let plural = if threads == 1 { "" } else { "s" };
        println!("Handwritten digits: a two-layer network, explicit backprop");
        println!();
        println!("  images              {train} to train, {held_out} held out, 8 x 8 pixels");
        println!("  network             {PIXELS} -> {hidden} -> {CLASSES}, {dtype}");
        println!("  training            batch {batch}, learning rate {learning_rate}, seed {seed}");
        println!("  machine             CPU level {level}, {threads} thread{plural}");
        println!();
        println!("  epoch      loss   held-out accuracy");
    }

    /// Advances the bar, and prints a line for about every tenth part of the epochs.
    pub fn epoch(&self, epoch: &Epoch) {
        let (number, loss, percent) = (epoch.number, epoch.loss, 100.0 * epoch.accuracy);
        let stride = self.epochs.div_ceil(PROGRESS_LINES);
        if number == 1 || number % stride == 0 || number == self.epochs {
            self.bar
                .suspend(|| println!("  {number:5}  {loss:8.4}   {percent:5.1} %"));
        }
        self.bar
            .set_message(format!("loss {loss:.4}  held-out {percent:.1} %"));
        self.bar.inc(1);
    }

    /// Prints the results.
    pub fn finish<T: Number>(&self, outcome: &Outcome<T>) {
        self.bar.finish_and_clear();
        let right: u32 = (0..CLASSES)
            .map(|digit| outcome.confusion[digit][digit])
            .sum();
        let all: u32 = outcome.confusion.iter().flatten().sum();
        let percent = 100.0 * accuracy(&outcome.confusion);
        let (steps, seconds) = (outcome.steps, outcome.step_time.as_secs_f64());
        let step = 1e6 * seconds / steps as f64;
        let gflops = outcome.meter.gflops();
        let share = 100.0 * outcome.meter.time.as_secs_f64() / seconds;
        println!();
        println!("  held-out accuracy   {percent:.1} % ({right} of {all})");
        println!("  time per step       {step:.1} us ({steps} steps in {seconds:.2} s)");
        println!("  matrix products     {gflops:.1} GFLOP/s, {share:.0} % of the time");
        println!("  parameters          {}", outcome.network.parameters());
        println!(
            "  fingerprint         {:016x}",
            outcome.network.fingerprint()
        );
    }
}
