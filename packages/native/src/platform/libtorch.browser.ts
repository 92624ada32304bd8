import { AccError } from '@acc/contract';
import type * as libtorch from './libtorch.js';

export { DEFAULT_VERSION, isTestedVersion, RELEASE_LINES, SUPPORTED_RANGE } from '../libtorch/version.js';

type Libtorch = typeof libtorch;

/** Every function that needs libtorch throws this in a page. */
function refuse(): never {
  throw new AccError(
    'ACC_NOT_IN_BROWSER',
    'libtorch is a native library, which a page in a browser cannot load.',
    { help: "Leave out engine: 'acc' and what needs it, or run this part of the program in Node.js." },
  );
}

export const buildAddon: Libtorch['buildAddon'] = refuse;
export const buildMpi: Libtorch['buildMpi'] = refuse;
export const describeSearch: Libtorch['describeSearch'] = refuse;
export const findLibtorch: Libtorch['findLibtorch'] = refuse;
export const installLibtorch: Libtorch['installLibtorch'] = refuse;
export const loadAddon: Libtorch['loadAddon'] = refuse;
export const locateAddon: Libtorch['locateAddon'] = refuse;
export const locateMpi: Libtorch['locateMpi'] = refuse;
export const mpiUnavailableReason: Libtorch['mpiUnavailableReason'] = refuse;
export const ncclState: Libtorch['ncclState'] = refuse;
export const makeFolder: Libtorch['makeFolder'] = refuse;
export const markAsUntransferable: Libtorch['markAsUntransferable'] = refuse;
export const newestWheel: Libtorch['newestWheel'] = refuse;
export const prebuiltLines: Libtorch['prebuiltLines'] = () => [];
export const readEnvironment: Libtorch['readEnvironment'] = refuse;
export const requireLibtorch: Libtorch['requireLibtorch'] = refuse;
