// Calls each collective with tensors whose shapes differ between ranks. Returns the codes of the errors,
// what the tensors and the native memory grow by, and a sum over ranks afterwards.
import type { Collective, Pending, Plugin } from '@acc/contract';
import { Accelerator, isAccError } from '@acc/core';
import * as tf from '@tensorflow/tfjs';

export interface Refused {
  readonly codes: Readonly<Record<string, string>>;
  readonly tensors: number;
  readonly bytes: number;
  readonly sum: number;
}

type Call = (collective: Collective, x: tf.Tensor) => Pending<unknown>;

const donated = (x: tf.Tensor) => [x.clone().add(1)];
const CALLS: Readonly<Record<string, Call>> = {
  broadcast: (all, x) => all.broadcastAsync(x, 0),
  allReduce: (all, x) => all.allReduceAsync(x),
  'allReduce in 16 bits': (all, x) => all.allReduceAsync(x, 'sum', { wireDtype: 'bfloat16' }),
  reduce: (all, x) => all.reduceAsync(x, 'sum', 0),
  allGather: (all, x) => all.allGatherAsync(x, { even: true }),
  'allGather into a place': (all, x) =>
    all.allGatherAsync(x, {
      even: true,
      wireDtype: 'bfloat16',
      into: tf.zeros([x.shape[0]! * all.size, 3]),
    }),
  reduceScatter: (all, x) => all.reduceScatterAsync(x),
  allToAll: (all, x) => all.allToAllAsync(x),
  'allToAll of uneven rows': (all, x) =>
    all.allToAllAsync(tf.zeros([all.size, x.shape[0]!]), new Array<number>(all.size).fill(1)),
  gather: (all, x) => all.gatherAsync(tf.zeros([2, x.shape[0]!]), 0),
  broadcastCoalesced: (all, x) => all.broadcastCoalescedAsync([x, tf.ones([2])], 0),
  allReduceCoalesced: (all, x) => all.allReduceCoalescedAsync([x, tf.ones([2])]),
  'allReduceCoalesced of donated': (all, x) =>
    all.allReduceCoalescedAsync(donated(x), 'sum', { donate: true }),
  allGatherCoalesced: (all, x) =>
    all.allGatherCoalescedAsync([x], { into: [tf.zeros([x.shape[0]! * all.size, 3])] }),
  reduceScatterCoalesced: (all, x) => all.reduceScatterCoalescedAsync([x]),
  reduceScatterFlat: (all, x) => all.reduceScatterFlatAsync([x]),
  allGatherFlat: (all, x) => all.allGatherFlatAsync([x, x]),
};

function codeOf(call: () => Pending<unknown>): string {
  try {
    call().wait();
    return 'none';
  } catch (error) {
    if (!isAccError(error)) throw error;
    return error.code;
  }
}

const held = () => (tf.memory() as unknown as { readonly allocatedBytes: number }).allocatedBytes;

export default async function refusedCollectives(): Promise<Refused> {
  let collective!: Collective;
  const asks: Plugin = { name: 'asks', attach: (context) => void ({ collective } = context) };
  const accelerator = await Accelerator.create({ engine: 'acc', plugins: [asks] });
  const before = { tensors: tf.memory().numTensors, bytes: held() };
  const codes: Record<string, string> = {};
  for (const [name, call] of Object.entries(CALLS)) {
    const rows = collective.size * (5 + collective.rank);
    tf.tidy(() => void (codes[name] = codeOf(() => call(collective, tf.ones([rows, 3])))));
  }
  const tensors = tf.memory().numTensors - before.tensors;
  const bytes = held() - before.bytes;
  const sum = tf.tidy(() => collective.allReduce(tf.scalar(1 + collective.rank)).dataSync()[0]!);
  accelerator.freeMemory();
  return { codes, tensors, bytes, sum };
}
