import { cast, dispose, greater, ones, tidy, type Tensor } from '@tensorflow/tfjs-core';
import type { AttentionBlock, AttentionBlockSettings } from '@acc/contract';
import { attentionBlock, dropout } from '@acc/kernels';
import { factorsOf } from './dropped.js';
import { merged } from './merged.js';
import { keysOf, queriesOf, withQueriesBefore, type Part } from './part.js';
import type { RingInputs, RingResult } from './ring-inputs.js';
import type { Round } from './round.js';

/** The attention of this rank's queries to the keys of all ranks. The caller disposes the results. */
export function ringForward(inputs: RingInputs, round: Round): RingResult {
  const { q } = inputs;
  const { dropout: rate } = round.settings;
  const keeps: Tensor[] = [];
  let held = round.travelling(inputs);
  round.compareShapes(held);
  let all: AttentionBlock | undefined;
  for (let step = 0; step < round.steps; step++) {
    const next = round.exchange(step, held);
    const [k, v] = held as [Tensor, Tensor];
    const keep = rate > 0 ? keptWeights(q, k, rate) : undefined;
    if (keep) keeps.push(keep);
    const part = round.partIn(step, q.shape[2]!);
    const block = round.withBlock(step, held, inputs.mask, (settings) => {
      if (part) return partOfBlock([q, k, v], part, settings);
      const factors = keep && factorsOf(keep, rate);
      const created = attentionBlock([q, k, v], { ...settings, keep: factors });
      factors?.dispose();
      return created;
    });
    all = all ? merged(all, block) : block;
    const coming = next?.();
    round.sent();
    if (step > 0) dispose(held);
    if (coming) held = coming;
  }
  return { all: inDtypeOf(q, all!, round), keeps };
}

function partOfBlock(
  [q, k, v]: readonly [Tensor, Tensor, Tensor],
  part: Part,
  settings: AttentionBlockSettings,
): AttentionBlock {
  const given = [queriesOf(q, part), keysOf(k, part), keysOf(v, part)] as const;
  const block = attentionBlock(given, settings);
  dispose([...given]);
  return withQueriesBefore(block, part);
}

function keptWeights(q: Tensor, k: Tensor, rate: number): Tensor {
  const [batch, heads, queries] = q.shape as [number, number, number];
  return tidy(() => cast(greater(dropout(ones([batch, heads, queries, k.shape[2]!]), rate), 0), 'bool'));
}

/** Sums of blocks are float32. The output has the element type of q, as on one rank. */
function inDtypeOf(q: Tensor, all: AttentionBlock, { kernels: { precision } }: Round): AttentionBlock {
  const dtype = precision?.dtypeOf(q);
  if (!dtype || dtype === precision!.dtypeOf(all.output)) return all;
  const output = precision!.cast(all.output, dtype);
  all.output.dispose();
  return { ...all, output };
}
