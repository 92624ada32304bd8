// Imports the packages on the command line one after another, and prints the effects of that as
// JSON.
import * as tf from '@tensorflow/tfjs-core';
// Effects of other libraries are ignored: this one registers its backend, and zod keeps a registry.
import '@tensorflow/tfjs-backend-cpu';
import 'zod';

function state() {
  const engine = tf.engine();
  return {
    addons: process.report.getReport().sharedObjects.filter((path) => /\.node$|torch|c10/.test(path)),
    backends: Object.keys(engine.registryFactory),
    activeBackend: engine.backendName ?? null,
    kernels: tf.getKernelsForBackend('acc').length,
    changedMethods: Object.keys(engine).filter((key) => typeof engine[key] === 'function'),
    resources: process.getActiveResourcesInfo(),
    listeners: process.eventNames().map(String).sort(),
    globals: Object.getOwnPropertyNames(globalThis).sort(),
  };
}

const imported = [];
const changed = [];
let before = state();
for (const name of process.argv.slice(2)) {
  await import(name);
  imported.push(name);
  const after = state();
  for (const key of Object.keys(after)) {
    const [was, is] = [before[key], after[key]].map((value) => JSON.stringify(value));
    if (was !== is) changed.push({ name, key, was, is });
  }
  before = after;
}
console.log(JSON.stringify({ imported, changed }));
