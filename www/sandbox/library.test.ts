import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { inflateRawSync } from "node:zlib";
import { expect, it } from "vitest";
import { smallLibrary } from "./library";

/** Returns the files of an archive, read from their local headers. */
function filesOf(zip: Buffer): Map<string, string> {
  const files = new Map<string, string>();
  for (let at = 0; zip.readUInt32LE(at) === 0x04034b50; ) {
    const name = at + 30 + zip.readUInt16LE(at + 26);
    const data = name + zip.readUInt16LE(at + 28);
    const end = data + zip.readUInt32LE(at + 18);
    const bytes = zip.subarray(data, end);
    const text = zip.readUInt16LE(at + 8) === 8 ? inflateRawSync(bytes) : bytes;
    files.set(zip.toString("utf8", at + 30, name), text.toString());
    at = end;
  }
  return files;
}

it("Python's library is smaller without servers, and what it keeps is whole", () => {
  const path = resolve(import.meta.dirname, "../../node_modules/pyodide/python_stdlib.zip");
  const whole = readFileSync(path);
  const small = smallLibrary(whole);
  expect(small.length).toBeLessThan(whole.length - 100_000);
  const files = filesOf(small);
  expect(files.get("json/decoder.py")).toContain("class JSONDecoder");
  // `import pdb` and `import doctest` read it.
  expect(files.get("_pyrepl/utils.py")).toContain("def ");
  expect([...files.keys()].filter((name) => /^(imaplib|xmlrpc)|windows/.test(name))).toEqual([]);
});

it("an archive that is damaged is said to be", () => {
  expect(() => smallLibrary(Buffer.alloc(100))).toThrow("is no archive");
});
