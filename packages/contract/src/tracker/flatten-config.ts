import type { ConfigValue, RunConfig } from './tracker.js';

/**
 * Flattens hyperparameters, for services without nesting: `{ model: { layers: 2 } }` becomes `{
 * 'model.layers': 2 }`. Arrays become JSON. Null and undefined are left out.
 */
export function flattenConfig(config: RunConfig): Record<string, string | number | boolean> {
  const flat: Record<string, string | number | boolean> = {};
  const add = (key: string, value: ConfigValue): void => {
    if (value === null || value === undefined) return;
    if (Array.isArray(value)) flat[key] = JSON.stringify(value);
    else if (typeof value !== 'object') flat[key] = value;
    else for (const [inner, part] of Object.entries(value)) add(`${key}.${inner}`, part as ConfigValue);
  };
  for (const [key, value] of Object.entries(config)) add(key, value);
  return flat;
}
