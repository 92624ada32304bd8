import type { LlamaConfig } from '../models/llama-config.js';
import { scaledFrequencies, type RotaryScaling } from '../layers/rotary.js';
import { unsupportedModel } from './errors.js';

/** Of Llama 3.1 and its successors, which are the only ones that llama.cpp's converter writes factors for. */
const LOW = 1;
const HIGH = 4;
/** Factors are float32, and computed from float32 frequencies. */
const ROUNDING = 1e-4;

/** Numbers by which the frequencies of positions are divided, as llama.cpp stores them. */
export function factorsOf(half: number, theta: number, scaling: RotaryScaling): Float32Array {
  const scaled = scaledFrequencies(half, theta, scaling);
  return Float32Array.from(scaled, (frequency, i) => theta ** (-i / half) / frequency);
}

/**
 * The parameters of `llama3` that give these factors.
 *
 * @throws AccError `ACC_MODEL_UNSUPPORTED` for other factors.
 */
export function ropeOfFactors(
  factors: Float32Array,
  theta: number,
  where: string,
): NonNullable<LlamaConfig['rope_parameters']> {
  const factor = factors.reduce((most, each) => Math.max(most, each), 1);
  if (factors.every((each) => each === 1)) return { rope_type: 'default', rope_theta: theta };
  const isSame = (original: number) => {
    const scaling = {
      type: 'llama3',
      factor,
      lowFreqFactor: LOW,
      highFreqFactor: HIGH,
      originalMaxPositions: original,
    } as const;
    return factorsOf(factors.length, theta, scaling).every(
      (each, i) => Math.abs(each / factors[i]! - 1) < ROUNDING,
    );
  };
  const original = candidates(factors, theta, factor).find(isSame);
  if (original === undefined) {
    throw unsupportedModel(where, "the frequency factors of 'rope_freqs.weight' are not those of Llama 3");
  }
  return {
    rope_type: 'llama3',
    rope_theta: theta,
    factor,
    low_freq_factor: LOW,
    high_freq_factor: HIGH,
    original_max_position_embeddings: original,
  };
}

/** Interpolated factors that are asked. All that belong together give the same length. */
const ASKED = 8;

/** Lengths of pre-training: those that interpolated factors give, and the usual one. */
function candidates(factors: Float32Array, theta: number, factor: number): number[] {
  const found = Array.from(factors).flatMap((each, i) => {
    if (each <= 1 + ROUNDING || each >= factor * (1 - ROUNDING)) return [];
    const share = (1 / each - 1 / factor) / (1 - 1 / factor);
    const wavelength = 2 * Math.PI * theta ** (i / factors.length);
    return [Math.round((share * (HIGH - LOW) + LOW) * wavelength)];
  });
  return [...found.slice(0, ASKED), 8192];
}
