import type { io } from '@tensorflow/tfjs-core';
import * as z from 'zod';
import { AccError } from '@acc/contract';

const count = z.number().int().nonnegative();

/** Bytes per element of stored weights. Those of a string have a length of 4 bytes each before them. */
const STORED_BYTES = {
  float32: 4,
  int32: 4,
  bool: 1,
  string: 4,
  complex64: 8,
  uint8: 1,
  uint16: 2,
  float16: 2,
};

const weight = z.looseObject({
  name: z.string(),
  shape: z.array(count),
  dtype: z.enum(['float32', 'int32', 'bool', 'string', 'complex64']),
  quantization: z.looseObject({ dtype: z.enum(['uint8', 'uint16', 'float16']) }).optional(),
});

const manifest = z.array(z.looseObject({ paths: z.array(z.string()), weights: z.array(weight) }));

/**
 * The list of weights of a `model.json`, whose names are distinct strings.
 *
 * @throws AccError `ACC_MODEL_JSON_INVALID`.
 */
export function parseManifest(value: unknown, where: string): io.WeightsManifestConfig {
  const result = manifest.safeParse(value);
  if (!result.success) {
    const { path, message } = result.error.issues[0]!;
    throw invalid(where, `weightsManifest.${path.join('.')}: ${message}`, result.error);
  }
  const names = new Set<string>();
  for (const { name } of result.data.flatMap(({ weights }) => weights)) {
    if (names.has(name)) throw invalid(where, `it lists the weight '${name}' twice`);
    names.add(name);
  }
  return result.data as io.WeightsManifestConfig;
}

/**
 * Checks the shapes of weights against the bytes of their files. tfjs loops over elements that are
 * not there.
 *
 * @throws AccError `ACC_MODEL_JSON_INVALID`.
 */
export function requireBytes(specs: readonly io.WeightsManifestEntry[], bytes: number, where: string): void {
  let needed = 0;
  for (const { name, shape, dtype, quantization } of specs) {
    const stored = STORED_BYTES[quantization?.dtype ?? (dtype as keyof typeof STORED_BYTES)];
    const extent = shape.reduce((size, length) => size * Math.max(length, 1), 1);
    if (!Number.isSafeInteger(extent * 8))
      throw invalid(where, `the shape of '${name}' has too many elements`);
    needed += shape.includes(0) ? 0 : extent * stored;
  }
  if (needed <= bytes) return;
  throw invalid(where, `its weights need at least ${needed} bytes, and their files have ${bytes}`);
}

export function invalid(where: string, problem: string, cause?: unknown): AccError {
  return new AccError('ACC_MODEL_JSON_INVALID', `${where} is not a valid model.json: ${problem}.`, {
    help: 'The file or a file of weights may be truncated. Compare their sizes with the originals.',
    cause,
  });
}
