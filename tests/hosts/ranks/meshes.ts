// Creates an Accelerator on each of some meshes, which are in JSON: for each of them a list of sizes by
// host. Reports the errors, or the sizes of the axes and the warnings.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, type AcceleratorOptions } from '@acc/core';
import type { AccError } from '@acc/contract';
import { reportResult } from '@acc/testkit';

const { RANK, LOCAL_WORLD_SIZE } = process.env;
const host = Math.floor(Number(RANK) / Number(LOCAL_WORLD_SIZE));

let warnings: string[] = [];
console.warn = (text: string) => void warnings.push(text);

async function create(options: AcceleratorOptions): Promise<unknown> {
  const began = Date.now();
  warnings = [];
  try {
    const accelerator = await Accelerator.create(options);
    const { mesh } = accelerator;
    const sum = tf.tidy(() => accelerator.reduce(tf.scalar(1), 'sum').dataSync()[0]);
    accelerator.freeMemory();
    return { sizes: mesh.axes.map((axis) => [axis, mesh.size(axis)]), sum, warnings };
  } catch (error) {
    const { code, message } = error as AccError;
    return { code, message, ms: Date.now() - began };
  }
}

const results: unknown[] = [];
for (const byHost of JSON.parse(process.argv[2]!) as AcceleratorOptions['mesh'][][]) {
  results.push(await create({ mesh: byHost[host]! }));
}
reportResult(results);
