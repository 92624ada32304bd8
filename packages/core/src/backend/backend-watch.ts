import type { KernelLayer, Plugin } from '@acc/contract';

export interface BackendWatchOptions {
  /** The name of the fast engine's backend. */
  readonly engine: string;
  readonly kernels: KernelLayer;
  /** Whether this process may warn. */
  readonly isMain: boolean;
  /** The other things that are unavailable on another backend, as text for the message. */
  readonly without?: string | undefined;
}

let hasWarned = false;

/**
 * Warns, once per process, if prepared models and variables compute on another backend than that of
 * the fast engine.
 */
export function backendWatch({ engine, kernels, isMain, without }: BackendWatchOptions): Plugin {
  let wasFast = kernels.backendName === engine;
  return {
    name: 'backendWatch',
    forward(compute) {
      const { backendName } = kernels;
      if (backendName === engine) wasFast = true;
      else if (wasFast && isMain) {
        warnOfLeaving(
          `the tfjs backend was changed from '${engine}' to '${backendName}'. Training continues there. It gives the same numbers, but is slower` +
            `${without ? `, and ${without}` : ''}. To change back, call tf.setBackend('${engine}').`,
        );
      }
      return compute();
    },
  };
}

/** Warns, once per process, that the fast engine is not used. */
export function warnOfLeaving(message: string): void {
  if (hasWarned) return;
  hasWarned = true;
  console.warn(`acc: ${message}`);
}
