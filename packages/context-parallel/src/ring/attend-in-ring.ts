import { customGrad, tidy, type Tensor } from '@tensorflow/tfjs-core';
import type { AttentionBlock, AttentionSettings } from '@acc/contract';
import { requireFirstOrder } from '@acc/kernels';
import type { SequenceShards } from '../sequence-shards.js';
import { lengthsDiffer } from '../errors.js';
import { columnsOf, noGradientOf, withoutGradient } from '../masks.js';
import { ringBackward } from './backward.js';
import { onBalancedHalves } from './balanced.js';
import { ringForward } from './forward.js';
import type { Ring } from './ring.js';
import { Round } from './round.js';
import type { RingInputs } from './ring-inputs.js';

type Save = (tensors: Tensor[]) => void;

/**
 * Attention in which keys and values travel from rank to rank (Liu et al. 2023). Each rank combines
 * its queries' attention to the shards by the logarithms of their sums, and needs memory for its own
 * shard and for one or two others. Under `isCausal`, ranks exchange halves of their shards before and
 * after, so that all have equal work. With a mask or dropout they keep their shards, which then go only
 * to ranks whose queries see them.
 */
export function attendInRing(
  qkv: readonly [q: Tensor, k: Tensor, v: Tensor],
  { mask, ...settings }: AttentionSettings,
  shards: SequenceShards,
): Tensor {
  const [q, k] = qkv;
  if (settings.isCausal && q.shape[2] !== k.shape[2]) throw lengthsDiffer(q, k);
  const columns = mask && columnsOf(mask, k, shards.ranks.size);
  const about = { settings, columns, shards, isBalanced: false };
  if (mask || !canBalance(q, about)) return run(qkv, mask, about);
  return onBalancedHalves(qkv, shards, (...local) =>
    run(local as unknown as typeof qkv, undefined, { ...about, isBalanced: true }),
  );
}

/** Kernels for GPUs pad the logarithms of sums, which then cannot be cut. */
function canBalance(q: Tensor, { settings, shards }: Ring): boolean {
  const isOnHost = shards.kernels.device === 'cpu';
  return settings.isCausal && settings.dropout === 0 && isOnHost && q.shape[2]! > 1;
}

function run(qkv: readonly [q: Tensor, k: Tensor, v: Tensor], mask: Tensor | undefined, about: Ring): Tensor {
  const operator = customGrad((...args) => {
    const save = args.pop() as unknown as Save;
    const inputs = inputsOf(args as Tensor[]);
    const [output, logSums, ...others] = recorded(args as Tensor[], about, (local) => {
      const { all, keeps } = ringForward(inputsOf(local), new Round(about));
      return [all.output, all.logSums, ...keeps, ...all.kept];
    });
    save([...(args as Tensor[]), output!, logSums!, ...others]);
    const gradFunc = (dy: Tensor, saved: Tensor[]) => gradientsOf(dy, saved, inputs, about);
    return { value: output!, gradFunc };
  });
  return tidy(() => operator(...qkv, ...(mask ? [withoutGradient(mask)] : [])));
}

function gradientsOf(dy: Tensor, saved: Tensor[], { mask }: RingInputs, about: Ring): Tensor[] {
  requireFirstOrder('attention over a context axis');
  const count = mask ? 4 : 3;
  const grads = recorded([dy, ...saved], about, ([ownDy, ...local]) => {
    const round = new Round(about);
    const [output, logSums, ...others] = local.slice(count) as [Tensor, Tensor, ...Tensor[]];
    const drops = about.settings.dropout > 0 ? round.steps : 0;
    const all: AttentionBlock = { output, logSums, kept: others.slice(drops) };
    return ringBackward(
      ownDy!,
      inputsOf(local.slice(0, count)),
      { all, keeps: others.slice(0, drops) },
      round,
    );
  });
  return mask ? [...grads, noGradientOf(saved[3]!)] : grads;
}

function inputsOf([q, k, v, mask]: readonly Tensor[]): RingInputs {
  return { q: q!, k: k!, v: v!, mask };
}

/** Runs `compute` as an action: each replay of a recorded step calls it again. */
function recorded(
  inputs: Tensor[],
  { shards }: Ring,
  compute: (inputs: readonly Tensor[]) => Tensor[],
): Tensor[] {
  const { recorder } = shards.kernels;
  return recorder ? ([...recorder.runAction(inputs, compute)] as Tensor[]) : compute(inputs);
}
