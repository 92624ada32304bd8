// One rank of our side. It all-reduces tfjs tensors, and on rank 0 prints the seconds of each call
// as JSON. Over sockets it reduces in place, as torch.distributed does. In shared memory and in MPI
// the sum is a new tensor. Arguments: the engine, then size:repeats pairs.
import * as tf from '@tensorflow/tfjs';
import { GroupCollective, joinGroup } from '@acc/collective';
import { kernelLayerOf, registerAccBackend } from '@acc/kernels';
import { startedRank } from '@acc/testkit';

const [engine, ...plan] = process.argv.slice(2);
registerAccBackend();
await tf.setBackend('acc');
const joined = await joinGroup({
  ...startedRank(),
  engine: engine as 'shm' | 'gloo',
});
const bridge = kernelLayerOf(tf.getBackend(), tf.backend());
const collective = new GroupCollective({ joined, bridge });

const donate = engine === 'gloo';

const found: Record<string, number[]> = {};
for (const [bytes, repeats] of plan.map((item) => item.split(':').map(Number) as [number, number])) {
  const times: number[] = [];
  const warmUp = Math.ceil(repeats / 4) + 2;
  const x = tf.ones([bytes / 4]);
  let sum = x.add(0);
  for (let i = -warmUp; i < repeats; i++) {
    sum.dispose();
    const given = donate ? x.add(0) : x;
    collective.barrier();
    const start = performance.now();
    sum = collective.allReduce(given, 'sum', { donate });
    if (i >= 0) times.push((performance.now() - start) / 1000);
  }
  found[bytes] = times;
  if ((await sum.data())[bytes / 4 - 1] !== collective.size) throw new Error('wrong sum');
  tf.dispose([x, sum]);
}
if (collective.rank === 0) console.log(JSON.stringify(found));
collective.barrier();
collective.close();
