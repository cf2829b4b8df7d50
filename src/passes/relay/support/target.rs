//! The target of compilation, as rules of operators ask for it (TVM's `Target.current()`).
//!
//! Source: `src/target/target_kind.cc`, `src/target/parsers/aprofile.cc`, `python/tvm/target/x86.py`.

use crate::pass::spec::Literal;
use crate::tir::TARGET_KINDS;

/// Documentation of the parameter `target` of passes.
pub const TARGET_DOC: &str = "What is compiled for, as TVM writes it: `\"llvm -mcpu=skylake-avx512\"`. \
TVM takes the target around the call; none here is none there.";

/// The functions of an operator that TVM asks (`generic_func`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// `cpu`: x86.
    Cpu,
    /// `arm_cpu`.
    Arm,
    /// The functions of graphics processors and Hexagon.
    Other,
}

/// A target.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its kind, `llvm`.
    pub kind: String,
    /// The processor whose functions are asked.
    pub rules: Rules,
    features: Vec<String>,
}

/// The features that a feature of x86 implies.
const IMPLIED: &[(&str, &[&str])] = &[
    ("sse4.2", &["sse4.1"]),
    ("avx", &["sse4.2"]),
    ("avx2", &["avx"]),
    ("avx512f", &["avx2"]),
    ("avx512bw", &["avx512f"]),
    ("avx512vnni", &["avx512f"]),
    ("amx-int8", &[]),
];

/// Processors of x86 with the features that rules ask for.
const PROCESSORS: &[(&[&str], &[&str])] = &[
    (&["generic", "x86-64", "core2", "nocona", "k8", "athlon64", "i686", "pentium4"], &[]),
    (&["penryn"], &["sse4.1"]),
    (&["nehalem", "corei7", "westmere", "silvermont", "slm", "goldmont", "tremont", "x86-64-v2"], &["sse4.2"]),
    (&["sandybridge", "ivybridge", "corei7-avx", "core-avx-i", "btver2", "bdver1", "bdver2"], &["avx"]),
    (
        &["haswell", "core-avx2", "broadwell", "skylake", "alderlake", "raptorlake", "znver1", "znver2", "znver3", "x86-64-v3"],
        &["avx2"],
    ),
    (&["knl", "knm"], &["avx512f"]),
    (&["skylake-avx512", "skx", "cannonlake", "x86-64-v4"], &["avx512bw"]),
    (
        &["cascadelake", "cooperlake", "icelake-client", "icelake-server", "rocketlake", "tigerlake", "znver4", "znver5"],
        &["avx512bw", "avx512vnni"],
    ),
    (&["sapphirerapids", "emeraldrapids", "graniterapids"], &["avx512bw", "avx512vnni", "amx-int8"]),
];

impl Target {
    /// Reads a target; `None` if there is none. `Err` says what is wrong with it.
    pub fn read(literal: &Literal) -> Result<Option<Target>, String> {
        let options: Vec<(String, String)> = match literal {
            Literal::None => return Ok(None),
            Literal::Str(text) => {
                let mut words = text.split_whitespace();
                let Some(kind) = words.next() else { return Ok(None) };
                let option = |word: &str| {
                    let (key, value) = word.trim_start_matches('-').split_once('=').unwrap_or((word, "1"));
                    (key.to_owned(), value.trim_matches(['"', '\'']).to_owned())
                };
                std::iter::once(("kind".to_owned(), kind.to_owned())).chain(words.map(option)).collect()
            }
            Literal::Dict(entries) => entries.iter().map(|(key, value)| (plain(key), plain(value))).collect(),
            other => return Err(format!("Expect target to be a string or a dictionary, but got {other}")),
        };
        let option = |name: &str| options.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value.as_str());
        let kind = option("kind");
        if !TARGET_KINDS.iter().any(|(known, ..)| *known == kind) {
            let known: Vec<&str> = TARGET_KINDS.iter().map(|(known, ..)| *known).collect();
            return Err(format!("Target kind \"{kind}\" is not defined; known are {}", known.join(", ")));
        }
        let list = |text: &str| -> Vec<String> { text.split(',').map(str::to_owned).filter(|part| !part.is_empty()).collect() };
        let keys = list(option("keys"));
        let triple = option("mtriple");
        let is_arm = option("device") == "arm_cpu" || triple.starts_with("aarch64") || triple.starts_with("arm");
        let rules = match kind {
            "llvm" | "c" if is_arm || keys.iter().any(|key| key == "arm_cpu") => Rules::Arm,
            "llvm" | "c" => Rules::Cpu,
            _ => Rules::Other,
        };
        let mut target = Target { kind: kind.to_owned(), rules, features: Vec::new() };
        let processor = option("mcpu");
        if rules == Rules::Cpu && !processor.is_empty() {
            let Some((_, features)) = PROCESSORS.iter().find(|(names, _)| names.contains(&processor)) else {
                return Err(format!("the processor \"{processor}\" is not known; give its features by -mattr=+avx2 instead"));
            };
            features.iter().for_each(|feature| target.set(feature));
        }
        for change in list(option("mattr")) {
            match change.split_at_checked(1) {
                Some(("+", feature)) => target.set(feature),
                Some(("-", feature)) => target.unset(feature),
                _ => return Err(format!("the feature {change} needs a sign: +{change}")),
            }
        }
        if rules == Rules::Arm && triple.starts_with("aarch64") {
            target.set("neon");
        }
        Ok(Some(target))
    }

    fn set(&mut self, feature: &str) {
        if !self.has(feature) {
            self.features.push(feature.to_owned());
            let implied = IMPLIED.iter().find(|(name, _)| *name == feature).map_or(&[][..], |(_, implied)| implied);
            implied.iter().for_each(|feature| self.set(feature));
        }
    }

    /// Takes a feature away, and those that bring it.
    fn unset(&mut self, feature: &str) {
        self.features.retain(|known| known != feature);
        for (name, implied) in IMPLIED {
            if implied.contains(&feature) && self.has(name) {
                self.unset(name);
            }
        }
    }

    /// True if the processor has a feature, `avx2`.
    pub fn has(&self, feature: &str) -> bool {
        self.features.iter().any(|known| known == feature)
    }

    /// Returns the number of 32 bit values in a vector register of x86.
    pub fn lanes(&self) -> i64 {
        match () {
            () if self.has("avx512bw") && self.has("avx512f") => 16,
            () if self.has("avx2") => 8,
            () => 4,
        }
    }
}

fn plain(literal: &Literal) -> String {
    match literal {
        Literal::Str(text) => text.clone(),
        Literal::List(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Target {
        Target::read(&Literal::Str(text.to_owned())).expect("it is read").expect("it is there")
    }

    #[test]
    fn a_feature_brings_those_below_it_and_goes_with_them() {
        assert_eq!(target("llvm").lanes(), 4);
        assert_eq!(target("llvm -mcpu=core-avx2").lanes(), 8);
        assert_eq!(target("llvm -mcpu=cascadelake").lanes(), 16);
        assert_eq!(target("llvm -mcpu=cascadelake -mattr=-avx512f").lanes(), 8);
        assert!(!target("llvm -mcpu=cascadelake -mattr=-sse4.2").has("avx2"));
    }

    #[test]
    fn an_unknown_kind_or_processor_is_named() {
        let read = |text: &str| Target::read(&Literal::Str(text.to_owned())).expect_err("it is wrong");
        assert!(read("llvn").contains("\"llvn\" is not defined"));
        assert!(read("llvm -mcpu=abacus").contains("\"abacus\" is not known"));
    }
}
