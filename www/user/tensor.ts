/** Elements of constants, by type. */
export const ARRAYS: Record<string, (buffer: ArrayBuffer) => ArrayLike<number | bigint>> = {
  float32: (buffer) => new Float32Array(buffer),
  float64: (buffer) => new Float64Array(buffer),
  float16: (buffer) => Float32Array.from(new Uint16Array(buffer), half),
  int8: (buffer) => new Int8Array(buffer),
  int16: (buffer) => new Int16Array(buffer),
  int32: (buffer) => new Int32Array(buffer),
  int64: (buffer) => new BigInt64Array(buffer),
  uint8: (buffer) => new Uint8Array(buffer),
  uint16: (buffer) => new Uint16Array(buffer),
  uint32: (buffer) => new Uint32Array(buffer),
  uint64: (buffer) => new BigUint64Array(buffer),
  bool: (buffer) => new Uint8Array(buffer),
};

function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * 2 ** -24 * fraction;
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * 2 ** (exponent - 15) * (1 + fraction / 1024);
}
