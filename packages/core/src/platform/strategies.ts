export { contextParallel } from '@acc/context-parallel';
export { ddp } from '@acc/ddp';
export { Deterministic, resolveDeterministicOptions } from '@acc/deterministic';
export { expertParallel } from '@acc/experts';
export { fsdp, isForOne, precisionOf } from '@acc/fsdp';
export { tensorParallel } from '@acc/tensor-parallel';
