import { featuresCut } from '../errors.js';

/** The error of tfjs-layers for a layer that gets a dim of another length than that of its weights. */
const LENGTH_DIFFERS =
  /incompatible with layer (.+): expected axis -?\d+ of input shape to have value (\d+) but got shape ([\d,]+)\./;

/**
 * Returns the error of a forward pass. If dim 1 has one rank's share of what a layer expects, it
 * says that the axis `context` has cut the input.
 *
 * @param ranks The size of the axis `context`.
 */
export function nameCutFeatures(error: unknown, ranks: number): unknown {
  const [, name, expected, shapeText] = LENGTH_DIFFERS.exec(String(error)) ?? [];
  if (!name) return error;
  const shape = shapeText!.split(',').map(Number);
  const isCut = shape.length === 2 && shape[1]! * ranks === Number(expected);
  return isCut ? featuresCut({ name, shape }, ranks, error) : error;
}
