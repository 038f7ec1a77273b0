//! The measurements of a case, and their comparison with the goals.
#![forbid(unsafe_code)]

use crate::cases::Case;
use crate::section::Section;
use diptych_benches::bench::{Form, Pattern};
use serde_json::{Value, json};

/// A peer's measurement.
pub struct Peer {
    pub name: String,
    pub seconds: f64,
}

/// The measurements of one case.
pub struct Cell {
    pub case: Case,
    pub dtype: &'static str,
    /// Arithmetic operations if compute-bound, else bytes.
    pub work: f64,
    pub seconds: f64,
    /// With several threads: the seconds on one thread.
    pub one_thread: Option<f64>,
    /// The least seconds that the machine's limits allow.
    pub floor: Option<f64>,
    /// For reductions down the columns: the speed relative to the rows.
    pub of_rows: Option<f64>,
    pub peers: Vec<Peer>,
}

impl Cell {
    pub fn unit(&self) -> &'static str {
        match self.case.work.pattern {
            Pattern::Compute if self.dtype.starts_with('i') => "Gop/s",
            Pattern::Compute => "GFLOP/s",
            _ => "GB/s",
        }
    }

    /// Returns the rate, in [`Cell::unit`], of a run that takes `seconds`.
    pub fn rate(&self, seconds: f64) -> f64 {
        self.work / seconds / 1e9
    }

    /// Returns the speed as a fraction of the ceiling.
    pub fn part(&self) -> Option<f64> {
        self.floor.map(|floor| floor / self.seconds)
    }

    /// Returns the fastest of the peers that count for the goal.
    pub fn best(&self) -> Option<&Peer> {
        let counts = |peer: &&Peer| {
            !self.case.goal.python_only || ["NumPy", "PyTorch"].contains(&&*peer.name)
        };
        let peers = self.peers.iter().filter(counts);
        peers.min_by(|a, b| a.seconds.total_cmp(&b.seconds))
    }

    /// Returns the speed relative to that peer.
    pub fn ratio(&self) -> Option<f64> {
        self.best().map(|peer| peer.seconds / self.seconds)
    }

    /// Returns the speed relative to one thread.
    pub fn speedup(&self) -> Option<f64> {
        self.one_thread.map(|seconds| seconds / self.seconds)
    }

    /// Returns the goals that are missed, as text.
    pub fn missed(&self) -> Vec<String> {
        let goal = self.case.goal;
        let below = |value: Option<f64>, least: Option<f64>, what: &str| {
            let (value, least) = value.zip(least)?;
            (value < least).then(|| format!("{what} {value:.2} < {least:.2}"))
        };
        let nanoseconds = self.seconds * 1e9;
        let slow = goal.nanoseconds.filter(|&most| nanoseconds > most);
        [
            below(self.ratio(), goal.ratio, "ratio"),
            below(self.part(), goal.part, "of ceiling"),
            below(self.speedup(), goal.speedup, "speedup"),
            below(self.of_rows, goal.of_rows, "of rows"),
            slow.map(|most| format!("{nanoseconds:.1} ns > {most:.0} ns")),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    pub fn json(&self) -> Value {
        let peers = self.peers.iter().map(|peer| {
            let rate = self.rate(peer.seconds);
            (
                peer.name.clone(),
                json!({"seconds": peer.seconds, "rate": rate}),
            )
        });
        json!({
            "section": self.case.section.title(),
            "op": self.case.work.name(),
            "dtype": self.dtype,
            "shape": self.case.extents(),
            "unit": self.unit(),
            "seconds": self.seconds,
            "rate": self.rate(self.seconds),
            "ceiling": self.floor.map(|seconds| self.rate(seconds)),
            "part_of_ceiling": self.part(),
            "peers": peers.collect::<serde_json::Map<_, _>>(),
            "best_peer": self.best().map(|peer| &peer.name),
            "ratio": self.ratio(),
            "one_thread_seconds": self.one_thread,
            "part_of_rows": self.of_rows,
            "missed": self.missed(),
        })
    }
}

/// Compares each reduction down the columns with the same reduction along the rows.
pub fn compare_axes(cells: &mut [Cell]) {
    let key = |cell: &Cell| (cell.case.work.op, cell.case.shape, cell.dtype);
    let rows: Vec<_> = cells
        .iter()
        .filter(|cell| cell.case.section == Section::Axes && cell.case.work.form == Form::Rows)
        .map(|cell| (key(cell), cell.seconds))
        .collect();
    for cell in cells {
        if cell.case.section == Section::Axes && cell.case.work.form == Form::Columns {
            let same = rows.iter().find(|(other, _)| *other == key(cell));
            cell.of_rows = same.map(|(_, seconds)| seconds / cell.seconds);
        }
    }
}

/// Returns the geometric mean and the least of the ratios to the best peers, and their number.
pub fn ratios(cells: &[Cell], section: Section) -> Option<(f64, f64, usize)> {
    let cells = cells.iter().filter(|cell| cell.case.section == section);
    let ratios: Vec<f64> = cells.filter_map(Cell::ratio).collect();
    let least = ratios.iter().copied().reduce(f64::min)?;
    let mean = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64;
    Some((mean.exp(), least, ratios.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases;

    fn cell(seconds: f64, peers: &[(&str, f64)]) -> Cell {
        let mut all = cases::all::<f32>().into_iter();
        let case = all.find(|case| case.section == Section::Squares && case.shape.n == 4);
        Cell {
            case: case.expect("a square of 4"),
            dtype: "f32",
            work: 128.0,
            seconds,
            one_thread: None,
            floor: None,
            of_rows: None,
            peers: peers
                .iter()
                .map(|&(name, seconds)| Peer {
                    name: name.into(),
                    seconds,
                })
                .collect(),
        }
    }

    #[test]
    fn the_fastest_peer_is_the_best() {
        let slow = cell(10e-9, &[("BLIS", 20e-9), ("MKL", 8e-9)]);
        assert_eq!(slow.best().map(|peer| &*peer.name), Some("MKL"));
        assert_eq!(slow.missed(), ["ratio 0.80 < 0.95"]);
        let late = cell(16e-9, &[("MKL", 32e-9)]);
        assert_eq!(late.missed(), ["16.0 ns > 15 ns"]);
        let (mean, least, count) = ratios(&[slow, late], Section::Squares).expect("two ratios");
        assert!((mean - 1.6f64.sqrt()).abs() < 1e-12 && (least - 0.8).abs() < 1e-12 && count == 2);
    }

    #[test]
    fn only_python_counts_where_the_goal_says_so() {
        let mut cell = cell(10e-9, &[("MKL", 8e-9), ("NumPy", 12e-9)]);
        cell.case.goal.python_only = true;
        assert_eq!(cell.best().map(|peer| &*peer.name), Some("NumPy"));
    }
}
