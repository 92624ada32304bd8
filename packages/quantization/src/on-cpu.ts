import { registeredDevice } from '@acc/kernels';

/** Whether tensors are in host memory, for which libtorch's kernels for packed weights are written here. */
export const isOnCpu = (): boolean => (registeredDevice() ?? 'cpu') === 'cpu';
