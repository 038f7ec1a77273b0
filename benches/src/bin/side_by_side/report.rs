//! The table, its summary and its JSON form.

use crate::Options;
use anyhow::{Context, Result};
use diptych::Level;
use diptych_benches::ceiling;
use serde_json::json;
use std::path::Path;
use std::time::SystemTime;

/// Where and how the figures were taken.
pub struct Machine {
    date: String,
    cpu: String,
    level: Level,
    threads: usize,
    rounds: usize,
    peer: String,
}

impl Machine {
    pub fn new(level: Level, peer: &str, options: &Options) -> Self {
        Self {
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            cpu: cpu(),
            level,
            threads: options.threads,
            rounds: options.rounds,
            peer: peer.trim().into(),
        }
    }

    pub fn print(&self) {
        println!("date      {}", self.date);
        println!("CPU       {}", self.cpu);
        println!(
            "Diptych   {}, {} thread(s)",
            self.level.name(),
            self.threads
        );
        println!("peer      {}", self.peer);
        println!(
            "ceiling   one thread, {} registers; medians of {} rounds",
            ceiling::registers(),
            self.rounds
        );
        println!();
        println!(
            "{:<24} {:>4} {:>17} {:<7} {:>10} {:>8}      {:>8} {:>7} {:>8} {:>6}",
            "operation", "", "shape", "", "time", "rate", "ceiling", "of it", "peer", "ratio"
        );
    }
}

/// The name that the CPU gives itself.
fn cpu() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    let name = line
        .and_then(|line| line.split_once(':'))
        .map_or("unknown", |(_, name)| name.trim());
    let field = |key: &str| {
        let line = text
            .lines()
            .find(|line| line.split(':').next().is_some_and(|k| k.trim() == key));
        line.and_then(|line| line.split_once(':'))
            .map(|(_, value)| value.trim().to_owned())
    };
    match (field("cpu family"), field("model")) {
        (Some(family), Some(model)) => format!("{name} (family {family}, model {model})"),
        _ => name.to_owned(),
    }
}

/// One row of the table.
pub struct Line {
    pub op: String,
    pub dtype: &'static str,
    pub shape: String,
    pub place: &'static str,
    /// Whether `work` counts floating-point operations; else bytes.
    pub computes: bool,
    pub work: f64,
    pub seconds: f64,
    pub peer_seconds: Option<f64>,
    /// GFLOP/s or GB/s.
    pub ceiling: Option<f64>,
}

impl Line {
    fn rate(&self) -> f64 {
        self.work / self.seconds / 1e9
    }

    /// The part of the ceiling that is reached.
    fn part(&self) -> Option<f64> {
        self.ceiling.map(|ceiling| self.rate() / ceiling)
    }

    /// How many times as fast as the peer.
    fn ratio(&self) -> Option<f64> {
        self.peer_seconds.map(|peer| peer / self.seconds)
    }

    pub fn print(&self) {
        let or_dash = |value: Option<f64>, digits: usize| {
            value.map_or("-".into(), |v| format!("{v:.digits$}"))
        };
        let unit = if self.computes { "GF/s" } else { "GB/s" };
        let part = self
            .part()
            .map_or("-".into(), |part| format!("{:.0} %", 100.0 * part));
        let peer = self.peer_seconds.map(|seconds| self.work / seconds / 1e9);
        println!(
            "{:<24} {:>4} {:>17} {:<7} {:>10} {:>8.1} {unit} {:>8} {part:>7} {:>8} {:>6}",
            self.op,
            self.dtype,
            self.shape,
            self.place,
            time(self.seconds),
            self.rate(),
            or_dash(self.ceiling, 1),
            or_dash(peer, 1),
            or_dash(self.ratio(), 2),
        );
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.1} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.2} us", s * 1e6),
        s => format!("{:.3} ms", s * 1e3),
    }
}

/// How many rows reach what.
pub fn summary(lines: &[Line]) {
    let parts: Vec<f64> = lines.iter().filter_map(Line::part).collect();
    let ratios: Vec<f64> = lines.iter().filter_map(Line::ratio).collect();
    let count = |values: &[f64], least: f64| values.iter().filter(|&&value| value >= least).count();
    println!();
    println!(
        "{} of {} rows reach 70 % of their ceiling",
        count(&parts, 0.7),
        parts.len()
    );
    println!(
        "{} of {} rows are as fast as the peer (95 % or more)",
        count(&ratios, 0.95),
        ratios.len()
    );
}

/// Writes the figures as JSON.
pub fn write(path: &Path, machine: &Machine, lines: &[Line]) -> Result<()> {
    let rows: Vec<_> = lines
        .iter()
        .map(|line| {
            json!({
                "op": line.op,
                "dtype": line.dtype,
                "shape": line.shape,
                "place": line.place,
                "seconds": line.seconds,
                "unit": if line.computes { "GFLOP/s" } else { "GB/s" },
                "rate": line.rate(),
                "ceiling": line.ceiling,
                "part_of_ceiling": line.part(),
                "peer_seconds": line.peer_seconds,
                "ratio_to_peer": line.ratio(),
            })
        })
        .collect();
    let document = json!({
        "date": machine.date,
        "cpu": machine.cpu,
        "level": machine.level.name(),
        "threads": machine.threads,
        "rounds": machine.rounds,
        "peer": machine.peer,
        "rows": rows,
    });
    let text = serde_json::to_string_pretty(&document)? + "\n";
    std::fs::write(path, text).with_context(|| path.display().to_string())
}
