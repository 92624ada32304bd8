export { locateAddon, prebuiltLines, type AddonFiles } from './addon-files.js';
export { buildAddon, type BuildOptions, type BuildProgress } from './build.js';
export { readEnvironment, type LibtorchEnvironment } from './environment.js';
export type { InstallProgress } from './fetch.js';
export type { LibtorchInstall, LibtorchOrigin } from './inspect.js';
export { installLibtorch, type InstallOptions } from './install.js';
export { loadAddon } from './load.js';
export { ncclState } from './nccl.js';
export { buildMpi, locateMpi, mpiUnavailableReason, type BuildMpiOptions, type MpiLibrary } from './mpi.js';
export {
  describeSearch,
  findLibtorch,
  requireLibtorch,
  type LibtorchSearch,
  type SearchCandidate,
} from './search.js';
export { newestWheel, type OfferedWheel } from './wheel-index.js';
export { DEFAULT_VERSION, isTestedVersion, RELEASE_LINES, SUPPORTED_RANGE } from './version.js';
