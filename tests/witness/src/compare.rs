//! Compares outputs element by element under a rule, and describes the first difference.

use crate::case::{Check, Column, Output, Record, Rule};
use crate::number::Elem;

/// The result of comparing one output.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The output's name.
    pub output: String,
    /// Elements compared.
    pub elements: usize,
    /// Elements that violated the rule.
    pub failures: usize,
    /// The indices of the first failures, at most sixteen.
    pub wrong: Vec<usize>,
    /// Elements whose bits differ from the expectation.
    pub differing: usize,
    /// Largest difference in units in the last place, over elements within the rule's reach.
    pub max_ulp: f64,
    /// The first element that violated the rule: index, inputs, both values.
    pub first: Option<String>,
    /// Whether the rule holds.
    pub passed: bool,
}

/// Compares `got` with the accepted answers.
fn compare(output: &Output, accepted: &[&[u8]], defined: Option<&[bool]>, rule: &Rule) -> Finding {
    let elem = output.elem;
    let size = elem.size_bytes();
    let mut finding = Finding {
        output: output.name.clone(),
        elements: 0,
        failures: 0,
        wrong: Vec::new(),
        differing: 0,
        max_ulp: 0.0,
        first: None,
        passed: false,
    };
    if let Some(wrong) = accepted.iter().find(|a| a.len() != output.data.len()) {
        finding.failures = 1;
        finding.first = Some(format!("{} bytes, expected {}", output.data.len(), wrong.len()));
        return finding;
    }
    for (index, got) in output.data.chunks_exact(size).enumerate() {
        if defined.is_some_and(|d| !d[index]) {
            continue;
        }
        finding.elements += 1;
        let range = index * size..(index + 1) * size;
        let wanted = accepted.iter().map(|a| &a[range.clone()]);
        let mut nearest = f64::INFINITY;
        let mut held = false;
        for want in wanted {
            let difference = Difference::of(elem, got, want);
            nearest = nearest.min(difference.ulp);
            held |= difference.within(rule, index);
        }
        finding.differing += usize::from(nearest != 0.0);
        if held && nearest.is_finite() {
            finding.max_ulp = finding.max_ulp.max(nearest);
        }
        if !held {
            finding.failures += 1;
            if finding.wrong.len() < 16 {
                finding.wrong.push(index);
            }
            if finding.first.is_none() {
                let wants: Vec<_> = accepted.iter().map(|a| elem.text(&a[range.clone()])).collect();
                finding.first = Some(format!(
                    "[{index}]{}: {}, expected {}",
                    inputs(&output.columns, index),
                    elem.text(got),
                    wants.join(" or "),
                ));
            }
        }
    }
    if finding.elements == 0 {
        finding.failures = 1;
        finding.first = Some("nothing was compared".to_owned());
    }
    finding.passed = finding.elements > 0
        && match rule {
            Rule::Mostly { permille, .. } => {
                finding.failures as f64 <= permille / 1000.0 * finding.elements as f64
            }
            _ => finding.failures == 0,
        };
    finding
}

fn inputs(columns: &[Column], index: usize) -> String {
    let mut text = String::new();
    for column in columns {
        let size = column.elem.size_bytes();
        let at = index / column.repeat * size;
        if let Some(bytes) = column.data.get(at..at + size) {
            text += if text.is_empty() { " " } else { ", " };
            text += &format!("{} = {}", column.name, column.elem.text(bytes));
        }
    }
    text
}

/// The difference of two elements.
struct Difference {
    same: bool,
    abs: f64,
    ulp: f64,
}

impl Difference {
    fn of(elem: Elem, got: &[u8], want: &[u8]) -> Difference {
        let (g, w) = (elem.value(got), elem.value(want));
        let same = got == want || elem.is_float() && g.is_nan() && w.is_nan();
        if same {
            return Difference { same, abs: 0.0, ulp: 0.0 };
        }
        let abs = if elem.is_float() {
            (g - w).abs()
        } else {
            elem.bits(got).abs_diff(elem.bits(want)) as f64
        };
        let abs = if abs.is_nan() { f64::INFINITY } else { abs };
        let ulp = if elem.is_float() { abs / elem.ulp(w) } else { abs };
        Difference { same, abs, ulp }
    }

    fn within(&self, rule: &Rule, index: usize) -> bool {
        self.same
            || match rule {
                Rule::Bits => false,
                Rule::Ulp(most) => self.ulp <= *most,
                Rule::Abs(most) | Rule::Mostly { abs: most, .. } => self.abs <= *most,
                Rule::Each(_, most) => self.abs <= most[index],
            }
    }
}

/// Compares one driver's outputs with the CPU's answers; outputs without one are skipped.
pub fn against_cpu(outputs: &[Output]) -> Vec<Finding> {
    outputs
        .iter()
        .filter_map(|output| match &output.check {
            Check::Cpu { accepted, defined, rule } => {
                let accepted: Vec<_> = accepted.iter().map(Vec::as_slice).collect();
                Some(compare(output, &accepted, defined.as_deref(), rule))
            }
            Check::Peer(_) => None,
        })
        .collect()
}

/// Compares one driver's outputs with the CPU's answers if there are any, else with `peer`'s.
pub fn against(peer: &Record, record: &Record) -> Result<Vec<Finding>, String> {
    let outputs = record.outputs.as_ref().map_err(|e| e.clone())?;
    let theirs = peer.outputs.as_ref().map_err(|e| format!("on {}: {e}", peer.device))?;
    if outputs.is_empty() {
        return Err("the case has no outputs".to_owned());
    }
    if let Some(missing) = theirs.iter().find(|t| outputs.iter().all(|o| o.name != t.name)) {
        return Err(format!("{} has no output `{}`", record.device, missing.name));
    }
    let mut findings = Vec::new();
    for output in outputs {
        findings.push(match &output.check {
            Check::Cpu { accepted, defined, rule } => {
                let accepted: Vec<_> = accepted.iter().map(Vec::as_slice).collect();
                compare(output, &accepted, defined.as_deref(), rule)
            }
            Check::Peer(rule) => {
                let their = theirs
                    .iter()
                    .find(|t| t.name == output.name)
                    .ok_or_else(|| format!("{} has no output `{}`", peer.device, output.name))?;
                compare(output, &[&their.data], None, rule)
            }
        });
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(data: &[f32], expected: &[f32], rule: Rule) -> Finding {
        against_cpu(&[Output::cpu("x", data, expected, rule)]).remove(0)
    }

    #[test]
    fn rules_can_fail() {
        let one_ulp = f32::from_bits(1f32.to_bits() + 1);
        for (data, rule, passes) in [
            (1.0, Rule::Bits, true),
            (one_ulp, Rule::Bits, false),
            (one_ulp, Rule::Ulp(1.0), true),
            (1.000_001, Rule::Ulp(1.0), false),
            (1.01, Rule::Abs(0.1), true),
            (1.2, Rule::Abs(0.1), false),
            (f32::NAN, Rule::Abs(9.0), false),
            (f32::INFINITY, Rule::Ulp(1e9), false),
            (-1.0, Rule::Each("none".into(), vec![1.5]), false),
            (2.0, Rule::Mostly { abs: 0.1, permille: 999.0 }, false),
        ] {
            let finding = judge(&[data], &[1.0], rule.clone());
            assert_eq!(finding.passed, passes, "{data} under {rule:?}");
        }
        assert!(judge(&[f32::NAN], &[-f32::NAN], Rule::Bits).passed);
        assert!(!judge(&[0.0], &[-0.0], Rule::Bits).passed);
        assert!(judge(&[0.0], &[-0.0], Rule::Ulp(0.0)).passed);
    }

    #[test]
    fn nothing_compared_fails() {
        assert!(!judge(&[], &[], Rule::Bits).passed);
        let output = || Output::cpu("x", &[1u32], &[1], Rule::Bits);
        assert!(!against_cpu(&[output().defined(vec![false])])[0].passed);
        let record =
            |outputs| Record { device: "gpu".into(), subgroup_size: 32, outputs: Ok(outputs) };
        assert!(against(&record(vec![]), &record(vec![])).is_err());
        assert!(against(&record(vec![output()]), &record(vec![])).is_err());
        let peer = || Output::peer("x", &[1u32], Rule::Bits);
        assert!(against(&record(vec![]), &record(vec![peer()])).is_err());
        assert!(against(&record(vec![peer()]), &record(vec![peer()])).is_ok());
    }

    #[test]
    fn a_difference_is_told_with_its_inputs() {
        let output = Output::cpu("x", &[1u32, 2, 3, 9], &[1, 2, 3, 4], Rule::Bits)
            .column("a", &[10u32, 20, 30, 40])
            .column("pair", &[7i32, -8]);
        let finding = against_cpu(&[output]).remove(0);
        assert_eq!(finding.failures, 1);
        assert_eq!(
            finding.first.as_deref(),
            Some("[3] a = 40 (0x28), pair = -8 (0xfffffff8): 9 (0x9), expected 4 (0x4)")
        );
    }

    #[test]
    fn alternatives_and_undefined_elements() {
        let output = Output::cpu("x", &[1u32, 5, 77], &[1, 2, 3], Rule::Bits)
            .or(&[9, 5, 3])
            .defined(vec![true, true, false]);
        let finding = against_cpu(&[output]).remove(0);
        assert!(finding.passed);
        assert_eq!(finding.elements, 2);
    }
}
