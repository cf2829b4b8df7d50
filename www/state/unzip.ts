/** Reads zip archives (APPNOTE 6.3, 4.3 to 4.5): stored or deflated files, as `DumpIR` folders are sent around. */

import { Unreadable } from "./importing";

const END = 0x06054b50;
const ENTRY = 0x02014b50;
/** The end record without its comment, which has at most 65,535 bytes. */
const END_SIZE = 22;
const ENCRYPTED = 1;

export const isZip = (name: string, start: Uint8Array): boolean =>
  /\.zip$/i.test(name) || (start[0] === 0x50 && start[1] === 0x4b && start[2] === 3);

/** The files of an archive, folders left out. All of them together have at most `most` bytes. */
export async function unzip(
  bytes: Uint8Array<ArrayBuffer>,
  most: number,
): Promise<{ name: string; text: string }[]> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const files: { name: string; text: string }[] = [];
  try {
    let end = bytes.length - END_SIZE;
    while (view.getUint32(end, true) !== END) end--;
    let at = view.getUint32(end + 16, true);
    let left = most;
    for (let count = view.getUint16(end + 10, true); count > 0; count--) {
      if (view.getUint32(at, true) !== ENTRY) throw new Unreadable("it is damaged");
      const field = (offset: number) => view.getUint16(at + offset, true);
      const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + field(28)));
      if (field(8) & ENCRYPTED) throw new Unreadable(`\`${name}\` in it is encrypted`);
      const [size, local] = [view.getUint32(at + 20, true), view.getUint32(at + 42, true)];
      const start =
        local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
      if (!name.endsWith("/")) {
        const data = bytes.subarray(start, start + size);
        const whole = await inflated(data, field(10), left, name);
        left -= whole.length;
        files.push({ name, text: new TextDecoder().decode(whole) });
      }
      at += 46 + field(28) + field(30) + field(32);
    }
  } catch (error) {
    throw error instanceof Unreadable ? error : new Unreadable("it is damaged");
  }
  return files;
}

/** Inflates a file, but reads no further than is allowed: a small archive can hold a large file. */
async function inflated(
  data: Uint8Array<ArrayBuffer>,
  method: number,
  most: number,
  name: string,
): Promise<Uint8Array> {
  if (method !== 0 && method !== 8) {
    throw new Unreadable(`\`${name}\` in it is compressed in a way that is not read here`);
  }
  const stream = new Blob([data]).stream();
  const reader = (
    method === 0 ? stream : stream.pipeThrough(new DecompressionStream("deflate-raw"))
  ).getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    size += part.value.length;
    if (size > most) {
      void reader.cancel();
      throw new Unreadable("it holds more than 16 MB of text");
    }
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}
