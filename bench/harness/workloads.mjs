import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The folder `bench`, and the repository's root. */
export const benchDir = fileURLToPath(new URL('../', import.meta.url));
export const rootDir = fileURLToPath(new URL('../../', import.meta.url));

/** The models that both sides measure, by name: sizes, batch, parameter count, steps. */
export const workloads = JSON.parse(readFileSync(`${benchDir}workloads.json`, 'utf8'));

/** PyTorch's parameter count if it differs. Its LSTM has two biases per gate, which it adds. */
export function parameterCountOf(model, side) {
  const { parameterCount, peerParameterCount = parameterCount } = workloads[model];
  return side === 'theirs' ? peerParameterCount : parameterCount;
}
