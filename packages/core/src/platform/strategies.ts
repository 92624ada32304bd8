import type { Strategy } from '@acc/contract';
import { expertParallel as divideExperts } from '@acc/experts';
import { requireState } from '@acc/fsdp';

export { contextParallel } from '@acc/context-parallel';
export { ddp } from '@acc/ddp';
export { Deterministic, resolveDeterministicOptions } from '@acc/deterministic';
export { fsdp, isForOne, precisionOf } from '@acc/fsdp';
export { tensorParallel } from '@acc/tensor-parallel';

/** An optimizer may come from a run with `fsdp.offload`, whose file has its state. */
export const expertParallel = (others: Strategy): Strategy =>
  divideExperts(others, { checkOptimizer: requireState });
