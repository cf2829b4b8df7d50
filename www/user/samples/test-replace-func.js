// A function pass made of a class: its constructor's arguments make the pass, as TVM's decorator does it.
const TestReplaceFunc = functionPass(
  { name: "TestReplaceFunc", optLevel: 1 },
  class {
    constructor(newFunc) {
      this.newFunc = newFunc;
    }

    // Just for demo purposes: transforms every function to the new one.
    transformFunction(func, mod, ctx) {
      return this.newFunc;
    }
  },
);

const x = relay.var("x", { shape: [10, 20] });
const f1 = new Function([x], x);
const f2 = new Function([x], relay.log(x));

// fpass is a special pass that replaces every function by f1.
const fpass = TestReplaceFunc(f1);
const inputMod = IRModule.fromExpr(f2);
console.log("before:\n" + inputMod);
console.log("after:\n" + fpass(inputMod));
