import type { KernelLayer, Plugin } from '@acc/contract';

export interface BackendWatchOptions {
  /** The fast engine's backend. */
  readonly engine: string;
  readonly kernels: KernelLayer;
  /** Whether this process may warn. */
  readonly isMain: boolean;
  /** What else another backend does without, in words. */
  readonly without?: string | undefined;
}

let hasWarned = false;

/** Warns, once in a process, when prepared models and variables compute on another backend than the fast engine's. */
export function backendWatch({ engine, kernels, isMain, without }: BackendWatchOptions): Plugin {
  let wasFast = kernels.backendName === engine;
  return {
    name: 'backendWatch',
    forward(compute) {
      const { backendName } = kernels;
      if (backendName === engine) wasFast = true;
      else if (wasFast && isMain) {
        warnOfLeaving(
          `the tfjs backend is '${backendName}' now, no longer '${engine}'. Training goes on there with the same numbers, only slower` +
            `${without ? `, and ${without}` : ''}; tf.setBackend('${engine}') goes back.`,
        );
      }
      return compute();
    },
  };
}

/** Says once in a process that the fast engine is not used. */
export function warnOfLeaving(message: string): void {
  if (hasWarned) return;
  hasWarned = true;
  console.warn(`acc: ${message}`);
}
