// What goes wrong with files of offload. Arguments: a folder, a file in it, and how rank 0 ends: `full` (its disk) or `truncated` (its file).
import { mkdtempSync, readdirSync, rmdirSync, truncateSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, isAccError, type AcceleratorOptions } from '@acc/core';
import { reportResult } from '@acc/testkit';

type Offload = NonNullable<NonNullable<AcceleratorOptions['fsdp']>['offload']>;

const [folder, file, end] = process.argv.slice(2) as [string, string, 'full' | 'truncated'];
const rank = Number(process.env['RANK']);

export interface Result {
  readonly codes: Record<string, string>;
  readonly messages: Record<string, string>;
  /** After steps with a deleted file, and without offload. */
  readonly deleted: readonly [number[], number[]];
}

const codes: Record<string, string> = {};
const messages: Record<string, string> = {};

async function attempt(name: string, act: () => unknown): Promise<boolean> {
  try {
    await act();
    codes[name] = 'none';
    return true;
  } catch (error) {
    codes[name] = isAccError(error) ? error.code : String(error);
    messages[name] = String(error);
    return false;
  }
}

const create = (offload: Offload | undefined, others: AcceleratorOptions = {}) =>
  Accelerator.create({
    ...others,
    strategy: 'fsdp',
    fsdp: { bucketBytes: 1, ...(offload && { offload }) },
  });

async function start(offload: Offload | undefined, optimizer: tf.Optimizer = tf.train.adam(0.01)) {
  const accelerator = await create(offload);
  const layers = [0, 1, 2].map((i) =>
    tf.tidy(() => tf.variable(tf.ones<tf.Rank.R2>([64, 64]).mul(0.01 * (i + 1)) as tf.Tensor2D)),
  );
  accelerator.prepare(layers, optimizer);
  const step = () =>
    tf.tidy(() => {
      const loss = () => {
        let x: tf.Tensor2D = tf.ones([2, 64]);
        for (const layer of layers) x = tf.tanh(tf.matMul(x, layer) as tf.Tensor2D);
        return x.mean() as tf.Scalar;
      };
      optimizer.minimize(loss, false, layers);
    });
  return { accelerator, layers, optimizer, step };
}

/** An optimizer of a program, which updates each element by itself. */
class Own extends tf.Optimizer {
  static readonly className = 'Own';
  readonly elementwise = true;
  override applyGradients(): void {
    throw new Error('It takes no step.');
  }
  override getConfig(): tf.serialization.ConfigDict {
    return {};
  }
}

async function alone(): Promise<void> {
  // Rank 1 alone has a file where the folder would be.
  const refused = async (...given: Parameters<typeof create>) => (await create(...given)).freeMemory();
  await attempt('a folder of rank 1', () => refused({ optimizer: true, to: rank === 1 ? file : folder }));
  if (rank === 1) leaveFolder();
  await attempt('a relative folder of rank 1, which is nowhere', () =>
    refused({ optimizer: true, to: rank === 1 ? 'files' : folder }),
  );
  if (rank === 1) process.chdir(folder);
  await attempt('offload of rank 1', () => refused(rank === 1 ? { optimizer: true, to: folder } : undefined));
  await tf.setBackend('cpu');
  await attempt('another backend', () => refused({ optimizer: true, to: folder }, { engine: 'tfjs' }));
  await tf.setBackend('acc');
  const { accelerator, layers, optimizer, step } = await start({
    params: true,
    optimizer: true,
    to: folder,
  });
  await attempt('an optimizer of the program', () => accelerator.prepare(new Own()));
  step();
  const [, state] = await optimizer.getWeights();
  accelerator.freeMemory();
  await attempt('state after freeMemory', () => state!.tensor.dataSync());
  tf.dispose(layers);
  optimizer.dispose();
  const onHost = await create({ params: true, optimizer: true });
  onHost.freeMemory();
}

/** Makes a folder that is gone the current one. */
function leaveFolder(): void {
  const gone = mkdtempSync(join(tmpdir(), 'acc-gone-'));
  process.chdir(gone);
  rmdirSync(gone);
}

/** An optimizer goes on after its Accelerator was freed. Rank 1 has nothing of its state. */
async function used(): Promise<void> {
  const offload = { params: true, optimizer: true, to: folder };
  const one = tf.variable(tf.ones([1]));
  const optimizer = tf.train.adam(0.1);
  const first = await create(offload);
  first.prepare([one], optimizer);
  tf.tidy(() => void optimizer.minimize(() => one.square().sum() as tf.Scalar, false, [one]));
  first.freeMemory(one);
  for (const [name, given] of [['with', offload] as const, ['without', undefined] as const]) {
    const next = await create(given);
    const other = tf.variable(tf.ones([1]));
    await attempt(`lost state, ${name} offload`, () => next.prepare([other], optimizer));
    next.freeMemory(other);
    other.dispose();
  }
  one.dispose();
}

async function deleted(): Promise<[number[], number[]]> {
  const found: number[][] = [];
  for (const offload of [undefined, { params: true, optimizer: true, to: folder }]) {
    const { accelerator, layers, optimizer, step } = await start(offload);
    for (let i = 0; i < 4; i++) {
      const own = readdirSync(folder).filter((name) => name.includes(`rank${rank}-`));
      if (i === 2) for (const name of own) unlinkSync(join(folder, name));
      step();
    }
    // A few, because a result that is written just before the end must fit into a pipe.
    found.push(layers.flatMap((layer) => [...layer.dataSync()].filter((_, i) => i % 500 === 0)));
    accelerator.freeMemory(...layers, optimizer);
    tf.dispose(layers);
  }
  return found as [number[], number[]];
}

await alone();
await used();
const result: Result = { codes, messages, deleted: await deleted() };
// From here on rank 0 fails alone. The other rank must not wait for it.
const full = join(folder, 'full');
const { optimizer, step } = await start({
  params: true,
  optimizer: true,
  to: rank === 0 && end === 'full' ? full : folder,
});
const isOver = await attempt('the end', async () => {
  for (let i = 0; i < 6; i++) {
    if (rank === 0 && i === 2 && end === 'truncated') {
      // A read waits for the write before it. A write that ends later would make the file long again.
      for (const { tensor } of await optimizer.getWeights()) tensor.dataSync();
      const [own] = readdirSync(folder).filter((name) => name.includes('rank0-'));
      truncateSync(join(folder, own!), 4096);
    }
    step();
  }
});
reportResult(result);
if (isOver) process.exit(0);
throw new Error('A rank that fails ends.');
