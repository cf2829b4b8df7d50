import { deflateRawSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { Unreadable } from "./importing";
import { isZip, unzip } from "./unzip";
import { zip } from "./zip";

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const files = [
  { name: "dump/000_InferType.relay", text: "hé" },
  { name: "dump/001_FuseOps.relay", text: "1".repeat(5000) },
];

/** The archive with its files deflated, as other programs write it. */
function deflated(): Uint8Array<ArrayBuffer> {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const file of files) {
    const [name, data] = [Buffer.from(file.name), deflateRawSync(Buffer.from(file.text))];
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(8, 8);
    local.writeUInt16LE(name.length, 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(8, 10);
    entry.writeUInt32LE(data.length, 20);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt32LE(at, 42);
    parts.push(local, name, data);
    directory.push(entry, name);
    at += 30 + name.length + data.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(at, 16);
  return Uint8Array.from(Buffer.concat([...parts, ...directory, end, Buffer.from("a comment")]));
}

describe("unzip", () => {
  it("gives back what is stored and what is deflated", async () => {
    expect(await unzip(zip(files), 10_000)).toEqual(files);
    expect(await unzip(deflated(), 10_000)).toEqual(files);
  });

  it("knows an archive by its name or its first bytes", () => {
    expect(isZip("a.ZIP", new Uint8Array())).toBe(true);
    expect(isZip("a.bin", zip(files))).toBe(true);
    expect(isZip("a.relay", new TextEncoder().encode("PKG"))).toBe(false);
  });

  it("refuses more than is allowed, however small the archive", async () => {
    await expect(unzip(deflated(), 4000)).rejects.toThrow("more than 16 MB");
  });

  it("refuses what is damaged at any place, and never fails otherwise", async () => {
    const whole = deflated();
    for (let at = 0; at < whole.length; at++) {
      const bytes = whole.slice();
      bytes[at] = (bytes[at] ?? 0) ^ 0xff;
      await unzip(bytes, 10_000).catch((error: unknown) =>
        expect(error).toBeInstanceOf(Unreadable),
      );
    }
    for (const bytes of [new Uint8Array(), whole.slice(0, 60), new TextEncoder().encode("PK")]) {
      await expect(unzip(bytes, 10_000)).rejects.toThrow("it is damaged");
    }
    expect(text(whole.slice(0, 2))).toBe("PK");
  });

  it("names what is encrypted or compressed otherwise", async () => {
    const change = (offset: number, value: number) => {
      const bytes = zip(files);
      const view = new DataView(bytes.buffer);
      view.setUint16(view.getUint32(bytes.length - 6, true) + offset, value, true);
      return unzip(bytes, 10_000);
    };
    await expect(change(8, 1)).rejects.toThrow("`dump/000_InferType.relay` in it is encrypted");
    await expect(change(10, 12)).rejects.toThrow("in a way that is not read here");
  });
});
