/** A value of the metadata, and its type. Counts are u32, as llama.cpp wants them. */
export type WrittenValue =
  { readonly text: string } | { readonly count: number } | { readonly float: number };

/** A tensor to write. */
export interface WrittenTensor {
  readonly name: string;
  /** As tfjs has it. */
  readonly shape: readonly number[];
  /** The number of its type. */
  readonly type: number;
  readonly byteLength: number;
}

const VERSION = 3;
const ALIGNMENT = 32;
const [U32, F32, STRING] = [4, 6, 8];

/** The bytes that follow `length` bytes, so that what comes next is aligned. */
export const padding = (length: number): Uint8Array => new Uint8Array(-length & (ALIGNMENT - 1));

/** The beginning of a GGUF file of version 3, with its padding. Tensors follow in their order, each padded. */
export function encodeGgufHeader(
  metadata: readonly (readonly [key: string, value: WrittenValue])[],
  tensors: readonly WrittenTensor[],
): Uint8Array {
  const parts: Uint8Array[] = [
    new TextEncoder().encode('GGUF'),
    u32(VERSION),
    u64(tensors.length),
    u64(metadata.length),
  ];
  for (const [key, value] of metadata) parts.push(...text(key), ...encoded(value));
  let offset = 0;
  for (const { name, shape, type, byteLength } of tensors) {
    const dims = shape.toReversed().map(u64);
    parts.push(...text(name), u32(shape.length), ...dims, u32(type), u64(offset));
    offset += byteLength + padding(byteLength).length;
  }
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  parts.push(padding(length));
  return joined(parts);
}

function encoded(value: WrittenValue): Uint8Array[] {
  if ('text' in value) return [u32(STRING), ...text(value.text)];
  if ('count' in value) return [u32(U32), u32(value.count)];
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, value.float, true);
  return [u32(F32), new Uint8Array(view.buffer)];
}

function text(value: string): Uint8Array[] {
  const bytes = new TextEncoder().encode(value);
  return [u64(bytes.length), bytes];
}

function u32(value: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint32(0, value, true);
  return new Uint8Array(view.buffer);
}

function u64(value: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(value), true);
  return new Uint8Array(view.buffer);
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
