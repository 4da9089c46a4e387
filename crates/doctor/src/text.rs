//! The report as text.

use std::fmt;

use crate::{Device, Report, Severity};

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "GPUs of this machine")?;
        if self.devices.is_empty() {
            writeln!(f, "  none")?;
        }
        self.devices.iter().try_for_each(|device| write_device(f, device))?;
        writeln!(f, "Vulkan drivers")?;
        if self.manifests.is_empty() {
            writeln!(f, "  none")?;
        }
        for manifest in &self.manifests {
            let version = manifest.api_version.as_deref().unwrap_or("?");
            let state = manifest.problem.as_deref().unwrap_or("found");
            writeln!(f, "  {}: Vulkan {version}, {state}", manifest.path)?;
        }
        writeln!(f, "Virtual GPUs (tepui shim --gpu NAME -- PROGRAM)")?;
        for gpu in &self.virtual_gpus {
            writeln!(f, "  {:8} {}", gpu.id, gpu.name)?;
        }
        if self.advice.is_empty() {
            return writeln!(f, "Nothing to do.");
        }
        writeln!(f, "To do")?;
        for advice in &self.advice {
            let mark = match advice.severity {
                Severity::Problem => "!",
                Severity::Hint => "-",
            };
            writeln!(f, "  {mark} {}", advice.text)?;
        }
        Ok(())
    }
}

fn write_device(f: &mut fmt::Formatter<'_>, device: &Device) -> fmt::Result {
    let driver = device.driver.as_deref().unwrap_or("none");
    write!(f, "  {}: driver {driver}", device.title())?;
    match &device.family {
        Some(family) => writeln!(f, ", {family}")?,
        None => writeln!(f)?,
    }
    for node in &device.nodes {
        match (&node.mode, &node.group) {
            (Some(mode), Some(group)) => {
                let may = if node.usable { "usable" } else { "not usable" };
                writeln!(f, "    {}: {may}, mode {mode}, group {group}", node.path)?;
            }
            _ => writeln!(f, "    {}: missing", node.path)?,
        }
    }
    let Some(guc) = &device.guc else { return Ok(()) };
    write!(f, "    GuC firmware {}, at least {}: ", guc.required, guc.recommended)?;
    match (guc.loaded, guc.running) {
        (Some(version), Some(true)) => write!(f, "{version} runs")?,
        (Some(version), _) => write!(f, "{version} is loaded")?,
        (None, Some(false)) => write!(f, "does not run")?,
        (None, _) if guc.files.is_empty() => write!(f, "missing")?,
        (None, _) => write!(f, "installed")?,
    }
    writeln!(f)?;
    for file in &guc.files {
        match file.version {
            Some(version) => writeln!(f, "      {} ({version})", file.path)?,
            None => writeln!(f, "      {} (compressed, version not known)", file.path)?,
        }
    }
    Ok(())
}
