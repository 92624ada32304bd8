import '@tensorflow/tfjs-backend-cpu';
import { activate } from './activate.mjs';

/** Registers tfjs's own `cpu` backend and defines the specs. */
export async function defineSpecs() {
  await activate('cpu');
}
