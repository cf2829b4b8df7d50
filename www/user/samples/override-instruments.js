// Instruments of the context that is current, here the one that is always there: when others take their place, the old
// ones are left and the new ones entered.
const PassCounter = passInstrument(
  class PassCounter {
    count = 0;
    constructor(label) {
      this.label = label;
    }
    enterPassCtx() {
      console.log(`${this.label} is entered`);
    }
    exitPassCtx() {
      console.log(`${this.label} is left`);
    }
    runBeforePass(mod, info) {
      this.count++;
    }
    getResult() {
      return `${this.label} has seen ${this.count} passes`;
    }
  },
);

const x = relay.var("x", { shape: [2] });
let mod = IRModule.fromExpr(new Function([x], relay.nn.relu(x)));
const passSeq = sequential([transform.InferType(), transform.FoldConstant()]);

const first = PassCounter("the first");
const second = PassCounter("the second");
const curPassCtx = PassContext.current();
curPassCtx.overrideInstruments([first]);
mod = passSeq(mod);
console.log(first.getResult());

curPassCtx.overrideInstruments([second]);
mod = transform.InferType()(mod);
console.log(first.getResult());
console.log(second.getResult());
curPassCtx.overrideInstruments([]);
