// A module pass that adds a function. It is called on the page's program, and, further down, directly on an empty module.
const addAbs = modulePass(
  { name: "AddAbs", optLevel: 2, doc: "Adds @abs." },
  function transform(mod, ctx) {
    const tp = new TensorType([10], "float32");
    const x = relay.var("x", tp);
    const gv = new GlobalVar("abs");
    const func = new Function([x], relay.abs(x));
    const newMod = new IRModule([[gv, func]]);
    newMod.update(mod);
    return newMod;
  },
);

console.log(addAbs.info.name, "has opt level", addAbs.info.optLevel);
console.log(addAbs(new IRModule()));
