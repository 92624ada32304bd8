import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { AccError } from '@acc/contract';
import { readEnvironment } from '@acc/native';
import {
  asDiskError,
  createStaging,
  downloadWheel,
  openZip,
  readRecord,
  readZipText,
  selectFiles,
  sha256OfFile,
  unpackZip,
  type OpenZip,
  type Refusal,
} from '@acc/native/install-tools';
import type { SetupProgress } from '../progress.js';
import {
  cudaNeeds,
  publishedSha256,
  PYTHON_PACKAGES,
  wheelRequest,
  type CudaNeeds,
  type TensorflowVariant,
} from './wheels.js';

/** A TensorFlow in the cache. */
export interface TensorflowInstall {
  readonly root: string;
  readonly version: string;
  readonly variant: TensorflowVariant;
  readonly cuda: CudaNeeds | undefined;
}

export interface TensorflowRequest {
  readonly version: string;
  readonly variant: TensorflowVariant;
  /** A wheel on this machine. Undefined: pip fetches it. */
  readonly from: string | undefined;
  /** The SHA-256 of the wheel, in hexadecimal. */
  readonly sha256: string | undefined;
  readonly offline: boolean;
}

/** The libraries that tfjs-node's binding is linked to, in `lib/` of an install. */
export const LIBRARIES = ['libtensorflow_cc.so.2', 'libtensorflow_framework.so.2'];
const ORIGIN = 'acc-origin.json';

/** The content of the file {@link ORIGIN}, about the wheel that was unpacked. */
interface Origin {
  readonly fileName: string;
  readonly sha256: string;
  readonly verifiedBy: 'checksum' | 'record';
  readonly cuda?: CudaNeeds | undefined;
}

/** The folder in the cache for a TensorFlow. */
export const tensorflowFolder = ({ version, variant }: TensorflowRequest): string =>
  join(readEnvironment().cacheDir, 'tensorflow', `${version}-${variant}`);

/**
 * The TensorFlow that an earlier setup has put into the cache. Undefined if there is none.
 *
 * @throws AccError `ACC_CHECKSUM_MISMATCH` if it is from a wheel with another checksum than
 * `sha256`. A wheel in `from` is compared when it is unpacked.
 */
export function cachedTensorflow(request: TensorflowRequest): TensorflowInstall | undefined {
  const root = tensorflowFolder(request);
  const files = [ORIGIN, ...LIBRARIES.map((name) => join('lib', name)), 'include/tensorflow/c/c_api.h'];
  if (!files.every((path) => existsSync(join(root, path)))) return undefined;
  const { sha256, cuda } = JSON.parse(readFileSync(join(root, ORIGIN), 'utf8')) as Origin;
  const expected = request.from === undefined ? request.sha256?.toLowerCase() : undefined;
  if (expected !== undefined && expected !== sha256) {
    throw otherChecksum(`the wheel of ${root}`, { found: sha256, expected });
  }
  return { root, version: request.version, variant: request.variant, cuda };
}

/**
 * Puts the libraries and the headers of TensorFlow's C API into the cache, from a wheel. If they are
 * there and no wheel is given, nothing is fetched.
 *
 * @throws AccError `ACC_DOWNLOAD_UNREACHABLE`, `ACC_CHECKSUM_MISMATCH`, `ACC_TENSORFLOW_INVALID`,
 * `ACC_DISK_FULL`, `ACC_CACHE_NOT_WRITABLE`.
 */
export async function provideTensorflow(
  request: TensorflowRequest,
  progress: SetupProgress,
): Promise<TensorflowInstall> {
  const cached = request.from === undefined ? cachedTensorflow(request) : undefined;
  if (cached) return cached;
  const destination = tensorflowFolder(request);
  using staging = createStaging(join(readEnvironment().cacheDir, 'tensorflow'));
  const wheel = request.from ?? (await fetchWheel(request, join(staging.path, 'pip'), progress));
  const folder = join(staging.path, 'tensorflow');
  await unpackWheel(wheel, folder, request, progress);
  if (request.from !== undefined) staging.replace(folder, destination);
  else if (!staging.publish(folder, destination) && !cachedTensorflow(request)) {
    staging.replace(folder, destination);
  }
  return cachedTensorflow(request)!;
}

async function fetchWheel(
  { variant, version, offline }: TensorflowRequest,
  folder: string,
  progress: SetupProgress,
): Promise<string> {
  const request = wheelRequest(variant, version, offline);
  progress.step(
    `fetching the wheel ${request.requirement} with pip${variant === 'cuda' ? ' (about 500 MB)' : ' (about 200 MB)'}`,
  );
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw asDiskError(error, folder);
  });
  return downloadWheel(folder, request);
}

/** Verifies a wheel and writes the needed files to the new folder `folder`. */
async function unpackWheel(
  wheel: string,
  folder: string,
  request: TensorflowRequest,
  progress: SetupProgress,
): Promise<void> {
  if (!existsSync(wheel)) throw refuse(wheel, 'it does not exist');
  const name = basename(wheel);
  const sha256 = await sha256OfFile(wheel);
  const verifiedBy = judgeChecksum(sha256, name, request);
  if (verifiedBy === 'record') {
    progress.note(
      `the checksum of ${name} is not known; its files are checked against its own RECORD, which shows damage only`,
    );
  }
  const open = await openZip(wheel, refuse);
  try {
    const metadata = await readMetadata(open, wheel, request);
    const record = await readRecord(open, '[^/]+');
    if (!record) throw refuse(wheel, 'it is a wheel without a RECORD');
    const files = selectFiles(open, targetOf, () => refuse(wheel, 'it contains symbolic links'));
    for (const library of LIBRARIES) {
      if (!files.some(({ target }) => target === join('lib', library))) {
        throw refuse(wheel, `it does not contain tensorflow/${library}`);
      }
    }
    await unpackZip({ zip: open.zip, files, record, refuse }, folder, (doneBytes, totalBytes) =>
      progress.install({ phase: 'unpack', doneBytes, totalBytes }),
    );
    const cuda = request.variant === 'cuda' ? cudaNeeds(metadata) : undefined;
    const origin: Origin = { fileName: name, sha256, verifiedBy, cuda };
    writeFileSync(join(folder, ORIGIN), `${JSON.stringify(origin, undefined, 2)}\n`);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw asDiskError(error, folder);
  } finally {
    open.zip.close();
  }
}

/** How the wheel was verified. */
function judgeChecksum(found: string, name: string, request: TensorflowRequest): 'checksum' | 'record' {
  const { variant, version, from, sha256 } = request;
  // A wheel of the user may be for another Python, and then has another checksum.
  const known = from === undefined ? publishedSha256(variant, version) : undefined;
  const expected = sha256?.toLowerCase() ?? known;
  if (expected === undefined) return found === publishedSha256(variant, version) ? 'checksum' : 'record';
  if (found === expected) return 'checksum';
  throw otherChecksum(name, { found, expected });
}

function otherChecksum(name: string, sums: { readonly found: string; readonly expected: string }): AccError {
  const { found, expected } = sums;
  return new AccError('ACC_CHECKSUM_MISMATCH', `${name} has sha256 ${found}, but ${expected} was expected.`, {
    help: 'The file is damaged, or it is a different file. Give another wheel (--from), or the right --sha256.',
    details: { name, found, expected },
  });
}

/** The METADATA of the wheel, which must be of the requested package and version. */
async function readMetadata(
  open: OpenZip,
  wheel: string,
  { variant, version }: TensorflowRequest,
): Promise<string> {
  const path = [...open.entries.keys()].find((name) => /^[^/]+\.dist-info\/METADATA$/.test(name));
  if (path === undefined) throw refuse(wheel, 'it is not a wheel: it has no METADATA');
  const metadata = await readZipText(open, path);
  const [, name = ''] = /^Name: (.+)$/m.exec(metadata) ?? [];
  const [, found = ''] = /^Version: (.+)$/m.exec(metadata) ?? [];
  const expected = PYTHON_PACKAGES[variant];
  if (name.trim().replaceAll('_', '-') !== expected || found.trim() !== version) {
    throw refuse(wheel, `it is ${name.trim()} ${found.trim()}, but ${expected} ${version} was requested`);
  }
  return metadata;
}

/**
 * The path of a file relative to the install folder. The C API needs few headers: those in folders
 * `c`, and the layout of a string (`ctstring`).
 */
function targetOf(fileName: string): string | undefined {
  const path = /^tensorflow\/(.+)$/.exec(fileName)?.[1];
  if (path === undefined) return undefined;
  if (LIBRARIES.includes(path)) return join('lib', path);
  return /^include\/(?:[\w-]+\/)*(?:c\/.*|platform\/ctstring\w*)\.h$/.test(path) ? path : undefined;
}

const refuse: Refusal = (path, reason, cause) =>
  new AccError('ACC_TENSORFLOW_INVALID', `${path} cannot be used: ${reason}.`, {
    help: 'Give a wheel of TensorFlow for Linux x64: npx acc setup tfjs-node --tensorflow <version> --from <file.whl>',
    cause,
    details: { path },
  });
