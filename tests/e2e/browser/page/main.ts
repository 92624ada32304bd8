import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-webgpu';
import { setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
import { Accelerator } from '@acc/core';
import wasm from '@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm.wasm?url';
import simd from '@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-simd.wasm?url';
import threaded from '@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-threaded-simd.wasm?url';
setWasmPaths({ 'tfjs-backend-wasm.wasm': wasm, 'tfjs-backend-wasm-simd.wasm': simd, 'tfjs-backend-wasm-threaded-simd.wasm': threaded });
Object.assign(globalThis, { async smoke(name: string) {
  const t0 = performance.now();
  if (!(await tf.setBackend(name))) return 'no backend';
  const accelerator = await Accelerator.create();
  const model = tf.sequential({ layers: [tf.layers.dense({ units: 4, inputShape: [3], activation: 'relu' }), tf.layers.dense({ units: 1 })] });
  const [m, o] = accelerator.prepare(model, tf.train.adam(0.01));
  const x = tf.randomNormal([8, 3], 0, 1, 'float32', 1), y = tf.randomNormal([8, 1], 0, 1, 'float32', 2);
  const losses = [];
  for (let i = 0; i < 3; i++) { const c = o.minimize(() => tf.losses.meanSquaredError(y, m.apply(x) as tf.Tensor).asScalar() , true)!; losses.push((await c.data())[0]); }
  let sync: unknown; try { sync = m.getWeights()[0]!.dataSync()[0]; } catch (e) { sync = String(e); }
  accelerator.freeMemory();
  return { backend: tf.getBackend(), name: accelerator.backendName, losses, sync, ms: performance.now() - t0 };
}});
