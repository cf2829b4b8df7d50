// Runs Vite's dev server until the end of its input: `cargo xtask serve` holds the other end of that pipe, so the
// server ends with it in any case.

process.stdin.on("end", () => process.exit()).resume();
await import("../node_modules/vite/bin/vite.js");
