import { sizeOf, type HookCase } from '../cases.js';
import { meanOf, type PlainHook } from './plain-hook.js';

/** Magnitudes closer than this may have another order in float32. */
const TOO_CLOSE = 1e-5;

/** Stich et al., "Sparsified SGD with Memory", 2018, algorithm 1, for each bucket. */
export function plainTopK({ shapes, buckets }: HookCase, ratio: number, size: number): PlainHook {
  const errors = Array.from({ length: size }, () =>
    shapes.map((shape) => new Array<number>(sizeOf(shape)).fill(0)),
  );
  return (_step, grads) => {
    const sent = grads.map((ofRank, r) => {
      const wanted = ofRank.map((grad, variable) => grad.map((x, i) => x + errors[r]![variable]![i]!));
      const ofRankSent = wanted.map((values) => new Array<number>(values.length).fill(0));
      for (const bucket of buckets) {
        const elements = bucket.flatMap((variable) =>
          wanted[variable]!.map((value, i) => ({ variable, i, value })),
        );
        const count = Math.ceil(elements.length * ratio);
        elements.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
        const [last, next] = [elements[count - 1]!, elements[count]!].map(({ value }) => Math.abs(value));
        if (last! - next! < TOO_CLOSE)
          throw new Error(`magnitudes ${last} and ${next} are too close to choose`);
        for (const { variable, i, value } of elements.slice(0, count)) ofRankSent[variable]![i] = value;
      }
      errors[r] = wanted.map((values, variable) => values.map((x, i) => x - ofRankSent[variable]![i]!));
      return ofRankSent;
    });
    return { grads: meanOf(sent), shared: {}, local: errors.map((ofRank) => ofRank.map((e) => [...e])) };
  };
}
