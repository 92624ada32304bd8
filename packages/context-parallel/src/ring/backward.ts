import { add, dispose, tidy, type Tensor } from '@tensorflow/tfjs-core';
import type { AttentionBlock, AttentionBlockSettings } from '@acc/contract';
import { attentionBlockGradient } from '@acc/kernels';
import { factorsOf } from './dropped.js';
import { keysOf, queriesOf, withKeys, withQueries, type Part } from './part.js';
import type { RingInputs, RingResult } from './ring-inputs.js';
import type { Round } from './round.js';

type Gradients = [dq: Tensor, dk: Tensor, dv: Tensor];

/**
 * The gradients of this rank's q, k and v. Keys and values go around once more. The gradients of a
 * shard follow it: each rank adds its part, and the last sends them home. The caller disposes them.
 */
export function ringBackward(dy: Tensor, inputs: RingInputs, result: RingResult, round: Round): Gradients {
  let held = round.travelling(inputs);
  let dq: Tensor | undefined;
  let local: Tensor[] | undefined;
  let others: (() => Tensor[]) | undefined;
  for (let step = 0; step < round.steps; step++) {
    const next = round.exchange(step, held);
    const ofShard = held.slice(0, 2);
    const [ofQueries, ...ofBlock] = blockGradient(dy, { step, held, inputs, result }, round);
    dq = summed(dq, ofQueries);
    const before = others?.();
    const sums = ofBlock.map((grad, i) => summed(before?.[i], grad));
    const coming = next?.();
    round.sent();
    if (round.passesOn(step)) round.sendGradients(sums);
    else if (step > 0) round.sendHome(sums, round.shardIn(step));
    else local = sums;
    if (sums !== local) dispose(sums);
    // Not before: a receive takes memory from its start, and the other rank sends after its computation.
    others = next && round.receiveGradients(round.shardIn(1), ofShard);
    if (step > 0) dispose([...held]);
    if (coming) held = coming;
  }
  local ??= round.receiveGradients(round.lastHolder, [inputs.k, inputs.v])();
  round.end();
  return [dq!, ...(local as [Tensor, Tensor])];
}

interface Step {
  readonly step: number;
  readonly held: readonly Tensor[];
  readonly inputs: RingInputs;
  readonly result: RingResult;
}

/** In float32, in which parts of all ranks are added. */
function blockGradient(dy: Tensor, { step, held, inputs, result }: Step, round: Round): Gradients {
  const { dropout } = round.settings;
  const { precision } = round.kernels;
  const [k, v] = held as [Tensor, Tensor];
  const part = round.partIn(step, k.shape[2]!);
  return tidy(() => {
    const keep = result.keeps[step] && factorsOf(result.keeps[step], dropout);
    const grads = round.withBlock(step, held, inputs.mask, (settings) =>
      part
        ? gradientOfPart(dy, [inputs.q, k, v], { part, all: result.all, settings })
        : attentionBlockGradient(dy, [inputs.q, k, v], result.all, { ...settings, keep }),
    );
    return grads.map((grad) => precision?.cast(grad, 'float32') ?? grad) as Gradients;
  });
}

interface PartOfBlock {
  readonly part: Part;
  readonly all: AttentionBlock;
  readonly settings: AttentionBlockSettings;
}

/** Queries and keys that are not in the part have gradients of 0. */
function gradientOfPart(
  dy: Tensor,
  [q, k, v]: readonly [Tensor, Tensor, Tensor],
  { part, all, settings }: PartOfBlock,
): Gradients {
  const [output, logSums] = [queriesOf(all.output, part), queriesOf(all.logSums, part)];
  const [dq, dk, dv] = attentionBlockGradient(
    queriesOf(dy, part),
    [queriesOf(q, part), keysOf(k, part), keysOf(v, part)],
    { output, logSums, kept: all.kept },
    settings,
  );
  const length = k.shape[2]!;
  return [withQueries(dq, part), withKeys(dk, length), withKeys(dv, length)];
}

/** Disposes both. */
function summed(before: Tensor | undefined, x: Tensor): Tensor {
  if (!before) return x;
  const sum = add(before, x);
  dispose([before, x]);
  return sum;
}
