import { defineConfig } from "vitest/config";

/** `npm run exports`: see `table.exports.ts`. The page's own configuration is not needed, but for texts that it imports. */
export default defineConfig({
  test: {
    include: ["tests/exports/*.exports.ts"],
    environment: "node",
    testTimeout: 3_600_000,
  },
});
