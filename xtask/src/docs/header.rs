//! The chapter of the C header: its first comment as text and its sections as code, under headings of their own.
use std::fmt::Write;

/// Makes the chapter from the text of include/diptych.h.
pub fn chapter(header: &str) -> String {
    let about = "The text of `include/diptych.h`, which is the reference of the C interface.";
    let mut chapter = format!("# The header\n\n{about}\n");
    let (comment, code) = header.split_once("\n */\n").unwrap_or(("", header));
    let plain = |line: &str| {
        let line = line.strip_prefix(" *").unwrap_or_default();
        line.strip_prefix(' ').unwrap_or(line).to_owned()
    };
    let comment: Vec<String> = comment.lines().map(plain).collect();
    let lines = comment.iter().map(String::as_str);
    sections(&mut chapter, "About this file", "text", lines, |line| {
        let letters = |c: char| c.is_ascii_uppercase() || c == ' ';
        (line.len() > 2 && !line.starts_with(' ') && line.chars().all(letters)).then_some(line)
    });
    sections(&mut chapter, "Versions", "c", code.lines(), |line| {
        line.strip_prefix("/* ---- ")?.split(" --").next()
    });
    chapter
}

/// Appends a heading and a block of code for each section. `title` returns the title, in upper case, where a line begins
/// a section.
fn sections<'a>(
    chapter: &mut String,
    first: &str,
    language: &str,
    lines: impl Iterator<Item = &'a str>,
    title: impl Fn(&'a str) -> Option<&'a str>,
) {
    let mut all = vec![(first.to_owned(), String::new())];
    for line in lines {
        if let Some(title) = title(line) {
            all.push((sentence_case(title), String::new()));
        }
        if let Some((_, text)) = all.last_mut() {
            *text += line;
            text.push('\n');
        }
    }
    for (heading, text) in all {
        let text = text.trim_matches('\n');
        // Writing to a string cannot fail.
        let _ = write!(chapter, "\n## {heading}\n\n```{language}\n{text}\n```\n");
    }
}

/// A title in upper case as a heading; what is no word stays.
fn sentence_case(title: &str) -> String {
    match title.split_at_checked(1) {
        Some((first, rest)) if title != "GPU" => first.to_owned() + &rest.to_ascii_lowercase(),
        _ => title.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn sections_become_headings() {
        let header = "/*\n * Diptych: kernels\n *\n * CANONICAL ORDERS\n *\n * The bits\n */\n\n/* ---- TYPES ------ */\n\nint x;\n";
        let chapter = super::chapter(header);
        let headings: Vec<&str> = chapter
            .lines()
            .filter(|line| line.starts_with("## "))
            .collect();
        assert_eq!(
            headings,
            [
                "## About this file",
                "## Canonical orders",
                "## Versions",
                "## Types"
            ]
        );
        assert!(chapter.contains("```text\nCANONICAL ORDERS\n\nThe bits\n```\n"));
        assert!(chapter.contains("```c\n/* ---- TYPES ------ */\n\nint x;\n```\n"));
    }
}
