/**
 * Inflates bytes.
 *
 * @param most The bytes of the result, at most.
 * @throws Error if they are more, or if the bytes are not deflated.
 */
export async function inflate(bytes: Uint8Array, most: number): Promise<Uint8Array> {
  const stream = new Blob([bytes as Uint8Array<ArrayBuffer>])
    .stream()
    .pipeThrough(new DecompressionStream('deflate-raw'));
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (const reader = stream.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
    size += value.length;
    if (size > most) throw new RangeError(`The bytes inflate to more than ${most}.`);
    parts.push(value);
  }
}
