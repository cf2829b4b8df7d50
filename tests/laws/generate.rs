//! Programs made up from a seed: well typed by construction, with sharing, lets, tuples, `if` and constants.

use std::fmt::Write;

/// A small pseudo-random generator (xorshift64*), so that a seed means the same program everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn pick<'a>(&mut self, items: &'a [String]) -> &'a str {
        // Later items more often, so that programs grow deep as well as wide.
        let i = self.below(items.len()).max(self.below(items.len()));
        &items[i]
    }
}

const UNARY: &[&str] = &["nn.relu", "negative", "sigmoid", "tanh", "abs", "exp"];
const BINARY: &[&str] = &["add", "subtract", "multiply", "maximum", "minimum"];

/// A module whose `@main` takes tensors of shape (1, 4, 6, 6) and a bias of 4.
pub fn program(seed: u64) -> String {
    let r = &mut Random::new(seed);
    let tensor = "Tensor[(1, 4, 6, 6), float32]";
    let mut text = String::from("#[version = \"0.0.5\"]\n");
    let _ = writeln!(text, "def @helper(%a: {tensor}) -> {tensor} {{\n  nn.relu(%a)\n}}");
    let _ = writeln!(text, "def @main(%x: {tensor}, %y: {tensor}, %b: Tensor[(4), float32], %v: Tensor[(4), float32]) {{");
    let mut values: Vec<String> = vec!["%x".into(), "%y".into()];
    let mut number = 0;
    let steps = 4 + r.below(12);
    for i in 0..steps {
        let a = r.pick(&values).to_owned();
        let b = r.pick(&values).to_owned();
        let value = match r.below(12) {
            0..=2 => format!("{}({a})", UNARY[r.below(UNARY.len())]),
            3..=5 => format!("{}({a}, {b})", BINARY[r.below(BINARY.len())]),
            6 => format!("{}({a}, {}f)", BINARY[r.below(BINARY.len())], r.below(9)),
            7 => format!("nn.bias_add({a}, %b)"),
            8 => "add(multiply(2f, 3f), broadcast_to(1f, shape=[1, 4, 6, 6]))".to_owned(),
            9 => {
                let _ = writeln!(text, "  %{number} = nn.batch_norm({a}, %b, %b, %b, exp(%v));");
                number += 1;
                format!("%{}.0", number - 1)
            }
            10 => format!("(if (True) {{ {a} }} else {{ {b} }})"),
            _ => {
                let _ = writeln!(text, "  %{number} = ({a}, {b}, 1f);");
                number += 1;
                format!("%{}.{}", number - 1, r.below(2))
            }
        };
        if r.below(4) == 0 {
            let _ = writeln!(text, "  let %t{i} = {value};");
            values.push(format!("%t{i}"));
        } else {
            let _ = writeln!(text, "  %{number} = {value};");
            values.push(format!("%{number}"));
            number += 1;
        }
    }
    let last = values.last().cloned().unwrap_or_default();
    let second = r.pick(&values).to_owned();
    let _ = writeln!(text, "  ({last}, @helper({second}))\n}}");
    text
}
