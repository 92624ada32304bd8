/**
 * Encodes fields of protocol buffer messages (proto3 wire format). A message is the concatenation
 * of its fields.
 */

export function int(field: number, value: number): Buffer {
  return Buffer.concat([varint(field << 3), varint(value)]);
}

/** A field that holds a string, bytes, or the fields of a nested message. */
export function bytes(field: number, value: string | Uint8Array | readonly Uint8Array[]): Buffer {
  const data =
    typeof value === 'string'
      ? Buffer.from(value)
      : value instanceof Uint8Array
        ? value
        : Buffer.concat(value);
  return Buffer.concat([varint((field << 3) | 2), varint(data.length), data]);
}

/** `google.protobuf.Timestamp`. */
export function timestamp(field: number, timeMs: number): Buffer {
  return bytes(field, [int(1, Math.floor(timeMs / 1000)), int(2, Math.round((timeMs % 1000) * 1e6))]);
}

function varint(value: number): Buffer {
  let rest = BigInt.asUintN(64, BigInt(value));
  const encoded: number[] = [];
  for (; rest > 127n; rest >>= 7n) encoded.push(Number(rest & 127n) | 128);
  encoded.push(Number(rest));
  return Buffer.from(encoded);
}
