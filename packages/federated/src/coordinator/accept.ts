import { clipToNorm, normOf } from '../aggregate/clip.js';
import { Refused } from '../errors.js';
import { decodeUpdate, UPDATE_DTYPE, type Compression } from '../protocol/compression.js';
import { requireEntries, type Frame } from '../protocol/frame.js';
import type { WeightLayout } from '../protocol/layout.js';
import type { UpdateMessage } from '../protocol/messages.js';
import type { CollectedUpdate } from './collection.js';

export interface AcceptanceRules {
  readonly layout: WeightLayout;
  readonly compression: Compression;
  readonly maxSamples: number;
  readonly clipUpdateNorm: number | undefined;
}

/**
 * Checks an update and prepares it for the aggregator.
 *
 * @param weights The weights of the round.
 * @throws Refused `ACC_FEDERATED_SAMPLES`, `ACC_FEDERATED_SHAPE`, `ACC_FEDERATED_NOT_FINITE`.
 */
export function acceptUpdate(
  client: string,
  { message, frame }: { readonly message: UpdateMessage; readonly frame: Frame },
  weights: Float32Array,
  { layout, compression, maxSamples, clipUpdateNorm }: AcceptanceRules,
): CollectedUpdate {
  const { samples, metrics, steps } = message;
  if (!(samples > 0) || samples > maxSamples) {
    throw new Refused(
      'ACC_FEDERATED_SAMPLES',
      `it claims ${samples} samples; the coordinator accepts more than 0 and at most ${maxSamples} (maxSamples)`,
    );
  }
  requireEntries(frame, layout, UPDATE_DTYPE[compression]);
  const update = decodeUpdate({ body: frame.body, steps }, layout, compression);
  const norm = normOf(update);
  // The sum is checked: a round must not end with infinite weights.
  if (!staysFinite(weights, update)) {
    throw new Refused('ACC_FEDERATED_NOT_FINITE', 'it contains NaN, an infinity, or values that lead to one');
  }
  const clipped = clipUpdateNorm === undefined ? update : clipToNorm(update, norm, clipUpdateNorm);
  return { client, samples, metrics, norm, isClipped: clipped !== update, update: clipped };
}

function staysFinite(weights: Float32Array, update: Float32Array): boolean {
  return update.every((value, i) => Number.isFinite(Math.fround(value + weights[i]!)));
}
