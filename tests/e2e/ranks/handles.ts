// @acc/collective without core: every verb with a handle, reduceScatter, donated tensors, closing.
// Arguments: the tfjs backends, each with its own group. Reports by backend.
import * as tf from '@tensorflow/tfjs';
import { GroupCollective, joinGroup } from '@acc/collective';
import { kernelLayerOf, registerAccBackend } from '@acc/kernels';
import { reportResult, startedRank } from '@acc/testkit';

registerAccBackend();

const codeOf = (run: () => unknown) => {
  try {
    run();
    return 'none';
  } catch (error) {
    return (error as { code: string }).code;
  }
};

async function handlesOn(backend: string): Promise<object> {
  await tf.setBackend(backend);
  const started = startedRank();
  const { rank } = started;
  const joined = await joinGroup({ ...started, engine: 'auto' });
  const bridge = kernelLayerOf(tf.getBackend(), tf.backend());
  const collective = new GroupCollective({ joined, bridge });
  const { size } = collective;
  const before = tf.memory().numTensors;

  const rows = tf
    .range(0, 2 * size)
    .reshape([size, 2])
    .mul(rank + 1);
  const pending = {
    reduce: collective.allReduceAsync(tf.tensor1d([rank, 1])),
    gather: collective.allGatherAsync(tf.tensor1d([rank])),
    scatter: collective.reduceScatterAsync(rows, 'sum'),
    broadcast: collective.broadcastAsync(tf.tensor1d([rank + 1]), size - 1),
  };
  const given = tf.ones([3]);
  const donated = collective.allReduceAsync(given, 'sum', { donate: true });
  const results = Object.fromEntries(
    Object.entries(pending).map(([name, one]) => [name, [...one.wait().dataSync()]]),
  );
  const report = {
    results,
    isDone: Object.values(pending).every(({ isDone }) => isDone),
    isSame: pending.reduce.wait() === pending.reduce.wait(),
    donated: [...donated.wait().dataSync()],
    isGiven: given.isDisposed,
    uneven: codeOf(() => collective.reduceScatter(tf.ones([size + 1]))),
    noRank: codeOf(() => collective.broadcast(tf.ones([1]), size)),
    meanOfInts: codeOf(() => collective.allReduce(tf.ones([1], 'int32'), 'mean')),
  };
  tf.dispose([rows, ...Object.values(pending).map((one) => one.wait()), donated.wait()]);
  collective.barrier();
  collective.close();
  return {
    ...report,
    closed: codeOf(() => collective.barrier()),
    // The caller keeps its arguments: three here, two that lead to `rows`, three of rejected calls.
    left: tf.memory().numTensors - before,
  };
}

const reports: Record<string, object> = {};
for (const backend of process.argv.slice(2)) reports[backend] = await handlesOn(backend);
reportResult(reports);
