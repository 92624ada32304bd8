// Failures of sub-groups on four ranks. Arguments: the engine, what happens, and the time limit of a
// collective in milliseconds. Reports the code and the message of each error.
import type { AccError, NativeCollective } from '@acc/contract';
import { GroupCollective, joinGroup, nativeBridge } from '@acc/collective';
import { tensorFrom, type Tensor } from '@acc/native';
import { reportResult, startedRank } from '@acc/testkit';

const [, , engine, what, limit] = process.argv as [string, string, 'hierarchical' | 'mpi', string, string];
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
const joined = await joinGroup({ ...place, engine, timeoutMs: Number(limit) });
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

/** Ranks 1 and 2 are on different hosts, and share this one with rank 0. */
const MEMBERS = [2, 0, 1];
/** The rank that differs, in the group and in the job. */
const isOdd = rank === 1;

/** Different calls in a sub-group. Another group is made for each, and the last group is the job. */
function differ(): unknown {
  const scenes: ((group: NativeCollective) => unknown)[] = [
    (group) => sumOfOnes(group, isOdd ? 6 : 4),
    (group) => sumOfOnes(group, 4, isOdd ? 'int32' : 'float32'),
    (group) => (isOdd ? group.barrier() : sumOfOnes(group, 4)),
  ];
  const faults = scenes.map((scene) => {
    const group = world.subgroup(MEMBERS);
    const found = outcome(() => (group ? scene(group) : 'no member'));
    group?.close();
    return found;
  });
  return { faults, after: sumOfOnes(world, 1) };
}

/** Ranks that call until a rank of their sub-group fails. Then all ranks call. */
function lose(victim: number, signal: NodeJS.Signals): unknown {
  const members = world.subgroup(MEMBERS);
  const alone = world.subgroup([3]);
  const own = (members ?? alone) as NativeCollective;
  const before = sumOfOnes(own, 4);
  world.barrier();
  if (rank === victim) process.kill(process.pid, signal);
  // A stopped rank that goes on has nothing to do.
  if (rank === victim) process.exit(1);
  const ofGroup = outcome(() => {
    if (members) for (;;) sumOfOnes(members, 4);
    return sumOfOnes(own, 4);
  });
  return { before, ofGroup, ofAll: outcome(() => sumOfOnes(world, 4)) };
}

/** Ranks wait for each other in different groups. */
function waitInGroups(scene: string): unknown {
  const own = (lists: number[][]) => lists.map((ranks) => world.subgroup(ranks)).find((group) => group)!;
  const pair = own([
    [0, 2],
    [1, 3],
  ]);
  const row = own([
    [0, 1],
    [2, 3],
  ]);
  return outcome(() => {
    // Rank 1 makes one call more than the others.
    if (scene === 'one-more') return rank === 1 ? sumOfOnes(pair, 4) : world.barrier();
    if (scene === 'message') {
      if (rank !== 1) return world.barrier();
      return void pair.recv(1);
    }
    // In a ring: 0 for 1, 1 for 3, 3 for 2, 2 for 0.
    return sumOfOnes(rank === 0 || rank === 3 ? row : pair, 4);
  });
}

const [act, given] = what.split(':') as [string, string];
const result =
  act === 'differ'
    ? differ()
    : act === 'wait'
      ? waitInGroups(given)
      : lose(Number(given), act === 'kill' ? 'SIGKILL' : 'SIGSTOP');
reportResult(result);
// mpirun ends a rank that was stopped, if another one ends with a failure.
process.exit(act === 'differ' ? 0 : 1);
