//! NumPy and PyTorch, in a Python process that prepares and times operations on request.
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

/// The script. It is compiled in, so that the program runs from any directory.
const SERVER: &str = include_str!("../peers/server.py");

/// A running interpreter.
pub struct Python {
    process: Rc<RefCell<Process>>,
    /// The libraries that could be imported: name and version.
    pub found: Vec<(String, String)>,
    /// The libraries that could not be imported, and why.
    pub missing: Vec<(String, String)>,
    /// Shared libraries that are part of its packages: name of the peer and path.
    pub libraries: Vec<(String, PathBuf)>,
}

struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Process {
    /// Sends a request and reads the response; each is a line of JSON.
    fn request(&mut self, request: &Value) -> Result<Value> {
        writeln!(self.input, "{request}").context("the Python process is gone")?;
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            bail!("the Python process ended at {request}");
        }
        let response: Value = serde_json::from_str(&line).with_context(|| line.clone())?;
        match response.get("error").and_then(Value::as_str) {
            Some(error) => bail!("{request}: {error}"),
            None => Ok(response),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process ends by itself at the end of its input, unless it hangs.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Python {
    /// Starts the interpreter, with its libraries limited to `threads` threads.
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
        let hello = process.request(&json!({"do": "hello"}))?;
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

    /// Returns the path of the peer's shared library, if a package includes it.
    pub fn library(&self, peer: &str) -> Option<&Path> {
        let (_, path) = self.libraries.iter().find(|(name, _)| name == peer)?;
        Some(path)
    }

    /// Makes the operands of the work; returns a sampler for each library that has the operation.
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
        let request = json!({
            "do": "prepare", "op": work.op, "form": work.form.name(), "dtype": dtype,
            "m": shape.m, "n": shape.n, "k": shape.k, "batch": shape.batch,
        });
        let response = self.process.borrow_mut().request(&request)?;
        let names = response["ready"].as_array().cloned().unwrap_or_default();
        let samplers = names.iter().filter_map(Value::as_str).map(|name| {
            let process = Rc::clone(&self.process);
            let mut request = json!({"do": "time", "library": name, "clock": clock.name()});
            let sampler: Sampler<'static> = Box::new(move |iterations| {
                request["iterations"] = iterations.into();
                let response = process.borrow_mut().request(&request)?;
                let time = response["nanoseconds"].as_u64().context("no time")?;
                Ok(Duration::from_nanos(time))
            });
            (name.to_owned(), sampler)
        });
        Ok(samplers.collect())
    }

    /// Returns the results that each library computes for a reduction or product of arrays stored in files.
    ///
    /// # Errors
    /// When the process does not answer.
    pub fn results(&self, request: &Value) -> Result<Value> {
        Ok(self.process.borrow_mut().request(request)?["results"].take())
    }
}

/// Returns the interpreter: DIPTYCH_PYTHON, else the one in target/peers, else the system's.
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
