// Ranks that wait for each other in different groups. Arguments: the engine, what happens, and the
// patience of the group.
import type { AccError, NativeCollective } from '@acc/contract';
import { GroupCollective, joinGroup, nativeBridge, type Patience } from '@acc/collective';
import { tensorFrom, type Tensor } from '@acc/native';
import { reportResult, startedRank } from '@acc/testkit';

const [, , engine, what, patience] = process.argv as [string, string, 'shm' | 'gloo', string, string];
const started = startedRank();
const { rank } = started;
const times = JSON.parse(patience) as Partial<Patience>;
const joined = await joinGroup({ ...started, ...times, isOneHost: true, engine, timeoutMs: 240_000 });
const world = new GroupCollective({ joined, bridge: nativeBridge });
const pairs = [world.subgroup([0, 2]), world.subgroup([1, 3])];
const pair = (pairs[0] ?? pairs[1]) as NativeCollective;
const low = world.subgroup([0, 1]);
const high = world.subgroup([2, 3]);
const row = (low ?? high) as NativeCollective;

/** The sum of ones over the ranks of a group. */
function sumOfOnes(group: NativeCollective): number {
  using ones = tensorFrom(new Float32Array(4).fill(1), 'float32', [4]);
  using sum = group.allReduce(ones) as Tensor;
  return sum.read('float32')[0] as number;
}

function receive(from: number): number {
  using got = pair.recv(from) as Tensor;
  return got.read('float32')[0] as number;
}

/** Blocks this rank's JavaScript as a long computation does. */
function compute(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const scenes: Readonly<Record<string, () => unknown>> = {
  // Rank 1 makes one step more than the others.
  'one-more': () => (rank === 1 ? sumOfOnes(pair) : world.barrier()),
  // The same, in a step that begins with a message from another rank.
  message: () => (rank === 1 ? receive(1) : world.barrier()),
  // Ranks wait in a ring: 0 for 1, 1 for 3, 3 for 2, 2 for 0.
  ring: () => sumOfOnes(rank === 0 || rank === 3 ? row : pair),
  // Rank 3 computes while ranks of three groups wait for it and for each other, in one direction.
  slow: () => {
    if (rank === 3) compute(7000);
    if (rank === 1 || rank === 3) sumOfOnes(pair);
    sumOfOnes(row);
    world.barrier();
    return sumOfOnes(world);
  },
  // Rank 1 waits for rank 3, which waits in a call that rank 1 has begun. Rank 0 computes.
  begun: () => {
    using ones = tensorFrom(new Float32Array(4).fill(1), 'float32', [4]);
    if (rank === 0) compute(6000);
    const pending = world.allReduceAsync(ones);
    if (rank === 1) sumOfOnes(pair);
    using sum = pending.wait() as Tensor;
    if (rank === 3) sumOfOnes(pair);
    return sum.read('float32')[0];
  },
};

function outcome(run: () => unknown): unknown {
  try {
    return { value: run() };
  } catch (error) {
    const { code, message } = error as AccError;
    return { code, message };
  }
}

const result = outcome(scenes[what]!);
reportResult(result);
if ('code' in (result as object)) process.exit(0);
world.close();
