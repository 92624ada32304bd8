import type { ResolvedOptions } from '../options.js';

/**
 * Messages about options that have an effect only with a certain value of another option, and have
 * none here.
 */
export function withoutPartner(options: ResolvedOptions): string[] {
  const { mixedPrecision, amp = {}, strategy, ddp = {}, fsdp = {}, mesh, context, pipeline } = options;
  const named = typeof strategy === 'object' ? strategy.name : strategy;
  const given = (record: object, names: readonly string[]) =>
    names.filter((name) => (record as Record<string, unknown>)[name] !== undefined);
  const ofPrecision = given(amp, ['lower', 'float32']);
  const ofDdp = given(ddp, Object.keys(ddp));
  const ofFsdp = given(fsdp, Object.keys(fsdp));
  const isDdp = strategy === 'auto' || strategy === 'ddp';
  const messages = [
    mixedPrecision === 'no' &&
      ofPrecision.length > 0 &&
      `amp.${ofPrecision[0]} has no effect: mixedPrecision is 'no'. Give mixedPrecision: 'bf16', 'fp16', 'int8' or 'fp8'.`,
    !isIn8Bits(mixedPrecision) &&
      amp.exclude !== undefined &&
      `amp.exclude has no effect: mixedPrecision is '${mixedPrecision}', and only 'int8' and 'fp8' choose layers.`,
    mixedPrecision !== 'fp8' &&
      amp.fp8 !== undefined &&
      `amp.fp8 has no effect: mixedPrecision is '${mixedPrecision}'.`,
    amp.fp8?.amaxHistory !== undefined &&
      amp.fp8.scaling !== 'delayed' &&
      "amp.fp8.amaxHistory has no effect: amp.fp8.scaling is 'current'. Give scaling: 'delayed'.",
    mixedPrecision !== 'fp16' &&
      amp.lossScale !== undefined &&
      `amp.lossScale has no effect: mixedPrecision is '${mixedPrecision}', and only 'fp16' scales losses.`,
    !isDdp && ofDdp.length > 0 && `ddp.${ofDdp[0]} has no effect: strategy is '${named}'.`,
    strategy !== 'fsdp' &&
      ofFsdp.length > 0 &&
      `fsdp.${ofFsdp[0]} has no effect: strategy is '${named}'. Give strategy: 'fsdp'.`,
    context?.attention !== undefined &&
      (mesh?.context ?? 1) === 1 &&
      'context.attention has no effect: the mesh has no axis context. Give mesh: { context: … }.',
    pipeline !== undefined &&
      mesh?.pipeline === undefined &&
      'pipeline has no effect on the layout: the mesh has no axis pipeline. Give mesh: { pipeline: … }, or pipeline: 1 if this is meant.',
  ];
  return messages.filter((message) => message !== false);
}

/** The options with which 8 bits take the small weights of the self-check, which no pattern of a program names. */
export const withAllWeights = (mixedPrecision: string) =>
  isIn8Bits(mixedPrecision) ? { amp: { exclude: [] } } : {};

const isIn8Bits = (mixedPrecision: string): boolean => mixedPrecision === 'int8' || mixedPrecision === 'fp8';
