// @ts-check
/** Packages of Python for tests alone, unpacked under `target/`. They are pure Python, fetched by pip or by hand. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";

const PYTEST = [
  "pytest==9.0.2",
  "pluggy==1.6.0",
  "iniconfig==2.3.0",
  "packaging==25.0",
  "pygments==2.19.2",
];

/**
 * The folder with pytest; fetched with pip the first time.
 * @param {string} root
 */
export function pytestFolder(root) {
  const folder = join(root, "target/python/pytest");
  if (existsSync(join(folder, "pytest"))) return folder;
  mkdirSync(folder, { recursive: true });
  const python = process.env.PASSLAB_PIP_PYTHON ?? "python3";
  execFileSync(
    python,
    ["-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, ...PYTEST],
    {
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  return folder;
}
