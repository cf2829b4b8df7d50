// An instrument that measures passes. It stands among the page's instruments: switch it on to time the page's passes.
const PassTimer = passInstrument(
  class PassTimer {
    open = [];
    lines = [];

    enterPassCtx() {
      this.lines = [];
    }
    runBeforePass(mod, info) {
      this.open.push(performance.now());
    }
    runAfterPass(mod, info) {
      const millis = performance.now() - this.open.pop();
      this.lines.push(`${"  ".repeat(this.open.length)}${info.name}: ${millis.toFixed(1)} ms`);
    }
    exitPassCtx() {
      for (const line of this.lines) console.log(line);
    }
  },
);

// The one that TVM has, used here on passes that the script runs itself.
const timing = PassTimingInstrument();
new PassContext({ optLevel: 3, instruments: [timing] }).run(() => {
  const x = relay.var("x", { shape: [2] });
  const mod = IRModule.fromExpr(
    new Function([x], relay.add(x, relay.multiply(constant(2), constant(3)))),
  );
  transform.Sequential([transform.InferType(), transform.FoldConstant(), transform.FuseOps()])(mod);
  // To be asked for before the context is left, which clears it.
  console.log(
    timing
      .render()
      .replace(/\d+us/g, "?us")
      .replace(/\(.*\)/g, ""),
  );
});
