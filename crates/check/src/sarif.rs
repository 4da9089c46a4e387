//! Findings as SARIF 2.1.0, the format that code scanning services read.
//!
//! source: OASIS' Static Analysis Results Interchange Format, version 2.1.0

use serde_json::{Value, json};

use crate::finding::Finding;
use crate::rule::RULES;

/// A log of one run.
#[must_use]
pub fn log(findings: &[Finding], version: &str) -> Value {
    let rules: Vec<Value> = RULES
        .iter()
        .map(|r| {
            json!({
                "id": r.id,
                "shortDescription": { "text": r.title },
                "fullDescription": { "text": r.meaning },
                "help": { "text": r.mend },
                "defaultConfiguration": { "level": r.level.name() },
            })
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "tepui check", "version": version, "rules": rules } },
            "results": findings.iter().map(result).collect::<Vec<_>>(),
        }],
    })
}

fn result(f: &Finding) -> Value {
    let place = json!({
        "name": format!("{:#06x}", f.offset),
        "fullyQualifiedName": format!("{}+{:#06x}", f.shader, f.offset),
        "kind": "function",
    });
    let mut location = json!({ "logicalLocations": [place] });
    if let Some(source) = &f.source {
        location["physicalLocation"] = json!({
            "artifactLocation": { "uri": source.file },
            "region": { "startLine": source.line, "snippet": { "text": source.text } },
        });
    }
    let mut result = json!({
        "ruleId": f.rule,
        "ruleIndex": RULES.iter().position(|r| r.id == f.rule),
        "level": f.level().name(),
        "message": { "text": format!("{}: {}", f.instruction, f.what) },
        "locations": [location],
        "occurrenceCount": f.count,
        "partialFingerprints": { "instruction/v1": format!("{}:{}:{:#x}", f.rule, f.shader, f.offset) },
        "properties": { "lanes": f.lanes, "workgroup": f.workgroup, "first": f.first, "firstMs": f.first_ms },
    });
    if let Some(reason) = &f.suppressed {
        result["suppressions"] = json!([{ "kind": "external", "justification": reason }]);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Source;

    #[test]
    fn results_name_rules_and_places() {
        let source = Source { file: "a.comp".to_owned(), line: 3, text: "x = y;".to_owned() };
        let finding = Finding {
            rule: "lane-race".to_owned(),
            offset: 28,
            count: 2,
            source: Some(source),
            suppressed: Some("known".to_owned()),
            ..Finding::default()
        };
        let log = log(&[finding], "1");
        let run = &log["runs"][0];
        let result = &run["results"][0];
        let index = result["ruleIndex"].as_u64().expect("a rule") as usize;
        assert_eq!(run["tool"]["driver"]["rules"][index]["id"], "lane-race");
        assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 3);
        assert_eq!(result["suppressions"][0]["justification"], "known");
    }
}
