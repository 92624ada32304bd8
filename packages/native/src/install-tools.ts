/** Functions with which `acc setup` installs other native software into the cache. Not for programs. */
export { lastLines, runLogged } from './libtorch/build.js';
export { sha256OfFile } from './libtorch/checksum.js';
export { asDiskError, makeCacheFolder } from './libtorch/disk.js';
export { downloadWheel, runPip, type WheelRequest } from './libtorch/pip.js';
export { requireGlibc } from './libtorch/platform.js';
export { createStaging, type Staging } from './libtorch/staging.js';
export { requireToolchain, type Toolchain } from './libtorch/toolchain.js';
export {
  openZip,
  readZipText,
  readRecord,
  selectFiles,
  unpackZip,
  type OpenZip,
  type Refusal,
  type Unpacking,
} from './libtorch/zip.js';
