import { defineConfig } from "vitest/config";

/** `cargo xtask bench page`: the built page in a real browser, timed. */
export default defineConfig({
  test: {
    include: ["tests/e2e/**/*.bench.ts"],
    environment: "node",
    fileParallelism: false,
    hookTimeout: 60_000,
  },
});
