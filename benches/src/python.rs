//! NumPy and PyTorch, in a Python process that is told what to prepare and what to time.
#![forbid(unsafe_code)]

use crate::bench::Work;
use crate::data::Shape;
use crate::timing::{Clock, Sampler};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

/// The script, compiled in: the program runs from any folder.
const SERVER: &str = include_str!("../peers/server.py");

/// A running interpreter.
pub struct Python {
    process: Rc<RefCell<Process>>,
    /// The libraries that it could import: name and version.
    pub found: Vec<(String, String)>,
    /// Those that it could not, and why.
    pub missing: Vec<(String, String)>,
    /// Shared libraries that its packages bring: name of the peer and path.
    pub libraries: Vec<(String, PathBuf)>,
}

struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Process {
    /// One question, one answer, a line of JSON each.
    fn ask(&mut self, question: &Value) -> Result<Value> {
        writeln!(self.input, "{question}").context("the Python process is gone")?;
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            bail!("the Python process ended at {question}");
        }
        let answer: Value = serde_json::from_str(&line).with_context(|| line.clone())?;
        match answer.get("error").and_then(Value::as_str) {
            Some(error) => bail!("{question}: {error}"),
            None => Ok(answer),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It ends by itself when its input does; this is for one that hangs.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Python {
    /// Starts the interpreter, its libraries limited to so many threads.
    ///
    /// # Errors
    /// When there is no such interpreter.
    pub fn start(interpreter: &OsStr, threads: usize) -> Result<Self> {
        let mut command = Command::new(interpreter);
        command.args(["-c", SERVER]).arg(threads.to_string());
        for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"] {
            command.env(variable, threads.to_string());
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", Path::new(interpreter).display()))?;
        let input = child.stdin.take().context("no input")?;
        let output = BufReader::new(child.stdout.take().context("no output")?);
        let mut process = Process {
            child,
            input,
            output,
        };
        let hello = process.ask(&json!({"do": "hello"}))?;
        Ok(Self {
            found: pairs(&hello["found"]),
            missing: pairs(&hello["missing"]),
            libraries: pairs(&hello["libraries"])
                .into_iter()
                .map(|(name, path)| (name, path.into()))
                .collect(),
            process: Rc::new(RefCell::new(process)),
        })
    }

    /// The shared library of that peer, where a package brings it.
    pub fn library(&self, peer: &str) -> Option<&Path> {
        let (_, path) = self.libraries.iter().find(|(name, _)| name == peer)?;
        Some(path)
    }

    /// Makes the operands of the work; gives a sampler for each library that has it.
    ///
    /// # Errors
    /// When the process does not answer.
    pub fn samplers(
        &self,
        work: Work,
        dtype: &str,
        shape: Shape,
        clock: Clock,
    ) -> Result<Vec<(String, Sampler<'static>)>> {
        let question = json!({
            "do": "prepare", "op": work.op, "form": work.form.name(), "dtype": dtype,
            "m": shape.m, "n": shape.n, "k": shape.k, "batch": shape.batch,
        });
        let answer = self.process.borrow_mut().ask(&question)?;
        let names = answer["ready"].as_array().cloned().unwrap_or_default();
        let samplers = names.iter().filter_map(Value::as_str).map(|name| {
            let process = Rc::clone(&self.process);
            let mut question = json!({"do": "time", "library": name, "clock": clock.name()});
            let sampler: Sampler<'static> = Box::new(move |turns| {
                question["turns"] = turns.into();
                let answer = process.borrow_mut().ask(&question)?;
                let time = answer["nanoseconds"].as_u64().context("no time")?;
                Ok(Duration::from_nanos(time))
            });
            (name.to_owned(), sampler)
        });
        Ok(samplers.collect())
    }

    /// The results of a reduction or product of arrays that lie in files, by each library.
    ///
    /// # Errors
    /// When the process does not answer.
    pub fn results(&self, question: &Value) -> Result<Value> {
        Ok(self.process.borrow_mut().ask(question)?["results"].take())
    }
}

/// The interpreter: DIPTYCH_PYTHON, else that of target/peers, else the system's.
pub fn interpreter() -> OsString {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/peers/bin/python3");
    let named = std::env::var_os("DIPTYCH_PYTHON");
    named.unwrap_or_else(|| match own.exists() {
        true => own.into(),
        false => "python3".into(),
    })
}

fn pairs(value: &Value) -> Vec<(String, String)> {
    let object = value.as_object().into_iter().flatten();
    object
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}
