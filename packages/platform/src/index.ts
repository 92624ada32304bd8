export { crc32, deflate, deflateAside } from '#platform/checksums';
export { environment, hostName, isProcessAlive, processId } from '#platform/host';
export { files, noteFile, openFolder, settleFiles } from '#platform/files';
export { basename, dirname, join, relative, resolve, sep } from '#platform/paths';
export { nextTurn, soon } from '#platform/turns';
export { fromBase64, toBase64 } from './base64.js';
export type { Files, OpenFile } from './files.js';
export {
  filesBelow,
  folderAt as opfsFolder,
  hasOpfs,
  isAbsent,
  rootFolder as opfsRoot,
  writeFile as writeOpfsFile,
} from './browser-files/opfs.js';
export { fraction53, randomBelow, randomHex } from './random.js';
export { notInBrowser } from './refusals.js';
export {
  LargeBodyError,
  MIN_BYTES_PER_SECOND,
  REQUEST_TIMEOUT_MS,
  requestWithin,
  SlowServerError,
  type RequestLimits,
} from './request-within.js';
export { storageErrorOf } from './storage-errors.js';
export { sleep, unref } from './timers.js';
