// Vite's dev server, ended by the end of its input: `cargo xtask serve` holds the other end of that
// pipe, so the server goes with it, however it went.

process.stdin.on("end", () => process.exit()).resume();
await import("../node_modules/vite/bin/vite.js");
