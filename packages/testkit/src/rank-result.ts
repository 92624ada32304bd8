import { writeSync } from 'node:fs';
import { AccError } from '@acc/contract';

/** The prefix of the line in which a rank passes its result to `runRanks`. */
const MARK = '::result::';

const TYPED_ARRAYS = {
  Float64Array,
  Float32Array,
  Int32Array,
  Uint32Array,
  Int16Array,
  Uint16Array,
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  BigInt64Array,
  BigUint64Array,
} as const;

type TypedArrayName = keyof typeof TYPED_ARRAYS;

/**
 * Passes `value` from a rank's script to the test that called `runRanks`, as one line on stdout.
 * Call it once, at the start of a line. It returns when the line is written, so a rank may end or
 * fail right after. Besides JSON values, typed arrays, NaN, infinities and -0 are passed bit for bit.
 */
export function reportResult(value: unknown): void {
  writeNow(Buffer.from(`${MARK}${encodeResult(value)}\n`));
}

/** Writes to stdout. `process.stdout` would queue what does not fit into the pipe at once. */
function writeNow(bytes: Uint8Array): void {
  const sleeping = new Int32Array(new SharedArrayBuffer(4));
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(process.stdout.fd, bytes, at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(sleeping, 0, 0, 1);
    }
  }
}

/**
 * The value of the last result line in `stdout`. Undefined if there is none.
 *
 * @throws AccError `ACC_RANK_RESULT` if the line does not contain JSON.
 */
export function parseResult(stdout: string): unknown {
  const line = stdout.split('\n').findLast((candidate) => candidate.startsWith(MARK));
  if (line === undefined) return undefined;
  try {
    return decodeResult(line.slice(MARK.length));
  } catch (cause) {
    throw new AccError(
      'ACC_RANK_RESULT',
      `The result line of a rank does not contain JSON: ${line.slice(0, 200)}`,
      {
        help: 'Print results with reportResult(value).',
        cause,
      },
    );
  }
}

/**
 * Encodes a value as JSON. `{"$number": "NaN"}` and `{"$array": "Float32Array", "base64": …}` stand
 * for values that JSON does not have.
 */
export function encodeResult(value: unknown): string {
  return JSON.stringify(value ?? null, (_key, part: unknown) => {
    if (typeof part === 'number' && (!Number.isFinite(part) || Object.is(part, -0))) {
      return { $number: Object.is(part, -0) ? '-0' : String(part) };
    }
    if (ArrayBuffer.isView(part) && part.constructor.name in TYPED_ARRAYS) {
      const base64 = Buffer.from(part.buffer, part.byteOffset, part.byteLength).toString('base64');
      return { $array: part.constructor.name, base64 };
    }
    return part;
  });
}

/** The value that {@link encodeResult} encoded. */
export function decodeResult(json: string): unknown {
  return JSON.parse(json, (_key, part: unknown) => {
    if (typeof part !== 'object' || part === null) return part;
    if ('$number' in part) return Number(part.$number);
    if (!('$array' in part) || !('base64' in part)) return part;
    const bytes = Uint8Array.from(Buffer.from(String(part.base64), 'base64'));
    return new TYPED_ARRAYS[part.$array as TypedArrayName](bytes.buffer);
  });
}
