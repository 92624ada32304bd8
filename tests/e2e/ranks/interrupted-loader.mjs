// A loop over a loader with worker threads. With 'once' it ends after one epoch and does not close
// the loader; else it goes on until a signal ends it.
import * as tf from '@tensorflow/tfjs';
import { DataLoader, moduleDataset } from '@acc/data';

const dataset = await moduleDataset(new URL('./squares-dataset.mjs', import.meta.url), { args: [20] });
const loader = new DataLoader(dataset, { batchSize: 4, numWorkers: 2 });
for (let epoch = 0; epoch < (process.argv[2] === 'once' ? 1 : Infinity); epoch++) {
  let batches = 0;
  for await (const batch of loader) {
    tf.dispose(batch);
    console.log(`batch ${batches++} of epoch ${epoch}`);
  }
  console.log(`epoch ${epoch} has ${batches} batches`);
}
