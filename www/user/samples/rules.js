// Rewrite rules as text. %x stands for any expression, the same one wherever it is repeated; constants are compared by value,
// attributes where they are not the default. Rules are applied until none fits any more.
rulePass({ name: "Algebra", optLevel: 1, doc: "Simplifies arithmetic." }, [
  rule("add(%x, 0f) => %x"),
  rule("multiply(%x, 1f) => %x"),
  rule("add(%x, %x) => multiply(%x, 2f)"),
  rule("negative(negative(%x)) => %x"),
  rule("(%x, %y).0 => %x"),
  // The other side may be a function of the match; null when the rule does not apply after all.
  rule("nn.relu(%x)", ({ x }) => (x instanceof Call && x.op === op("nn.relu").op ? x : null)),
]);
