/** The content as an iterable of arrays. */
export async function* itemsOf(
  content: Uint8Array | AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (content instanceof Uint8Array) yield content;
  else yield* content;
}
