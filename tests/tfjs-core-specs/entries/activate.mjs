import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops';
import '@tensorflow/tfjs-core/dist/register_all_gradients';
import { setTestEnvs } from '@tensorflow/tfjs-core/dist/jasmine_util';

/**
 * Makes `backendName` active, then defines tfjs-core's specs for it. Importing the specs defines
 * them, and needs a test environment and the flags of an initialised backend, so they are imported
 * late.
 */
export async function activate(backendName) {
  if (!(await tf.setBackend(backendName))) throw new Error(`tf.setBackend('${backendName}') failed.`);
  await tf.ready();
  setTestEnvs([{ name: backendName, backendName, isDataSync: true, flags: {} }]);
  await import('@tensorflow/tfjs-core/dist/tests');
}
