//! The registry of configuration keys (TVM's `TVM_REGISTER_PASS_CONFIG_OPTION`).

use super::spec::Literal;

/// What a key holds. The words are those of TVM's `list_configs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigType {
    /// An integer or truth value (TVM reports both as `IntImm`).
    Int,
    /// A truth value.
    Bool,
    /// A string.
    Str,
    /// A list.
    List,
}

/// A configuration key.
#[derive(Clone, Copy, Debug)]
pub struct ConfigKey {
    /// Name, e.g. `relay.FuseOps.max_depth`.
    pub key: &'static str,
    /// What it holds.
    pub ty: ConfigType,
    /// Default as a Python literal.
    pub default: &'static str,
}

const fn key(key: &'static str, ty: ConfigType, default: &'static str) -> ConfigKey {
    ConfigKey { key, ty, default }
}

/// The keys that Relay's passes read, and those TVM registers beside them.
pub static KEYS: &[ConfigKey] = &[
    key("relay.FuseOps.max_depth", ConfigType::Int, "256"),
    key("relay.FuseOps.link_params", ConfigType::Bool, "False"),
    key("relay.ToMixedPrecision.keep_orig_output_dtype", ConfigType::Bool, "False"),
    key("relay.backend.use_auto_scheduler", ConfigType::Bool, "False"),
    key("relay.backend.use_meta_schedule", ConfigType::Bool, "False"),
    key("relay.backend.use_meta_schedule_dispatch", ConfigType::Int, "0"),
    key("relay.backend.tir_converter", ConfigType::Str, "\"default\""),
    key("relay.collage.byoc_fusion_style", ConfigType::List, "[]"),
    key("relay.collage.byoc_max_depth", ConfigType::Int, "0"),
    key("relay.collage.tvm_max_depth", ConfigType::Int, "0"),
    key("relay.fallback_device_type", ConfigType::Int, "1"),
    key("relay.frontend.fill_span", ConfigType::Bool, "False"),
    key("relay.remove_standalone_reshapes.enable", ConfigType::Bool, "True"),
    key("ir.enable_si_builder", ConfigType::Bool, "False"),
    key("testing.immutable_module", ConfigType::Bool, "False"),
];

/// A configuration: keys and their values, in the order of the keys. It holds few, so a list does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config(Vec<(String, Literal)>);

impl Config {
    /// Sets a key, whatever it was before.
    pub fn insert(&mut self, key: String, value: Literal) {
        match self.0.binary_search_by(|(k, _)| k.as_str().cmp(&key)) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (key, value)),
        }
    }

    /// The value of a key that is set.
    pub fn get(&self, key: &str) -> Option<&Literal> {
        self.iter().find(|(k, _)| k == key).map(|(_, value)| value)
    }

    /// Keys and values in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = &(String, Literal)> {
        self.0.iter()
    }
}

impl FromIterator<(String, Literal)> for Config {
    fn from_iter<I: IntoIterator<Item = (String, Literal)>>(entries: I) -> Config {
        let mut config = Config::default();
        for (key, value) in entries {
            config.insert(key, value);
        }
        config
    }
}

/// Checks a configuration as TVM's `PassContext` does when it is built. The error is TVM's words.
pub fn validate(config: &Config) -> Result<(), String> {
    for (name, value) in config.iter() {
        let Some(key) = KEYS.iter().find(|k| k.key == name.as_str()) else {
            let candidates: Vec<&str> = KEYS.iter().map(|k| k.key).collect();
            return Err(format!("Invalid config option '{name}' candidates are: {}", candidates.join(", ")));
        };
        let fits = match (key.ty, value) {
            (_, Literal::None) => return Err(format!("{name} is None")),
            (ConfigType::Int | ConfigType::Bool, Literal::Int(_) | Literal::Bool(_)) => true,
            (ConfigType::Str, Literal::Str(_)) | (ConfigType::List, Literal::List(_)) => true,
            _ => false,
        };
        if !fits {
            let ty = match key.ty {
                ConfigType::Int | ConfigType::Bool => "IntImm",
                ConfigType::Str => "runtime.String",
                ConfigType::List => "Array",
            };
            return Err(format!("expect config {name} to have type {ty}, but received error when converting to this type."));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_configurations_are_refused_in_tvms_words() {
        let config = |k: &str, v| Config::from_iter([(k.to_owned(), v)]);
        assert!(validate(&config("relay.FuseOps.max_depth", Literal::Int(10))).is_ok());
        let unknown = validate(&config("relay.FuseOps.depth", Literal::Int(10))).unwrap_err();
        assert!(unknown.starts_with("Invalid config option 'relay.FuseOps.depth' candidates are: relay.FuseOps.max_depth, "));
        let null = validate(&config("relay.FuseOps.max_depth", Literal::None)).unwrap_err();
        assert_eq!(null, "relay.FuseOps.max_depth is None");
        let wrong = validate(&config("relay.FuseOps.max_depth", Literal::Str("a".into()))).unwrap_err();
        assert!(wrong.starts_with("expect config relay.FuseOps.max_depth to have type IntImm"));
    }
}
