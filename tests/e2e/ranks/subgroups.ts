// Reports the errors on ranks of sub-groups when a rank fails. Argument: the engine.
import type { AccError, NativeCollective } from '@acc/contract';
import { GroupCollective, joinGroup, nativeBridge } from '@acc/collective';
import { tensorFrom, type Tensor } from '@acc/native';
import { reportResult, startedRank } from '@acc/testkit';

const engine = process.argv[2] as 'shm' | 'gloo';
const started = startedRank();
const { rank } = started;
const joined = await joinGroup({ ...started, isOneHost: true, engine, timeoutMs: 240_000 });
const world = new GroupCollective({ joined, bridge: nativeBridge });

/** The sum of ones over the ranks. */
function sumOfOnes(group: NativeCollective, count: number): number {
  using ones = tensorFrom(new Float32Array(count).fill(1), 'float32', [count]);
  using sum = group.allReduce(ones) as Tensor;
  return sum.read('float32')[0] as number;
}

function faultOf(run: () => unknown): { code: string; message: string } {
  try {
    for (;;) run();
  } catch (error) {
    const { code, message } = error as AccError;
    return { code, message };
  }
}

const differing = world.subgroup([2, 0]);
const mismatch = differing && faultOf(() => sumOfOnes(differing, 4 + rank));
differing?.close();
// The group of all ranks remains usable.
const before = sumOfOnes(world, 1);
const pair = world.subgroup([2, 0]);
const alone = world.subgroup([1]);
world.barrier();
if (rank === 2) process.kill(process.pid, 'SIGKILL');
const lostByPair = pair && faultOf(() => sumOfOnes(pair, 3));
const lostByAll = faultOf(() => sumOfOnes(world, 3));
const after = alone && sumOfOnes(alone, 1);
world.close();
const closed = faultOf(() => (pair ?? alone)!.barrier()).code;
reportResult({ mismatch, before, lostByPair, lostByAll, after, closed });
