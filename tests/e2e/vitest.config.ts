import { defineConfig } from "vitest/config";

/** The built page in a real browser. One file after the other: the machine may have few processors. */
export default defineConfig({
  test: {
    include: ["tests/e2e/**/*.e2e.ts"],
    environment: "node",
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
