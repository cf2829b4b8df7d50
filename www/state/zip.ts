/** Writes zip archives without compression: downloads are texts, and rare. */

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value >>> 0;
});

/** Returns the checksum that zip wants (CRC-32 of ISO 3309). */
export function crc32(bytes: Uint8Array): number {
  let value = 0xffffffff;
  for (const byte of bytes) value = (table[(value ^ byte) & 0xff] ?? 0) ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}

/** 1 January 1980, the first day that zip knows: the same files make the same archive. */
const DATE = 0x21;
/** Names are UTF-8. */
const UTF8 = 0x0800;

/** Returns a safe name that stays below the target folder: a script may have made up the original. */
export function tameName(name: string): string {
  const parts = name
    .replace(/[\p{C}:*?"<>|]/gu, "_")
    .split(/[\\/]+/)
    .filter((part) => !/^[. ]*$/.test(part));
  return parts.join("/") || "file";
}

/** Makes the archive of these files, in this order. Names may have folders in them. */
export function zip(files: readonly { name: string; text: string }[]): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let at = 0;
  const put = (list: Uint8Array[], ...fields: (readonly [bytes: 2 | 4, value: number])[]) => {
    const size = fields.reduce((sum, [bytes]) => sum + bytes, 0);
    const view = new DataView(new ArrayBuffer(size));
    let offset = 0;
    for (const [bytes, value] of fields) {
      if (bytes === 2) view.setUint16(offset, value, true);
      else view.setUint32(offset, value, true);
      offset += bytes;
    }
    list.push(new Uint8Array(view.buffer));
    return size;
  };
  for (const file of files) {
    const name = encoder.encode(tameName(file.name));
    const data = encoder.encode(file.text);
    const common = [
      [2, 20],
      [2, UTF8],
      [2, 0],
      [2, 0],
      [2, DATE],
      [4, crc32(data)],
      [4, data.length],
      [4, data.length],
      [2, name.length],
      [2, 0],
    ] as const;
    put(directory, [4, 0x02014b50], [2, 20], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, at]);
    directory.push(name);
    at += put(parts, [4, 0x04034b50], ...common) + name.length + data.length;
    parts.push(name, data);
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  put(
    directory,
    [4, 0x06054b50],
    [2, 0],
    [2, 0],
    [2, files.length],
    [2, files.length],
    [4, size],
    [4, at],
    [2, 0],
  );
  const all = [...parts, ...directory];
  const result = new Uint8Array(all.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of all) {
    result.set(part, offset);
    offset += part.length;
  }
  return result;
}
