import { AccError } from '@acc/contract';
import { operator, tensorFrom, type ProcessGroup } from '@acc/native';
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const newEmpty = operator('aten::new_empty');

const NONCE_BYTES = 16;
const MAC_BYTES = 32;

/**
 * Lets each rank prove to every other rank that it knows the job's token. Each rank sends a random
 * number and gets its HMAC back, over the same connection that later carries data. A process that
 * got hold of a connection without the token, through the store or a port, is therefore found
 * before any data is sent.
 *
 * Every rank must call it. It is the first exchange of a group, so no rank continues while others
 * still connect.
 *
 * @throws AccError `ACC_JOB_TOKEN`.
 */
export function proveMembership(group: ProcessGroup, jobToken: string): void {
  const { rank, size } = group;
  const key = createHmac('sha256', jobToken).update('acc membership').digest();
  const mac = (from: number, to: number, nonce: Uint8Array) =>
    createHmac('sha256', key).update(`${from}>${to}`).update(nonce).digest();
  const asked = randomBytes(size * NONCE_BYTES);
  const toAnswer = exchange(group, asked, NONCE_BYTES);
  const answers = Buffer.concat(
    Array.from({ length: size }, (_, to) => mac(rank, to, part(toAnswer, to, NONCE_BYTES))),
  );
  const got = exchange(group, answers, MAC_BYTES);
  const strangers = Array.from({ length: size }, (_, from) => from).filter(
    (from) => !timingSafeEqual(part(got, from, MAC_BYTES), mac(from, rank, part(asked, from, NONCE_BYTES))),
  );
  if (strangers.length === 0) return;
  throw new AccError(
    'ACC_JOB_TOKEN',
    `The process that answers as rank ${strangers.join(', ')} does not know the token of this job.`,
    { help: 'Another program reached a port of the job while it started. Run the job in a private network.' },
  );
}

/**
 * Sends `width` bytes of `bytes` to each rank, in the order of ranks. Returns the `width` bytes
 * that came from each.
 */
function exchange(group: ProcessGroup, bytes: Uint8Array, width: number): Uint8Array {
  using input = tensorFrom(new Uint8Array(bytes), 'uint8', [group.size * width]);
  using output = newEmpty(input, [group.size * width]);
  group.allToAll(input, output, undefined, { isBlocking: true }).wait();
  return output.read() as Uint8Array;
}

function part(bytes: Uint8Array, rank: number, width: number): Uint8Array {
  return bytes.subarray(rank * width, (rank + 1) * width);
}
