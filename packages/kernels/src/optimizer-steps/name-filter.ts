import type { serialization } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';

/**
 * Selects variables by name (`dense_Dense1/bias`). A list of regular expressions selects a name if
 * one of them matches a part of it. A function is called once for each name. Expressions can be
 * saved with a model; functions cannot. Avoid `$` at the end of an expression: in a second model of
 * the same process the same variable may be called `dense_Dense1/bias_1`.
 */
export type NameFilter = readonly string[] | ((name: string) => boolean);

/**
 * The filter as a value of `getConfig`. Each expression is stored under the key `name`: tfjs-layers
 * rewrites other strings when it loads a model (`layer_norm` becomes `layerNorm`).
 *
 * @throws AccError `ACC_OPTIMIZER_NOT_SAVEABLE` for a function.
 */
export function filterToConfig(where: string, filter: NameFilter): serialization.ConfigDictArray {
  if (typeof filter === 'function') {
    throw new AccError('ACC_OPTIMIZER_NOT_SAVEABLE', `${where}: a function of names cannot be saved.`, {
      help: "Give regular expressions instead: ['bias', 'norm'].",
    });
  }
  return filter.map((name) => ({ name }));
}

/** The filter that {@link filterToConfig} wrote. */
export function filterFromConfig(config: serialization.ConfigDictArray): NameFilter {
  return (config as { name: string }[]).map(({ name }) => name);
}
