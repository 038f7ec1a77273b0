//! The C header: cbindgen's declarations, in the order and under the comments of `ffi/sections.h`.
use super::read;
use crate::{exports, paths, promise};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;

/// The longest line.
const WIDTH: usize = 100;

/// The text of the header.
pub fn text() -> Result<String> {
    let mut builder = cbindgen::Builder::new().with_config(config()?);
    for file in exports::sources()? {
        builder = builder.with_src(file);
    }
    let mut text = Vec::new();
    builder.generate().context("cbindgen")?.write(&mut text);
    let text = or_dlpack(&short_comments(&String::from_utf8(text)?))?;
    let text = arrange(&text)?;
    for name in exports::names()? {
        let declared = [format!(" {name}("), format!("*{name}(")]
            .iter()
            .any(|form| text.contains(form));
        ensure!(declared, "{name} is missing in the header");
    }
    if let Some(line) = text.lines().find(|line| line.chars().count() > WIDTH) {
        bail!("the header has a line of more than {WIDTH} columns: {line}");
    }
    Ok(text)
}

/// Puts a comment of one line on one line; cbindgen writes three.
fn short_comments(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let (mut short, mut rest) = (String::new(), &lines[..]);
    while let [line, tail @ ..] = rest {
        rest = tail;
        short.push_str(line);
        if line.trim() == "/**"
            && let [comment, end, tail @ ..] = rest
            && end.trim() == "*/"
            && line.len() + comment.trim().len() + 2 < WIDTH
        {
            short.push_str(comment.trim_start().trim_start_matches('*'));
            short.push_str(" */");
            rest = tail;
        }
        short.push('\n');
    }
    short
}

/// Replaces each line `FUNCTIONS(FILE, ...)` of `ffi/sections.h` by the functions of these source files, the form for
/// double below the form for float, and puts the result where cbindgen has its functions.
fn arrange(text: &str) -> Result<String> {
    let open = "extern \"C\" {\n#endif // __cplusplus\n\n";
    let close = "\n#ifdef __cplusplus\n}";
    let (types, rest) = text.split_once(open).context("the start of C functions")?;
    let (functions, end) = rest.rsplit_once(close).context("the end of C functions")?;
    let mut blocks: BTreeMap<&str, String> = functions
        .trim()
        .split("\n\n")
        .map(|block| (name(block), wrap(block)))
        .collect();
    let mut arranged = String::new();
    for line in read(&paths::root().join("ffi/sections.h"))?.lines() {
        if let Some(title) = line.strip_prefix("/* ---- ") {
            let title = title.split(" --").next().unwrap_or_default();
            ensure!(
                types.contains(&format!(" *   {title} ")),
                "{title} is not in the contents of ffi/preamble.h"
            );
        }
        let Some(files) = line.strip_prefix("FUNCTIONS(") else {
            arranged += line;
            arranged.push('\n');
            continue;
        };
        let mut groups = Vec::new();
        for file in files.trim_end_matches(')').split(", ") {
            for name in exports::functions(&exports::source(file))? {
                let forms = [name.clone(), name.replace("_f32", "_f64")];
                let group: String = forms
                    .iter()
                    .filter_map(|name| blocks.remove(name.as_str()))
                    .collect();
                groups.extend((!group.is_empty()).then_some(group));
            }
        }
        arranged += &groups.join("\n");
    }
    let forgotten: Vec<_> = blocks.keys().collect();
    ensure!(
        forgotten.is_empty(),
        "no section of ffi/sections.h has {forgotten:?}"
    );
    Ok(format!("{types}{open}{arranged}{close}{end}"))
}

/// Declares `dpt_tensor` as DLPack's `DLTensor` where that has been included.
fn or_dlpack(text: &str) -> Result<String> {
    let end = "} dpt_tensor;\n";
    let at = text
        .find("typedef struct dpt_tensor {")
        .context("dpt_tensor")?;
    // Its comment is the last one before it.
    let start = text[..at]
        .rfind("/**")
        .context("the comment of dpt_tensor")?;
    let after = at + text[at..].find(end).context("the end of dpt_tensor")? + end.len();
    let (before, definition, rest) = (&text[..start], &text[start..after], &text[after..]);
    let (comment, definition) = definition.split_at(at - start);
    Ok(format!(
        "{before}{comment}#ifdef DLPACK_DLPACK_H_\ntypedef DLTensor dpt_tensor;\n#else\n{definition}#endif\n{}",
        rest.replace("struct dpt_tensor *", "dpt_tensor *")
    ))
}

/// The name of the function that a comment and a declaration declare.
fn name(block: &str) -> &str {
    let declaration = block.lines().last().unwrap_or_default();
    let before = declaration.split('(').next().unwrap_or_default();
    before.rsplit([' ', '*']).next().unwrap_or_default()
}

/// A comment and a declaration, which is wrapped between parameters where it is too long.
fn wrap(block: &str) -> String {
    const INDENT: &str = "    ";
    let (comment, declaration) = match block.rsplit_once('\n') {
        Some((comment, declaration)) => (format!("{comment}\n"), declaration),
        None => (String::new(), block),
    };
    let (mut text, mut width) = (comment, 0);
    for (i, part) in declaration.split_inclusive(", ").enumerate() {
        if i > 0 && width + part.trim_end().len() > WIDTH {
            text.truncate(text.trim_end().len());
            text = text + "\n" + INDENT;
            width = INDENT.len();
        }
        text += part;
        width += part.len();
    }
    text + "\n"
}

/// Enums of constants: no function takes them, for enums travel as int32_t.
const CONSTANTS: [&str; 6] = [
    "dpt_status_code",
    "dpt_device",
    "dpt_exec_flag",
    "dpt_level",
    "dpt_bias_kind",
    "dpt_epilogue_flag",
];

fn config() -> Result<cbindgen::Config> {
    let preamble = read(&paths::root().join("ffi/preamble.h"))?;
    let mut config = cbindgen::Config {
        language: cbindgen::Language::C,
        cpp_compat: true,
        header: Some(preamble.trim_end().into()),
        include_guard: Some("DIPTYCH_H".into()),
        no_includes: true,
        sys_includes: vec!["stddef.h".into(), "stdint.h".into()],
        after_includes: Some(version()),
        usize_is_size_t: true,
        documentation_style: cbindgen::DocumentationStyle::Doxy,
        style: cbindgen::Style::Both,
        line_length: usize::MAX,
        ..cbindgen::Config::default()
    };
    config.function.args = cbindgen::Layout::Horizontal;
    config.export.include = CONSTANTS.map(String::from).into();
    Ok(config)
}

/// The version macros; the workspace has one version, so that of this tool is that of the library.
fn version() -> String {
    let (major, minor, patch) = (
        env!("CARGO_PKG_VERSION_MAJOR"),
        env!("CARGO_PKG_VERSION_MINOR"),
        env!("CARGO_PKG_VERSION_PATCH"),
    );
    format!(
        "\n/* The version of this header; dpt_version() returns the version of the library in use. */\n\
         #define DPT_VERSION_MAJOR {major}\n#define DPT_VERSION_MINOR {minor}\n#define DPT_VERSION_PATCH {patch}\n\
         #define DPT_VERSION (DPT_VERSION_MAJOR * 10000 + DPT_VERSION_MINOR * 100 + DPT_VERSION_PATCH)\n\n{}\n\
         /* ---- TYPES ------------------------------------------------------------------------------- */",
        numerics()
    )
}

/// The macros of `dpt_fingerprint`.
fn numerics() -> String {
    format!(
        "/* The version of the result bits: raised when those of an operation change. */\n\
         #define DPT_NUMERICS_VERSION {}\n\
         /* What dpt_fingerprint gives on every machine. It changes when result bits change, and when an\n \
         * operation or a type is added. */\n\
         #define DPT_FINGERPRINT UINT64_C(0x{:016x})\n\
         /* Bytes of exec->workspace that the arrays of dpt_fingerprint take. */\n\
         #define DPT_FINGERPRINT_WORKSPACE {}\n",
        promise::NUMERICS_VERSION,
        promise::FINGERPRINT,
        promise::WORKSPACE,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_declarations_are_wrapped_between_parameters() {
        let parameters = ["int64_t a_parameter"; 9].join(", ");
        let block = format!("/** Long. */\ndpt_status dpt_long({parameters});");
        let wrapped = wrap(&block);
        assert!(wrapped.lines().all(|line| line.len() <= WIDTH));
        assert_eq!(wrapped.replace("\n    ", " "), block.clone() + "\n");
        assert_eq!(name(&block), "dpt_long");
        assert_eq!(
            wrap("const char *dpt_short(void);"),
            "const char *dpt_short(void);\n"
        );
        assert_eq!(name("const char *dpt_short(void);"), "dpt_short");
    }
}
