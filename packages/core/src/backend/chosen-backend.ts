import { engine, setBackend } from '@tensorflow/tfjs-core';
import { engineInternals, replaceForGood } from '@acc/tfjs-internals';

/** tfjs-node's backend, which that package activates when it is imported. */
const ACTIVE_BY_IMPORT = 'tensorflow';

let chosen: string | undefined;
let isOurs = false;

/**
 * From now on {@link chosenBackend} knows what the program has given to `tf.setBackend`. tfjs keeps no record of it: a backend
 * that was chosen looks like the one that tfjs takes by itself for the first tensor.
 */
export function noteChoices(): void {
  const tfjs = engineInternals();
  replaceForGood(tfjs, 'setBackend', (own) => (name) => {
    chosen = isOurs || isByItself(name) ? undefined : name;
    return own.call(tfjs, name);
  });
}

/** The active backend, where the program has chosen it by `tf.setBackend`; undefined where tfjs or the Accelerator did. */
export function chosenBackend(): string | undefined {
  return engine().backendName === chosen ? chosen : undefined;
}

/** As `tf.setBackend`, without being the program's choice. */
export function activateBackend(name: string): Promise<boolean> {
  isOurs = true;
  try {
    return setBackend(name);
  } finally {
    isOurs = false;
  }
}

/** Whether a call that sets `name` now is not the program's. */
function isByItself(name: string): boolean {
  const { backendInstance, registry } = engineInternals();
  if (backendInstance) return false;
  // tfjs makes the backend first where it takes one by itself, and `tf.setBackend` makes it last.
  return registry[name] !== undefined || name === ACTIVE_BY_IMPORT;
}
