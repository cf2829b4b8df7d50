//! The right side of a rule: `lhs => rhs`.

use super::{OPERATORS, Reader};
use crate::ir::OpId;
use crate::ops;

/// An expression over the named parts of a match.
pub enum Right<'t> {
    /// The expression that a named part matched.
    Part(&'t str),
    /// A scalar of the element type that the root has.
    Number(f64),
    /// A call of an operator with its default attributes.
    Call(OpId, Vec<Right<'t>>),
    /// A call of the operator that a named part matched, with the attributes of the root.
    Again(&'t str, Vec<Right<'t>>),
    /// A constant, where it can be evaluated: `fold(a * b)`.
    Fold(Box<Right<'t>>),
}

impl<'t> Reader<'t, '_> {
    /// Reads the right side, if one follows.
    pub(super) fn right(&mut self) -> Result<Option<Right<'t>>, String> {
        match self.peek().strip_prefix("=>") {
            None => Ok(None),
            Some(rest) => {
                self.rest = rest;
                self.right_binary(0).map(Some)
            }
        }
    }

    fn right_binary(&mut self, level: usize) -> Result<Right<'t>, String> {
        let Some(operators) = OPERATORS.get(level) else { return self.right_atom() };
        let mut left = self.right_binary(level + 1)?;
        while let Some((_, name)) = operators.iter().find(|(token, _)| self.take(*token)) {
            left = Right::Call(ops::op(name), vec![left, self.right_binary(level + 1)?]);
        }
        Ok(left)
    }

    fn right_atom(&mut self) -> Result<Right<'t>, String> {
        if let Some(op) = self.op_in_short()? {
            return Ok(Right::Call(op, self.right_args()?));
        }
        let word = self.word();
        if let Ok(number) = word.parse() {
            return Ok(Right::Number(number));
        }
        match (word, self.take('(')) {
            ("fold", true) => {
                let inner = self.right_binary(0)?;
                self.want(')')?;
                Ok(Right::Fold(Box::new(inner)))
            }
            _ if !self.names.iter().any(|(name, _)| *name == word) => Err(format!("`{word}` is not on the left side")),
            (name, true) => Ok(Right::Again(name, self.right_args()?)),
            (name, false) => Ok(Right::Part(name)),
        }
    }

    fn right_args(&mut self) -> Result<Vec<Right<'t>>, String> {
        let mut args = vec![self.right_binary(0)?];
        while self.take(',') {
            args.push(self.right_binary(0)?);
        }
        self.want(')')?;
        Ok(args)
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse_rule;

    fn refused(text: &str) -> String {
        parse_rule(text).err().unwrap_or_default()
    }

    #[test]
    fn a_right_side_that_cannot_be_made_is_refused() {
        assert_eq!(refused("x + y => x * z"), "`z` is not on the left side");
        assert_eq!(refused("x + y => rleu(x)"), "`rleu` is not on the left side");
        assert_eq!(refused("x + y => sqrt(x"), "`)` was expected at ``");
        assert_eq!(refused("x + y => x y"), "cannot read `y`");
        assert_eq!(refused("x + y => x * 2"), "");
    }
}
