import type { Optimizer } from '@tensorflow/tfjs-core';
import { requireSameOptions, type Collective } from '@acc/contract';

/**
 * Throws if ranks prepare optimizers of other classes or with other settings, such as learning rates.
 * They apply the same gradients, so that their weights would differ from the first step on. Every
 * rank must call it.
 *
 * @throws AccError `ACC_OPTIONS_DIFFER`, on every rank, with the setting and each rank's value.
 */
export function requireSameSettings(optimizer: Optimizer, collective: Collective): void {
  if (collective.size === 1) return;
  collective.named('the settings of an optimizer to prepare', () =>
    requireSameOptions('optimizer', settingsOf(optimizer), collective, SAME_SETTINGS),
  );
}

const SAME_SETTINGS =
  'Prepare an optimizer of the same class with the same settings on every rank. Ranks that should train with their own settings train apart, in LocalSGD or DiLoCo.';

function settingsOf(optimizer: Optimizer): Readonly<Record<string, unknown>> {
  const { constructor } = optimizer as object;
  const { className = constructor.name } = constructor as { className?: string; name: string };
  return { class: className, ...configOf(optimizer) };
}

/** The config as JSON values. Without one, as for a filter that is a function, the learning rate. */
function configOf(optimizer: Optimizer): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(JSON.stringify(optimizer.getConfig())) as Record<string, unknown>;
  } catch {
    const { learningRate } = optimizer as { learningRate?: unknown };
    return typeof learningRate === 'number' ? { learningRate } : {};
  }
}
