import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

// Threads that compute, that are ended at any moment, and whose tensors the collector frees. Run with
// the ordinary addon, these tests find threads that end the process; under sanitizers
// (`npm run test:sanitizers`) also memory that is used after its end.

const root = join(import.meta.dirname, '..', '..');

/** Ends threads at moments from 0 to 60 ms after they have begun to work. */
const ENDS = `
  import { Worker } from 'node:worker_threads';
  import { once } from 'node:events';
  const run = async (body, { rounds, threads, data, forMs = (i) => (17 * i) % 60 }) => {
    const program = "const { parentPort: parent, workerData: data } = await import('node:worker_threads');" + body;
    for (let round = 0; round < rounds; round++) {
      const workers = Array.from({ length: threads }, () =>
        new Worker(program, { eval: true, workerData: data?.(), resourceLimits: {} }));
      const failed = workers.map((worker) => once(worker, 'error').then(([error]) => { throw error; }));
      await Promise.all(workers.map((worker, i) =>
        Promise.race([once(worker, 'message').then(async () => {
          await new Promise((resolve) => setTimeout(resolve, forMs(round * threads + i)));
          await worker.terminate();
        }), failed[i]])));
    }
    console.log('all have ended');
  };`;

/** Runs the program in a process of its own, which must end by itself and say nothing else. */
function expectEnd(program: string): void {
  const args = ['--expose-gc', '--input-type=module', '--eval', `${ENDS}${program}`];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    timeout: 300_000,
  });
  expect([stderr, stdout.trim(), status]).toEqual(['', 'all have ended', 0]);
}

it('threads end while they compute', () => {
  expectEnd(`
    const body = \`
      const native = await import('@acc/native');
      const [matmul, tanh] = ['aten::matmul', 'acc::tanh'].map((name) => native.operator(name));
      let x = native.tensorFrom(new Float32Array(2 ** 14).fill(0.1), 'float32', [128, 128]);
      parent.postMessage(0);
      for (;;) {
        const product = matmul(x, x);
        const next = tanh(product);
        product.dispose();
        x.dispose();
        x = next;
      }\`;
    await run(body, { rounds: 6, threads: 3 });`);
});

it('threads end while values are read and files written, with arrays that are sent away', () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-threads-'));
  expectEnd(`
    const body = \`
      const native = await import('@acc/native');
      const x = native.tensorFrom(new Float32Array(2 ** 18), 'float32', [2 ** 18]);
      parent.postMessage(0);
      for (;;) {
        const bytes = new Uint8Array(2 ** 20);
        const calls = [x.readAsync('float64'), native.checksum(bytes)];
        structuredClone(bytes, { transfer: [bytes.buffer] });
        const file = new native.TensorFile(data, 'same');
        await Promise.allSettled(calls);
        file.dispose();
      }\`;
    await run(body, { rounds: 6, threads: 3, data: () => ${JSON.stringify(folder)} });`);
  rmSync(folder, { recursive: true });
});

it('tensors of ended threads, and those that nobody disposes, are collected', () => {
  expectEnd(`
    const body = \`
      const native = await import('@acc/native');
      const neg = native.operator('aten::neg');
      const x = native.tensorFrom(new Float32Array(2 ** 10), 'float32', [2 ** 10]);
      for (let i = 0; i < 2_000; i++) {
        neg(x);
        if (i % 500 === 0) globalThis.gc();
        if (i === 1_000) parent.postMessage(0);
      }
      globalThis.gc();
      for (;;) await new Promise((resolve) => setTimeout(resolve, 1));\`;
    await run(body, { rounds: 4, threads: 3 });
    globalThis.gc();`);
});

it('trainings in threads end while a checkpoint is saved', () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-threads-'));
  expectEnd(`
    const body = \`
      const { Accelerator } = await import('@acc/core');
      const tf = (await import('@tensorflow/tfjs')).default;
      const accelerator = await Accelerator.create({ engine: 'acc', projectDir: data, checkpoint: { dir: data } });
      const model = tf.sequential({ layers: [tf.layers.dense({ units: 256, inputShape: [256] })] });
      model.compile({ optimizer: 'adam', loss: 'meanSquaredError' });
      accelerator.prepare(model);
      const x = tf.ones([8, 256]);
      await model.fit(x, x, { epochs: 1, verbose: 0 });
      parent.postMessage(0);
      for (;;) {
        await accelerator.saveState();
        await model.trainOnBatch(x, x);
      }\`;
    let threads = 0;
    await run(body, { rounds: 3, threads: 2, data: () => ${JSON.stringify(folder)} + '/' + threads++ });`);
  rmSync(folder, { recursive: true });
});
