import type { Platform } from './platform.js';

/**
 * The URLs of PyTorch's binaries, by platform. `VERSION` stands for the version. `ACC_LIBTORCH_URL`
 * can replace the host with a mirror. There is no libtorch archive for Linux on ARM, but the CPU
 * wheel contains the same files.
 */
export const OFFICIAL_HOST = 'https://download.pytorch.org';
const OFFICIAL_PATHS: Readonly<Record<Platform, string>> = {
  'linux-x64': 'libtorch/cpu/libtorch-shared-with-deps-VERSION%2Bcpu.zip',
  'linux-arm64': 'whl/cpu/torch-VERSION%2Bcpu-cp314-cp314-manylinux_2_28_aarch64.whl',
  'darwin-arm64': 'libtorch/cpu/libtorch-macos-arm64-VERSION.zip',
};

/** The SHA-256 of the published CPU builds, by file name. */
const PUBLISHED_SHA256: Readonly<Record<string, string>> = {
  'libtorch-shared-with-deps-2.13.0+cpu.zip':
    'edbf4cbed78433d803e90a65f1752e57783d164bce66c95c0872b2ab8f5c159e',
  'libtorch-macos-arm64-2.13.0.zip': '1e10c6c4dc2764150c9fb2ad28e1889191302734e7f939108e5d2f22f21a06f8',
  'torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl':
    '6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b',
  'torch-2.13.0+cpu-cp312-cp312-manylinux_2_28_x86_64.whl':
    '4ca4a9394b0c771238a4f73590fdbbc4debad85ed0fa63d026ae1b085da7d6e2',
  'torch-2.13.0+cpu-cp313-cp313-manylinux_2_28_x86_64.whl':
    '3fbf9c9d1f3c10c2d59d04aca426dee9ccc6ceb32d255c61e93acc3b4f75fae6',
  'torch-2.13.0+cpu-cp314-cp314-manylinux_2_28_x86_64.whl':
    'd20fa53ee744502fa4c69818a720b05ca0d37abd055d4f6e66cae155114bc691',
  'torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_aarch64.whl':
    '84453b69508ec79902f899c5ed9495acb9e2bbe9fda5f1d5d6f19e3c3842e1a7',
  'torch-2.13.0+cpu-cp312-cp312-manylinux_2_28_aarch64.whl':
    '6f307c2c32d764ffc6ff6893b801fad6d4752f3e67966cb8abf1843427c02604',
  'torch-2.13.0+cpu-cp313-cp313-manylinux_2_28_aarch64.whl':
    '0b8f7d0423027ae8b90c7977c627f3379f325363a08224dffad9b4b2d684a83d',
  'torch-2.13.0+cpu-cp314-cp314-manylinux_2_28_aarch64.whl':
    'ca021f9eb2f8345c83fa03e3a04587308afb8df71bd472670b3ece00df58621c',
  'torch-2.13.0-cp311-cp311-macosx_14_0_arm64.whl':
    'e76f9bcecc52b8ff711239a2f7547d5353df95878ab232f0773c1d95928b92f8',
  'torch-2.13.0-cp312-cp312-macosx_14_0_arm64.whl':
    '2fe228aba290d14b9f31b049be550dbd469c3fd3013d7a19705b30454da97027',
  'torch-2.13.0-cp313-cp313-macosx_14_0_arm64.whl':
    '33449899ce5496c1b84b4853179d94fd102028ae1407314d9fb956bb79e70d09',
  'torch-2.13.0-cp314-cp314-macosx_14_0_arm64.whl':
    'd849b390e07d8d333ce8ecaf91b273c656c598379a19c9acf1318a883f6b391c',
};

/** The URL of the official CPU build of a version, on the official host or on the mirror `base`. */
export function officialUrl(platform: Platform, version: string, base: string = OFFICIAL_HOST): string {
  return `${base.replace(/\/+$/, '')}/${OFFICIAL_PATHS[platform].replace('VERSION', version)}`;
}

/** `…/libtorch-2.13.0%2Bcpu.zip?x=1` → `libtorch-2.13.0+cpu.zip`. */
export function fileNameOf(url: string): string {
  return decodeURIComponent(new URL(url).pathname.split('/').at(-1) ?? '');
}

/** The published SHA-256 of a file name. Undefined if the file is not a known published one. */
export function publishedSha256(fileName: string): string | undefined {
  return PUBLISHED_SHA256[fileName];
}

/** Whether this is the SHA-256 of any published build, whatever the name of the file is. */
export function isPublishedSha256(sha256: string): boolean {
  return Object.values(PUBLISHED_SHA256).includes(sha256);
}

/**
 * The requirement for `pip`. On Linux it needs the label `+cpu`. Otherwise the package index
 * returns the CUDA build, which has gigabytes and needs NVIDIA's libraries.
 */
export function pipRequirement(platform: Platform, version: string): string {
  return platform === 'darwin-arm64' ? `torch==${version}` : `torch==${version}+cpu`;
}

/**
 * The wheel tag to use if there is no torch wheel for `pip`'s own Python. All wheels contain the
 * same C++ part.
 */
export function pipPlatformTag(platform: Platform): string {
  return {
    'linux-x64': 'manylinux_2_28_x86_64',
    'linux-arm64': 'manylinux_2_28_aarch64',
    'darwin-arm64': 'macosx_14_0_arm64',
  }[platform];
}
