import type { WheelRequest } from '@acc/native/install-tools';

/** The TensorFlow that is installed by default. The others in {@link TESTED_VERSIONS} work, too. */
export const DEFAULT_TENSORFLOW = '2.15.1';

/** The versions that tfjs-node 4.22.0 was built against and trained with, on Linux x64. */
export const TESTED_VERSIONS = ['2.15.1', '2.16.2', '2.17.1', '2.18.1', '2.19.1', '2.20.0', '2.21.0'];

/** The build of TensorFlow: for the CPU, or with CUDA. */
export type TensorflowVariant = 'cpu' | 'cuda';

/** The Python package of each variant. */
export const PYTHON_PACKAGES: Readonly<Record<TensorflowVariant, string>> = {
  cpu: 'tensorflow-cpu',
  cuda: 'tensorflow',
};

/** The SHA-256 of the wheels for {@link PYTHON_VERSION}, by variant and version. */
const PUBLISHED_SHA256: Readonly<Record<string, string>> = {
  'cpu 2.15.1': '54660c074d7241a503e81edfd9f5ef5af88f64051b72e2945f26318c790f2d26',
  'cpu 2.16.2': 'c855cb6bf05d32dd5928086b03a5f6b4189b63c22b95e017703cbee4291023ca',
  'cpu 2.17.1': '4935d35d15924602605c839cb6cd5a578f89f626d8736f62065fe3a089b63b6f',
  'cpu 2.18.1': '810c75d7149d2da0cb2092187817b0dcabb80728ca9f9cf3a61f3f42fadd1298',
  'cpu 2.19.1': '0b6d72bd09c267e7573757bd309f5b1e2cdb02577339991da751f3a1411e4dae',
  'cpu 2.20.0': 'cf756bbe2d256e942ab5d0ad2c858fb40017581494febdb4387c149b1afde780',
  'cpu 2.21.0': '2b847d217b02ee7731ed91431daf3250daa0196c3c94614d23be27232e6e5b6c',
  'cuda 2.15.1': 'bb0edd69103c154245c5f209f0507355cc68ba7e4de350084bc31edc562478e4',
};

/** The published checksum of a wheel. Undefined if it is not known. */
export const publishedSha256 = (variant: TensorflowVariant, version: string): string | undefined =>
  PUBLISHED_SHA256[`${variant} ${version}`];

/**
 * The Python version of the wheel. Only its libraries in C++ are used, which are the same in each,
 * so the Python of this machine does not matter. All versions since 2.12 have a wheel for this one.
 */
const PYTHON_VERSION = '3.11';
const PLATFORM_TAGS = [
  'manylinux2014_x86_64',
  'manylinux_2_17_x86_64',
  'manylinux_2_27_x86_64',
  'manylinux_2_28_x86_64',
];

/** The options by which pip selects the wheel. */
export const PIP_SELECTION: readonly string[] = [
  ...['--implementation', 'cp', '--python-version', PYTHON_VERSION],
  ...PLATFORM_TAGS.flatMap((tag) => ['--platform', tag]),
];

/** The wheel that pip fetches. */
export function wheelRequest(variant: TensorflowVariant, version: string, offline: boolean): WheelRequest {
  return {
    requirement: `${PYTHON_PACKAGES[variant]}==${version}`,
    offline,
    attempts: [PIP_SELECTION],
    help:
      `Check the network and pip (python3 -m pip --version), or fetch the wheel elsewhere and give it: ` +
      `npx acc setup tfjs-node --from <file.whl>. Versions that are known to work: ${TESTED_VERSIONS.join(', ')}.`,
  };
}

/** The oldest driver for CUDA of a major version, by NVIDIA's table of minor version compatibility. */
const OLDEST_DRIVER: Readonly<Record<string, number>> = { 11: 450, 12: 525, 13: 580 };

/** The CUDA that a wheel of TensorFlow needs. */
export interface CudaNeeds {
  /** The version of CUDA's runtime: `12.2.140`. */
  readonly cuda: string;
  readonly cudnn: string | undefined;
  /** The major version of the oldest NVIDIA driver. Undefined for a CUDA that is not known yet. */
  readonly driver: number | undefined;
  /** The Python packages that bring the libraries, each with the oldest version that is allowed. */
  readonly packages: readonly string[];
}

/**
 * Reads what TensorFlow's extra `and-cuda` requires.
 *
 * @param metadata The METADATA of the wheel.
 * @returns undefined if the wheel has no such extra.
 */
export function cudaNeeds(metadata: string): CudaNeeds | undefined {
  // `nvidia-cudnn-cu12 (==8.9.4.25) ; extra == 'and-cuda'`, or `nvidia-cudnn-cu12<10.0,>=9.3.0.75; …`.
  const required = metadata.matchAll(/^Requires-Dist: (nvidia-[\w-]+)[^;\n]*?[=>]=([\d.]+)[^\n]*and-cuda/gm);
  const versions = new Map([...required].map(([, name, version]) => [name!, version!]));
  const find = (pattern: RegExp) => [...versions].find(([name]) => pattern.test(name))?.[1];
  const cuda = find(/^nvidia-cuda-runtime/);
  if (cuda === undefined) return undefined;
  return {
    cuda,
    cudnn: find(/^nvidia-cudnn/),
    driver: OLDEST_DRIVER[cuda.split('.')[0]!],
    packages: [...versions].map(([name, version]) => `${name}==${version}`),
  };
}
