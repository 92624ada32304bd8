import type { KernelBackend } from '@tensorflow/tfjs-core';
import { engineInternals, replaceForGood } from '@acc/tfjs-internals';

/** tfjs's backend `cpu`, which prints the advice at its first tensor. */
interface Advising {
  firstUse?: boolean;
}

/**
 * Keeps tfjs's backend `cpu` from printing in Node.js that tfjs-node would speed things up, also if it
 * is registered later.
 */
export function silenceNodeAdvice(): void {
  const tfjs = engineInternals();
  replaceForGood(tfjs, 'initializeBackend', (own) => (name) => {
    const result = own.call(tfjs, name);
    silence(tfjs.registry[name]);
    return result;
  });
  Object.values(tfjs.registry).forEach(silence);
}

function silence(backend: KernelBackend | undefined): void {
  if (backend && 'firstUse' in backend) (backend as Advising).firstUse = false;
}
