export { ddp } from '@acc/ddp';
export { Deterministic, resolveDeterministicOptions } from '@acc/deterministic';
export { expertParallel, fsdp, isForOne, precisionOf } from '@acc/fsdp';
