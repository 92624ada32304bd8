import { AccError } from '@acc/contract';
import { BACKEND_NAME } from '../acc-names.js';
import type * as accBackend from './acc-backend.js';

type Acc = typeof accBackend;

/** @throws AccError `ACC_NOT_IN_BROWSER`: the backend computes with a native library. */
function refuse(): never {
  throw new AccError(
    'ACC_NOT_IN_BROWSER',
    `The backend '${BACKEND_NAME}' computes with libtorch, a native library, which a page in a browser cannot load.`,
    { help: "Use a backend of tfjs in the page: 'webgl', 'webgpu', 'wasm' or 'cpu'." },
  );
}

export const AccBackend = class AccBackend {
  constructor() {
    refuse();
  }
} as unknown as Acc['AccBackend'];
export const assignPacked: Acc['assignPacked'] = refuse;
export const assignRecords: Acc['assignRecords'] = refuse;
export const kernelChoices: Acc['kernelChoices'] = () => [];
export const packedLike: Acc['packedLike'] = refuse;
export const packedTensor: Acc['packedTensor'] = refuse;
export const recordTensor: Acc['recordTensor'] = refuse;
export const requireAcc: Acc['requireAcc'] = refuse;
export const randomLayer: Acc['randomLayer'] = refuse;
export const registerAccBackend: Acc['registerAccBackend'] = refuse;
export const registerAccBackendFor: Acc['registerAccBackendFor'] = refuse;
export const registeredDevice: Acc['registeredDevice'] = () => undefined;
export const restoreChoices: Acc['restoreChoices'] = refuse;
export const savedChoices: Acc['savedChoices'] = refuse;
export const shareKernelChoices: Acc['shareKernelChoices'] = () => {};
export const writeRecords: Acc['writeRecords'] = refuse;
