import { createRequire } from 'node:module';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-node/dist/register_all_kernels';
import { NodeJSKernelBackend } from '@tensorflow/tfjs-node/dist/nodejs_kernel_backend';
import { installGradientDriver } from '../../../packages/tape/src/gradient-driver/driver.ts';
import { mendTfjsNode } from '../../../packages/tfjs-internals/src/tfjs-node.ts';
import { activate } from './activate.mjs';

/**
 * Registers the backend of the tfjs-node in the folder `tfjsNode`, with our gradient driver unless
 * `isPlain`, and defines the specs.
 */
export async function defineSpecs({ tfjsNode, isPlain }) {
  mendTfjsNode();
  const binding = createRequire(import.meta.url)(join(tfjsNode, 'lib/napi-v8/tfjs_binding.node'));
  tf.registerBackend('tensorflow', () => new NodeJSKernelBackend(binding, '@tensorflow/tfjs-node'), 3);
  if (!isPlain) installGradientDriver({ begin: () => undefined });
  await activate('tensorflow');
}
