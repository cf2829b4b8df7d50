import { defineConfig } from "vitest/config";

/** The built page in a real browser. Two files at a time: much of it waits for a limit of time to pass. */
export default defineConfig({
  test: {
    include: ["tests/e2e/**/*.e2e.ts"],
    environment: "node",
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A browser on a busy machine may lose a race of time; a real failure occurs each time.
    retry: 2,
  },
});
