// Failures in shared memory: rank 1 is killed or stopped during collectives, depending on the
// argument. Also checks guarantees beyond the published rules.
import { existsSync, writeFileSync } from 'node:fs';
import { type AccError, type NativeTensor } from '@acc/contract';
import { GroupCollective, joinGroup, nativeBridge } from '@acc/collective';
import { operator, tensorFrom, type Tensor } from '@acc/native';
import { reportResult, startedRank } from '@acc/testkit';

const what = process.argv[2]!;
const started = startedRank();
const { rank } = started;
const joined = await joinGroup({
  ...started,
  engine: 'shm',
  timeoutMs: ['stop', 'ask-idle'].includes(what) ? 10_000 : 60_000,
  joinTimeoutMs: 60_000,
});
const collective = new GroupCollective({ joined, bridge: nativeBridge });
const pids = collective.allGatherObject(process.pid);
const to = operator('aten::to.dtype');

function half(dtype: 'bfloat16' | 'float16', value: number): NativeTensor {
  using floats = tensorFrom(Float32Array.of(value), 'float32', [1]);
  return to(floats, dtype);
}

/**
 * The first number would be lost in either 16-bit format if it were added to the others one by one.
 */
function sumOf(dtype: 'bfloat16' | 'float16', first: number): number {
  const sum = collective.allReduce(half(dtype, rank === 0 ? first : 1)) as Tensor;
  return sum.read('float32')[0] as number;
}

function untilItFails(run: () => void): { code: string; message: string; ms: number } {
  let start = Date.now();
  try {
    for (;;) {
      start = Date.now();
      run();
    }
  } catch (error) {
    const { code, message } = error as AccError;
    return { code, message, ms: Date.now() - start };
  }
}

const x = tensorFrom(new Float32Array(1_000_000), 'float32', [1_000_000]);
let round = 0;
const faults: Record<string, () => unknown> = {
  precision: () => [sumOf('bfloat16', 256), sumOf('float16', 2048)],
  kill() {
    return untilItFails(after(20, () => process.kill(process.pid, 'SIGKILL')));
  },
  killAll() {
    return untilItFails(() => {
      collective.allReduce(x).dispose();
      if (round++ === 20) process.kill(process.pid, 'SIGKILL');
    });
  },
  stop() {
    const failure = untilItFails(after(20, () => process.kill(process.pid, 'SIGSTOP')));
    if (rank === 0) process.kill(pids[1]!, 'SIGKILL');
    return failure;
  },
  // A receiver waits for a rank that simply ends.
  leave() {
    if (rank !== 1) return untilItFails(() => collective.recv(1).dispose());
    collective.close();
    return undefined;
  },
  // No rank waits for a message of a rank that dies, or that sends nothing. All ranks ask instead.
  'ask-dead': () => failureOfAsked(() => process.kill(process.pid, 'SIGKILL')),
  'ask-idle'() {
    const failure = failureOfAsked(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
    if (rank === 0) process.kill(pids[1]!, 'SIGKILL');
    return failure;
  },
  // A handle that was not waited for does not keep the process alive.
  forgotten() {
    collective.allReduceAsync(x);
    if (rank === 0) collective.close();
    return 'ended';
  },
  // No rank waits for it. All ranks ask instead.
  asked() {
    const pending = collective.allReduceAsync(x);
    while (!pending.isDone);
    return 'done';
  },
  // Rank 0 waits for rank 1, which is busy until rank 0 has its result.
  busy() {
    const path = process.argv[3]!;
    const pending = collective.allReduceAsync(x);
    if (rank === 1) while (!existsSync(path));
    pending.wait().dispose();
    if (rank === 0) writeFileSync(path, '');
    return 'done';
  },
};

function failureOfAsked(fate: () => void): unknown {
  if (rank === 1) return fate();
  const message = collective.recvAsync(1);
  const start = Date.now();
  const between = new Int32Array(new SharedArrayBuffer(4));
  while (!message.isDone) Atomics.wait(between, 0, 0, 1);
  return { ...untilItFails(() => message.wait().dispose()), ms: Date.now() - start };
}

/** Runs all-reduce repeatedly. After some calls rank 1 is killed or stopped. */
function after(rounds: number, fate: () => void): () => void {
  let round = 0;
  return () => {
    if (round++ === rounds && rank === 1) fate();
    collective.allReduce(x).dispose();
  };
}

reportResult(faults[what]!());
