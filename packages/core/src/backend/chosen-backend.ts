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
    chosen = isOurs || isByItself(name) || isByImport(name) ? undefined : name;
    return own.call(tfjs, name);
  });
}

/** A backend that the program chose. */
export interface Choice {
  readonly backendName: string;
  /** How, to follow "because the program": `set it`. */
  readonly how: string;
}

/**
 * The active backend if the program chose it: by `tf.setBackend`, or by an import of tfjs-node,
 * which activates its backend. Undefined if tfjs or the Accelerator chose it.
 */
export function chosenBackend(): Choice | undefined {
  const { backendName } = engine();
  if (chosen !== undefined && backendName === chosen) return { backendName, how: 'set it' };
  // The import may come before the first record.
  return backendName === ACTIVE_BY_IMPORT ? { backendName, how: 'imports tfjs-node' } : undefined;
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
  return registry[name] !== undefined;
}

/** Whether a call that sets `name` now may come from the import of tfjs-node. */
function isByImport(name: string): boolean {
  return name === ACTIVE_BY_IMPORT && engineInternals().registry[name] === undefined;
}
