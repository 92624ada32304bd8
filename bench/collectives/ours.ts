// One rank of ours: all-reduces tfjs tensors and prints, on rank 0, the seconds of each call as JSON.
// Arguments: engine, then size:repeats pairs.
import * as tf from '@tensorflow/tfjs';
import { GroupCollective, joinGroup } from '@acc/collective';
import { kernelLayerOf, registerAccBackend } from '@acc/kernels';

const [engine, ...plan] = process.argv.slice(2);
const { RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, ACC_JOB_TOKEN } = process.env;
registerAccBackend();
await tf.setBackend('acc');
const { group, close } = await joinGroup({
  rank: Number(RANK),
  size: Number(WORLD_SIZE),
  masterAddress: MASTER_ADDR!,
  masterPort: Number(MASTER_PORT),
  jobToken: ACC_JOB_TOKEN!,
  isOneHost: LOCAL_WORLD_SIZE === WORLD_SIZE,
  engine: engine as 'shm' | 'gloo',
});
const bridge = kernelLayerOf(tf.getBackend(), tf.backend());
const collective = new GroupCollective({ group, bridge, engine: engine!, onClose: close });

const found: Record<string, number[]> = {};
for (const [bytes, repeats] of plan.map((item) => item.split(':').map(Number) as [number, number])) {
  const x = tf.ones([bytes / 4]);
  const times: number[] = [];
  const warmUp = Math.ceil(repeats / 4) + 2;
  for (let i = -warmUp; i < repeats; i++) {
    collective.barrier();
    const start = performance.now();
    const sum = collective.allReduce(x);
    if (i >= 0) times.push((performance.now() - start) / 1000);
    sum.dispose();
  }
  found[bytes] = times;
  const sum = collective.allReduce(x);
  if ((await sum.data())[bytes / 4 - 1] !== collective.size) throw new Error('wrong sum');
  tf.dispose([x, sum]);
}
if (collective.rank === 0) console.log(JSON.stringify(found));
collective.barrier();
collective.close();
