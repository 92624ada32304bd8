/** Strings in memory that threads share, because a list of millions of paths would be copied to each thread. */
export interface SharedPaths {
  /** The strings one after the other, in UTF-8. */
  readonly text: SharedArrayBuffer;
  /** The end of each string in `text`: float64, because there may be more than 2^32 bytes. */
  readonly ends: SharedArrayBuffer;
}

export function sharePaths(paths: readonly string[]): SharedPaths {
  const ends = new SharedArrayBuffer(8 * paths.length);
  const endsOf = new Float64Array(ends);
  let bytes = 0;
  paths.forEach((path, i) => (endsOf[i] = bytes += Buffer.byteLength(path)));
  const text = new SharedArrayBuffer(bytes);
  const into = Buffer.from(text);
  paths.forEach((path, i) => into.write(path, i === 0 ? 0 : endsOf[i - 1]!));
  return { text, ends };
}

/** A function that returns string `i`. */
export function pathReader({ text, ends }: SharedPaths): (i: number) => string {
  const bytes = Buffer.from(text);
  const endsOf = new Float64Array(ends);
  return (i) => bytes.toString('utf8', i === 0 ? 0 : endsOf[i - 1], endsOf[i]);
}
