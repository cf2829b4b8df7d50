import { basename } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest, which begin first: the last to end would run alone. */
const LONG = [
  "hostile",
  "python",
  "lessons",
  "access",
  "tutorials",
  "passes",
  "sandbox",
  "trust",
  "own-work",
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = (file: TestSpecification) => {
      const at = LONG.indexOf(basename(file.moduleId, ".e2e.ts"));
      return at < 0 ? LONG.length : at;
    };
    return [...files].sort((a, b) => rank(a) - rank(b));
  }
}

/** The built page in a real browser. Four files at a time keep two processors busy: some wait for a limit of time to pass. */
export default defineConfig({
  test: {
    include: ["tests/e2e/**/*.e2e.ts"],
    environment: "node",
    maxWorkers: 4,
    // The driver of the browser is loaded once by each of them.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A browser on a busy machine may lose a race of time; a real failure occurs each time.
    retry: 2,
  },
});
