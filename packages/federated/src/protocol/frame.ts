import {
  elementBytes,
  encodeHeader,
  headerLength,
  LENGTH_BYTES,
  parseHeader,
  type Entry,
  type StoredDtype,
} from '@acc/checkpoint/safetensors';
import { isAccError } from '@acc/contract';
import { Refused } from '../errors.js';
import type { WeightLayout } from './layout.js';

/**
 * A message on the wire: a safetensors file. The message is JSON in the metadata of its header, and
 * tensors are those of the file. Reading it runs no code.
 */
export interface Frame {
  /** The message, not validated. */
  readonly message: unknown;
  readonly entries: readonly Entry[];
  /** The elements of all entries, one after another. */
  readonly body: Uint8Array;
}

/** The most bytes of a message besides names and elements of weights. */
const MESSAGE_BYTES = 64 * 1024;
/** The bytes of an entry in a header besides its name: dtype, shape, offsets, quantization step. */
const ENTRY_BYTES = 256;

const METADATA_KEY = 'acc_federated';

/** The longest header that a message about these weights has. */
export function maxHeaderBytes({ weights }: WeightLayout): number {
  const names = weights.reduce((bytes, { name }) => bytes + 6 * name.length + ENTRY_BYTES, 0);
  return MESSAGE_BYTES + names;
}

/** The longest message about these weights. */
export function maxFrameBytes(layout: WeightLayout): number {
  return LENGTH_BYTES + maxHeaderBytes(layout) + 4 * layout.total + 64;
}

/** The beginning of a frame. Its body follows directly. */
export function encodeHead(message: object, entries: readonly Entry[] = []): Uint8Array {
  return encodeHeader(entries, { [METADATA_KEY]: JSON.stringify(message) }).bytes;
}

/** A whole frame in one array. */
export function encodeFrame(
  message: object,
  entries: readonly Entry[] = [],
  body: Uint8Array = new Uint8Array(),
): Uint8Array {
  const head = encodeHead(message, entries);
  const bytes = new Uint8Array(head.length + body.length);
  bytes.set(head);
  bytes.set(body, head.length);
  return bytes;
}

/**
 * Reads a frame. Its lengths are compared with the limits and with each other before anything is
 * allocated. The body is a view.
 *
 * @param headerLimit The most bytes that its header may have.
 * @throws Refused `ACC_FEDERATED_PROTOCOL`.
 */
export function decodeFrame(bytes: Uint8Array, headerLimit: number): Frame {
  try {
    const length = headerLength(bytes, 'the message');
    const first = LENGTH_BYTES + length;
    if (length > headerLimit || first > bytes.length) {
      throw new Refused(
        'ACC_FEDERATED_PROTOCOL',
        `the message of ${bytes.length} bytes states a header of ${length} bytes; at most ${headerLimit} are accepted`,
      );
    }
    const { metadata, entries } = parseHeader(
      bytes.subarray(LENGTH_BYTES, first),
      bytes.length,
      'the message',
    );
    return { message: parseMessage(metadata), entries, body: bytes.subarray(first) };
  } catch (error) {
    if (error instanceof Refused) throw error;
    if (!isAccError(error)) throw error;
    throw new Refused('ACC_FEDERATED_PROTOCOL', error.message.split('\n')[0]!);
  }
}

function parseMessage(metadata: Readonly<Record<string, unknown>>): unknown {
  const text = metadata[METADATA_KEY];
  try {
    if (typeof text === 'string') return JSON.parse(text);
  } catch {
    // Refused below.
  }
  throw new Refused('ACC_FEDERATED_PROTOCOL', `the header has no JSON under '${METADATA_KEY}'`);
}

/** The entries of a frame that carries all weights, or an update of them. */
export function entriesOf({ weights }: WeightLayout, dtype: StoredDtype): Entry[] {
  return weights.map(({ name, shape }) => ({ key: name, dtype, shape }));
}

/**
 * Compares the entries of a frame with those that are expected.
 *
 * @throws Refused `ACC_FEDERATED_SHAPE`, with the first difference.
 */
export function requireEntries({ entries, body }: Frame, layout: WeightLayout, dtype: StoredDtype): void {
  const expected = entriesOf(layout, dtype);
  const show = (entry: Entry | undefined) =>
    entry ? `'${entry.key}' ${entry.dtype} [${entry.shape.join()}]` : 'no tensor';
  const first = expected.findIndex((entry, i) => show(entry) !== show(entries[i]));
  const at = first < 0 && entries.length > expected.length ? expected.length : first;
  if (at >= 0) {
    throw new Refused(
      'ACC_FEDERATED_SHAPE',
      `tensor ${at} is ${show(entries[at])}; expected ${show(expected[at])}`,
    );
  }
  const byteLength = layout.total * elementBytes(dtype);
  if (body.length !== byteLength) {
    throw new Refused('ACC_FEDERATED_SHAPE', `the tensors have ${body.length} bytes; expected ${byteLength}`);
  }
}
