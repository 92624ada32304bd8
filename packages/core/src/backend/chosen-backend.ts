import { engine, setBackend } from '@tensorflow/tfjs-core';
import { engineInternals, replaceForGood } from '@acc/tfjs-internals';

/** The backend of tfjs-node, which activates it on import. */
const ACTIVE_BY_IMPORT = 'tensorflow';

let chosen: string | undefined;
let isOurs = false;

/**
 * Starts to record the backends that the program gives to `tf.setBackend`, for {@link
 * chosenBackend}. tfjs itself does not distinguish such a backend from one that it activates by
 * itself for the first tensor.
 */
export function noteChoices(): void {
  const tfjs = engineInternals();
  replaceForGood(tfjs, 'setBackend', (own) => (name) => {
    chosen = isOurs || isByItself(name) ? undefined : name;
    return own.call(tfjs, name);
  });
}

/**
 * The active backend if the program chose it by `tf.setBackend`. Undefined if tfjs or the
 * Accelerator chose it.
 */
export function chosenBackend(): string | undefined {
  return engine().backendName === chosen ? chosen : undefined;
}

/** Calls `tf.setBackend` without recording it as the program's choice. */
export function activateBackend(name: string): Promise<boolean> {
  isOurs = true;
  try {
    return setBackend(name);
  } finally {
    isOurs = false;
  }
}

/** Whether a call that sets `name` now comes from tfjs and not from the program. */
function isByItself(name: string): boolean {
  const { backendInstance, registry } = engineInternals();
  if (backendInstance) return false;
  // tfjs creates a backend that it chooses by itself before this call. `tf.setBackend` creates it
  // afterwards.
  return registry[name] !== undefined || name === ACTIVE_BY_IMPORT;
}
