//! The output: lines on the terminal, JSON and Markdown.
#![forbid(unsafe_code)]

use crate::cell::{Cell, Peer, ratios};
use crate::section::Section;
use serde_json::{Value, json};
use std::fmt::Write;

/// Where, when and how the figures were measured.
pub struct RunInfo {
    pub date: String,
    pub revision: String,
    pub cpu: String,
    pub level: String,
    pub registers: &'static str,
    pub threads: usize,
    pub clock: &'static str,
    pub rounds: usize,
    /// Peers that were timed, and the versions that they report.
    pub found: Vec<(String, String)>,
    /// Peers that were not found, and why.
    pub missing: Vec<(String, String)>,
    /// The machine's limits: name, rate and unit.
    pub machine: Vec<(String, f64, &'static str)>,
}

/// Returns one line for the terminal.
pub fn line(cell: &Cell) -> String {
    let name = format!("{} {}", cell.case.work.name(), cell.dtype);
    let mut line = format!(
        "{name:<30} {:>20} {:>10} {:>8} {:<7}",
        cell.case.extents(),
        time(cell.seconds),
        rate(cell.rate(cell.seconds)),
        cell.unit(),
    );
    let part = cell.part().map_or("-".into(), percent);
    let best = cell.best().map_or("-".into(), |peer| best(cell, peer));
    let ratio = or_dash(cell.ratio());
    _ = write!(line, " {part:>6} {best:>24} {ratio:>6}  ");
    line + &cell.missed().join(", ")
}

pub fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.1} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.2} us", s * 1e6),
        s => format!("{:.3} ms", s * 1e3),
    }
}

fn rate(rate: f64) -> String {
    match rate {
        r if r < 10.0 => format!("{r:.2}"),
        r if r < 100.0 => format!("{r:.1}"),
        r => format!("{r:.0}"),
    }
}

fn percent(part: f64) -> String {
    format!("{:.0} %", 100.0 * part)
}

fn or_dash(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.2}"))
}

fn best(cell: &Cell, peer: &Peer) -> String {
    format!("{} {}", peer.name, rate(cell.rate(peer.seconds)))
}

pub fn json(about: &RunInfo, cells: &[Cell]) -> Value {
    let text = |pairs: &[(String, String)]| -> Value {
        let pairs = pairs.iter().cloned();
        pairs
            .map(|(key, value)| (key, Value::from(value)))
            .collect()
    };
    let machine = about.machine.iter();
    json!({
        "date": about.date,
        "revision": about.revision,
        "cpu": about.cpu,
        "level": about.level,
        "registers_of_ceilings": about.registers,
        "threads": about.threads,
        "clock": about.clock,
        "rounds": about.rounds,
        "peers": text(&about.found),
        "not_found": text(&about.missing),
        "machine": machine
            .map(|(name, rate, unit)| json!({"limit": name, "rate": rate, "unit": unit}))
            .collect::<Vec<_>>(),
        "cells": cells.iter().map(Cell::json).collect::<Vec<_>>(),
    })
}

/// Returns the whole report; `chart` is the file name of the plots.
pub fn markdown(about: &RunInfo, cells: &[Cell], chart: Option<&str>) -> String {
    let mut text = head(about, chart);
    text += &summary(cells);
    for section in Section::ALL {
        let cells: Vec<_> = cells
            .iter()
            .filter(|cell| cell.case.section == section)
            .collect();
        if !cells.is_empty() {
            _ = write!(text, "\n## {}\n\n{}\n\n", section.title(), section.goal());
            text += &table(&cells);
        }
    }
    text
}

fn head(about: &RunInfo, chart: Option<&str>) -> String {
    let threads = match about.threads {
        1 => "one thread".into(),
        threads => format!("{threads} threads"),
    };
    let mut text = format!(
        "# Diptych and its peers, {threads}\n\n{}, {}. Diptych is libdiptych.so of revision {}, called \
         through its C interface, on level {}. All libraries are sampled in turn; each figure is the median \
         of {} rounds on the {} clock. Ceilings are measured in the same rounds, on {} registers.\n\n",
        about.date,
        about.cpu,
        about.revision,
        about.level,
        about.rounds,
        about.clock,
        about.registers,
    );
    if let Some(chart) = chart {
        _ = writeln!(text, "![Speed over size]({chart})\n");
    }
    text += "| Peer | |\n|---|---|\n";
    for (name, version) in &about.found {
        _ = writeln!(text, "| {name} | {version} |");
    }
    for (name, why) in &about.missing {
        let why = why.lines().next().unwrap_or_default();
        _ = writeln!(text, "| {name} | **not found**: {why} |");
    }
    text += "\n| Limit of the machine, one thread | |\n|---|---|\n";
    for (name, value, unit) in &about.machine {
        _ = writeln!(text, "| {name} | {} {unit} |", rate(*value));
    }
    text
}

fn summary(cells: &[Cell]) -> String {
    let mut text = "\n## Summary\n\n| Work | Cells | Ratio to the best peer, geometric mean | \
         Lowest | Cells that miss a goal |\n|---|---|---|---|---|\n"
        .to_owned();
    for section in Section::ALL {
        let count = |missed: bool| {
            let cells = cells.iter().filter(|cell| cell.case.section == section);
            cells
                .filter(|cell| !missed || !cell.missed().is_empty())
                .count()
        };
        let (mean, least) = match ratios(cells, section) {
            Some((mean, least, _)) => (Some(mean), Some(least)),
            None => (None, None),
        };
        if count(false) > 0 {
            _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} |",
                section.title(),
                count(false),
                or_dash(mean),
                or_dash(least),
                count(true)
            );
        }
    }
    text
}

fn table(cells: &[&Cell]) -> String {
    let threads = cells.iter().any(|cell| cell.one_thread.is_some());
    let columns = cells.iter().any(|cell| cell.of_rows.is_some());
    let mut head = vec![
        "Operation",
        "Shape",
        "Time",
        "Rate",
        "Ceiling",
        "Of ceiling",
        "Best peer",
        "Ratio",
    ];
    head.extend(threads.then_some("Over one thread"));
    head.extend(columns.then_some("Over rows"));
    head.push("Missed");
    let mut text = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
    for cell in cells {
        let unit = cell.unit();
        let mut fields = vec![
            format!("`{}` {}", cell.case.work.op, form(cell)),
            cell.case.extents(),
            time(cell.seconds),
            format!("{} {unit}", rate(cell.rate(cell.seconds))),
            cell.floor
                .map_or("-".into(), |floor| rate(cell.rate(floor))),
            cell.part().map_or("-".into(), percent),
            cell.best().map_or("-".into(), |peer| best(cell, peer)),
            or_dash(cell.ratio()),
        ];
        fields.extend(threads.then(|| or_dash(cell.speedup())));
        fields.extend(columns.then(|| or_dash(cell.of_rows)));
        let missed = cell.missed();
        fields.push(if missed.is_empty() {
            String::new()
        } else {
            format!("**{}**", missed.join(", "))
        });
        _ = writeln!(text, "| {} |", fields.join(" | "));
    }
    text
}

/// Returns the element type, and the form of the operation if its name does not imply it.
fn form(cell: &Cell) -> String {
    let name = cell.case.work.name();
    let rest = name.strip_prefix(cell.case.work.op).unwrap_or_default();
    let rest = match rest {
        "_rows" => " along rows",
        "_rows (columns)" => " down columns",
        other => other,
    };
    format!("{}{rest}", cell.dtype)
}
