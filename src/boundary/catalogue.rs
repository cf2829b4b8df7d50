//! Everything there is to choose from: passes, operators, configuration, instruments.

use super::messages::Language;
use super::{Word, message};
use crate::pass::PassKind;
use crate::pass::config::TypeWord;

message! { answer
    /// A parameter of a pass or an instrument.
    PassParam {
        name: &'static str,
        /// Python literal.
        default: &'static str,
        doc: &'static str,
    }
}

message! { outside
    /// The long texts about a pass. The page loads them from a file of their own, `www/pkg/docs.json`.
    Explanation {
        doc: String,
        example_before: String,
        example_after: String,
    }
}

message! { answer
    /// A pass.
    PassDoc {
        name: &'static str,
        info_name: &'static str,
        dialects: Vec<Word<Language>>,
        kind: Word<PassKind>,
        opt_level: i64,
        required: &'static [&'static str],
        config_keys: &'static [&'static str],
        params: Vec<PassParam>,
        summary: &'static str,
        /// The text of a new row: the name, or the call of the example if the pass requires arguments.
        call: &'static str,
        /// False: TVM has it, passlab not yet.
        available: bool,
    }
}

message! { answer
    /// A list of passes with a name.
    PipelineDoc {
        name: &'static str,
        title: &'static str,
        /// The programs it is for.
        dialect: Word<Language>,
        opt_level: i64,
        passes: Vec<&'static str>,
        /// Calls of `passes` that passlab does not have yet.
        missing: Vec<&'static str>,
    }
}

message! { answer
    /// An attribute of an operator.
    AttrDoc {
        name: &'static str,
        r#type: String,
        default: Option<String>,
    }
}

message! { answer
    /// An operator.
    OpDoc {
        name: String,
        dialects: Vec<Word<Language>>,
        args: Vec<&'static str>,
        attrs: Vec<AttrDoc>,
        pattern: Option<String>,
        has_kernel: bool,
        doc: &'static str,
    }
}

message! { answer
    /// A key of the configuration.
    ConfigKey {
        key: &'static str,
        r#type: Word<TypeWord>,
        /// Python literal.
        default: String,
        doc: &'static str,
    }
}

message! { answer
    /// An instrument.
    InstrumentDoc {
        name: &'static str,
        params: Vec<PassParam>,
        doc: &'static str,
    }
}

message! { answer
    /// Everything there is to choose from.
    Catalogue {
        version: &'static str,
        passes: Vec<PassDoc>,
        pipelines: Vec<PipelineDoc>,
        ops: Vec<OpDoc>,
        config: Vec<ConfigKey>,
        instruments: Vec<InstrumentDoc>,
    }
}
