// Reports what a program sees of its packages: whether each has one instance under all names, and what
// tfjs contains.
import { createRequire } from 'node:module';
import * as contract from '@acc/contract';
import * as acc from '@acc/core';
import { reportResult } from '@acc/testkit';
import * as tf from '@tensorflow/tfjs';
import * as cpu from '@tensorflow/tfjs-backend-cpu';
import * as core from '@tensorflow/tfjs-core';
import * as layers from '@tensorflow/tfjs-layers';

const require = createRequire(import.meta.url);
const required = (name: string) => require(name) as Record<string, unknown>;
const { Accelerator, AccError } = acc;

const accelerator = await Accelerator.create();
const refused: unknown = await Accelerator.create({ seed: -1 }).catch((error: unknown) => error);

reportResult({
  isPrepared: isFromScript(),
  same: {
    core: core.add === tf.add && required('@tensorflow/tfjs-core').add === tf.add,
    layers:
      layers.sequential === tf.sequential && required('@tensorflow/tfjs-layers').sequential === tf.sequential,
    deep: required('@tensorflow/tfjs-core/dist/tf-core.node.js').add === tf.add,
    ours: AccError === contract.AccError && required('@acc/contract').AccError === AccError,
    errors: refused instanceof AccError,
    cpu:
      tf.findBackend('cpu') !== null &&
      required('@tensorflow/tfjs-backend-cpu').version_cpu === cpu.version_cpu,
  },
  names: [tf, core, layers, acc, contract].map((exports) => Object.keys(exports)),
  backends: Object.keys(tf.engine().registryFactory),
  webgl: tf.findBackend('webgl'),
  flags: Object.keys((tf.env() as unknown as { flagRegistry: object }).flagRegistry),
  kernels: ['cpu', 'webgl', 'acc'].map((backend) => tf.getKernelsForBackend(backend).length),
  classes: [Accelerator, AccError, acc.DataLoader].map(({ name }) => name),
});
accelerator.freeMemory();

/** Whether the packages of this project come from one script. */
function isFromScript(): boolean {
  const { prepareStackTrace } = Error;
  Error.prepareStackTrace = (_, sites) => sites.map((site) => site.getFileName() ?? '');
  try {
    new acc.DataLoader(undefined as never, undefined as never);
    return false;
  } catch (error) {
    const [file] = (error as { stack: unknown }).stack as string[];
    return /starts\/\w+\/node_modules\/@acc\/packages\.js$/.test(file ?? '');
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
  }
}
