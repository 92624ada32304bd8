export { ddp } from '@acc/ddp';
export { Deterministic } from '@acc/deterministic';
export { fsdp, isForOne, precisionOf } from '@acc/fsdp';
