// Failures of sub-groups on four ranks. Arguments: the engine, what happens, one after the
// other, the time limit of a collective in milliseconds, and the patience of the group. Reports the
// errors by what happened.
import type { AccError, NativeCollective } from '@acc/contract';
import { GroupCollective, joinGroup, nativeBridge, type Patience } from '@acc/collective';
import { tensorFrom, type Tensor } from '@acc/native';
import { reportResult, startedRank } from '@acc/testkit';

const [engine, what, limit, patience] = process.argv.slice(2) as [
  'hierarchical' | 'mpi',
  string,
  string,
  string,
];
const { OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE, PMIX_NAMESPACE } = process.env;
const place = PMIX_NAMESPACE
  ? {
      rank: Number(OMPI_COMM_WORLD_RANK),
      size: Number(OMPI_COMM_WORLD_SIZE),
      masterAddress: '127.0.0.1',
      masterPort: 20_000 + (Number(PMIX_NAMESPACE) % 10_000),
      jobToken: PMIX_NAMESPACE,
      isOneHost: true,
    }
  : startedRank();
const times = JSON.parse(patience) as Partial<Patience>;
const limits = { timeoutMs: Number(limit), joinTimeoutMs: 120_000 };
const joined = await joinGroup({ ...place, ...limits, ...times, engine });
const world = new GroupCollective({ joined, bridge: nativeBridge });
const { rank } = world;

/** The sum of ones over the ranks. */
function sumOfOnes(group: NativeCollective, count: number, dtype: 'float32' | 'int32' = 'float32'): number {
  const values = dtype === 'int32' ? new Int32Array(count) : new Float32Array(count);
  using ones = tensorFrom(values.fill(1), dtype, [count]);
  using sum = group.allReduce(ones) as Tensor;
  return sum.read(dtype)[0] as number;
}

function outcome(run: () => unknown): unknown {
  const began = Date.now();
  try {
    return { value: run() };
  } catch (error) {
    const { code, message } = error as AccError;
    return { code, message, ms: Date.now() - began };
  }
}

/** On two hosts: ranks 0 and 1 share one. */
const MEMBERS = [2, 0, 1];
/** Whether this rank differs from the others. */
const isOdd = rank === 1;

/** Different calls in a sub-group, which is made again for each. Then all ranks call. */
function differ(): unknown {
  const calls: ((group: NativeCollective) => unknown)[] = [
    (group) => sumOfOnes(group, isOdd ? 6 : 4),
    (group) => sumOfOnes(group, 4, isOdd ? 'int32' : 'float32'),
    (group) => (isOdd ? group.barrier() : sumOfOnes(group, 4)),
  ];
  const faults = calls.map((call) => {
    const group = world.subgroup(MEMBERS);
    const found = outcome(() => (group ? call(group) : 'no member'));
    group?.close();
    return found;
  });
  return { faults, after: sumOfOnes(world, 1) };
}

/** Ranks call in a sub-group until one of them fails. Then all ranks call. */
function lose(victim: number, signal: NodeJS.Signals): unknown {
  const members = world.subgroup(MEMBERS);
  const alone = world.subgroup([3]);
  const own = (members ?? alone) as NativeCollective;
  const before = sumOfOnes(own, 4);
  world.barrier();
  if (rank === victim) process.kill(process.pid, signal);
  // mpirun continues a stopped rank before it ends it.
  if (rank === victim) process.exit(1);
  const ofGroup = outcome(() => {
    if (members) for (;;) sumOfOnes(members, 4);
    return sumOfOnes(own, 4);
  });
  return { before, ofGroup, ofAll: outcome(() => sumOfOnes(world, 4)) };
}

/** The group of those in `lists` that this rank is in. */
function ownOf(lists: readonly (readonly number[])[]): NativeCollective {
  return lists.map((ranks) => world.subgroup(ranks)).find((group) => group)!;
}

/** Ranks wait for each other in different groups. Returns also whether the group of all ranks is usable. */
function waitInRing(): unknown {
  const pair = ownOf([
    [0, 2],
    [1, 3],
  ]);
  const row = ownOf([
    [0, 1],
    [2, 3],
  ]);
  // 0 waits for 1, 1 for 3, 3 for 2, and 2 for 0.
  const fault = outcome(() => sumOfOnes(rank === 0 || rank === 3 ? row : pair, 4));
  return { fault, after: sumOfOnes(world, 1) };
}

/** Rank 1 makes one call of its sub-group more than the others. */
function callOnceMore(): unknown {
  const pair = ownOf([
    [0, 2],
    [1, 3],
  ]);
  return { fault: outcome(() => (rank === 1 ? sumOfOnes(pair, 4) : world.barrier())) };
}

const scenes: Readonly<Record<string, () => unknown>> = {
  differ,
  ring: waitInRing,
  oneMore: callOnceMore,
  kill: () => lose(2, 'SIGKILL'),
  stop: () => lose(1, 'SIGSTOP'),
};
reportResult(Object.fromEntries(what.split(',').map((name) => [name, scenes[name]!()])));
// mpirun ends all ranks with the first that fails, also one that was stopped.
setTimeout(() => process.exit(1), PMIX_NAMESPACE ? 4_000 : 0);
