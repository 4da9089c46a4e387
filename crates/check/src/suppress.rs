//! Suppressions: a file that lists known and accepted findings.
//!
//! A line is a rule, or `*`, and conditions: `shader=FINGERPRINT`, `offset=0x1c`,
//! `instruction=MNEMONIC`, `line=12`. The text after `#` is the reason.

use crate::finding::Finding;
use crate::rule::rule;

/// A line of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suppression {
    /// The rule; none for all.
    rule: Option<String>,
    shader: Option<String>,
    offset: Option<u32>,
    instruction: Option<String>,
    line: Option<u32>,
    /// The reason.
    pub reason: String,
    /// Number of findings that it has suppressed.
    pub used: u64,
}

/// Reads a file of suppressions.
///
/// # Errors
/// A line names no rule or an unknown condition: the message begins with the line's number.
pub fn parse(text: &str) -> Result<Vec<Suppression>, String> {
    let mut all = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let at = |what: String| format!("line {}: {what}", number + 1);
        let (line, reason) = line.split_once('#').unwrap_or((line, ""));
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { continue };
        let mut s = Suppression { reason: reason.trim().to_owned(), ..Suppression::default() };
        if first != "*" {
            rule(first).ok_or_else(|| {
                at(format!("`{first}` is no rule; `tepui check --rules` lists them"))
            })?;
            s.rule = Some(first.to_owned());
        }
        for word in words {
            let (key, value) = word.split_once('=').ok_or_else(|| {
                at(format!("`{word}`: write shader=…, offset=…, instruction=… or line=…"))
            })?;
            let number = || {
                let hex = value.strip_prefix("0x");
                hex.map_or_else(|| value.parse(), |hex| u32::from_str_radix(hex, 16))
                    .map_err(|_| at(format!("`{value}` is no number")))
            };
            match key {
                "shader" => s.shader = Some(value.to_owned()),
                "instruction" => s.instruction = Some(value.to_owned()),
                "offset" => s.offset = Some(number()?),
                "line" => s.line = Some(number()?),
                _ => return Err(at(format!("`{key}` is no condition"))),
            }
        }
        all.push(s);
    }
    Ok(all)
}

impl Suppression {
    fn covers(&self, f: &Finding) -> bool {
        let mnemonic = f.instruction.split([' ', ',']).next().unwrap_or("");
        self.rule.as_ref().is_none_or(|rule| *rule == f.rule)
            && self.shader.as_ref().is_none_or(|shader| *shader == f.shader)
            && self.offset.is_none_or(|offset| offset == f.offset)
            && self.instruction.as_ref().is_none_or(|i| i == mnemonic)
            && self.line.is_none_or(|line| f.source.as_ref().is_some_and(|s| s.line == line))
    }
}

/// Marks the findings that are covered.
pub fn apply(suppressions: &mut [Suppression], findings: &mut [Finding]) {
    for finding in findings {
        if let Some(s) = suppressions.iter_mut().find(|s| s.covers(finding)) {
            s.used += 1;
            finding.suppressed = Some(s.reason.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_covers_what_it_names() {
        let text = "# all of it\nlane-race shader=12ab offset=0x1c # known\nunbound-load line=3\n";
        let mut all = parse(text).expect("suppressions");
        let race = Finding {
            rule: "lane-race".to_owned(),
            shader: "12ab".to_owned(),
            offset: 28,
            ..Finding::default()
        };
        let mut findings = [race.clone(), Finding { offset: 30, ..race }];
        apply(&mut all, &mut findings);
        assert_eq!(findings[0].suppressed.as_deref(), Some("known"));
        assert_eq!(findings[1].suppressed, None);
        assert_eq!((all[0].used, all[1].used), (1, 0));
        assert!(parse("no-rule").unwrap_err().starts_with("line 1: `no-rule`"));
        assert!(parse("\n* where=3").unwrap_err().starts_with("line 2"));
    }
}
