// An instrument that keeps passes from running. All instruments are asked; passes that a context requires are not.
passInstrument({
  name: "SkipFusion",
  doc: "Does not let FuseOps run.",
  shouldRun(mod, info) {
    return info.name !== "FuseOps";
  },
});

// Prints the calls of an instrument's hooks, in order.
passInstrument({
  name: "Sequence",
  doc: "Prints which of its hooks are called.",
  enterPassCtx() {
    console.log("enter_pass_ctx");
  },
  shouldRun(mod, info) {
    console.log(`should_run ${info.name}`);
    return true;
  },
  runBeforePass(mod, info) {
    console.log(`run_before_pass ${info.name}`);
  },
  runAfterPass(mod, info) {
    console.log(`run_after_pass ${info.name}`);
  },
  exitPassCtx() {
    console.log("exit_pass_ctx");
  },
});
