import { execFileSync, spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const venv = fileURLToPath(new URL('../.venv/', import.meta.url));

/**
 * Torch is installed first and alone, so that its pinned version is used, and not the one that
 * Accelerate would install.
 */
const pins = { torch: '2.13.0', accelerate: '1.15.0' };

/**
 * The Python that runs the PyTorch side.
 *
 * @param given A Python with any version of torch and Accelerate. Default: that of `bench/.venv`,
 * which is created with the pinned versions if necessary.
 * @returns Its path.
 * @throws Error if Python or a package is not available. The installer's own message is printed
 * before.
 */
export function ensurePeer(given) {
  if (given !== undefined) {
    if (installedVersions(given)) return given;
    throw new Error(`--python: ${given} does not have ${Object.keys(pins).join(' and ')}`);
  }
  const python = `${venv}bin/python`;
  if (isPinned(python)) return python;
  console.error(`Setting up the PyTorch side in ${venv} (once)`);
  rmSync(venv, { recursive: true, force: true });
  const visible = { stdio: ['ignore', 'ignore', 'inherit'] };
  execFileSync('python3', ['-m', 'venv', venv], visible);
  for (const [name, version] of Object.entries(pins)) {
    execFileSync(python, ['-m', 'pip', 'install', '--quiet', `${name}==${version}`], visible);
  }
  if (isPinned(python)) return python;
  throw new Error(`${venv} does not contain the pinned versions. Delete it and run the bench again.`);
}

/** The decoder of images for PyTorch: torchvision's own wheels need a torch with CUDA. */
const IMAGE_READER = 'pillow==12.2.0';

/**
 * Installs the reader of images for this Python, beside its own packages.
 *
 * @returns The folder for `PYTHONPATH`.
 */
export function ensureImageReader(python) {
  const packages = fileURLToPath(new URL('../../node_modules/.cache/acc-image-reader/', import.meta.url));
  const isThere = () => {
    const script = 'from PIL import Image';
    return spawnSync(python, ['-c', script], { env: { ...process.env, PYTHONPATH: packages } }).status === 0;
  };
  if (isThere()) return packages;
  rmSync(packages, { recursive: true, force: true });
  const install = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', packages, IMAGE_READER];
  execFileSync(python, install, { stdio: ['ignore', 'ignore', 'inherit'] });
  if (isThere()) return packages;
  throw new Error(`${packages} does not contain Pillow for ${python}`);
}

function isPinned(python) {
  const installed = installedVersions(python);
  // '2.13.0+cpu' is 2.13.0 built for the CPU.
  return Object.values(pins).every((version, i) => installed?.[i]?.split('+')[0] === version);
}

/**
 * The installed versions, in the order of `pins`. Undefined if the Python or a package is missing.
 */
function installedVersions(python) {
  const names = JSON.stringify(Object.keys(pins));
  const script = `from importlib.metadata import version; print(*map(version, ${names}))`;
  const { status, stdout } = spawnSync(python, ['-c', script], { encoding: 'utf8' });
  return status === 0 ? stdout.trim().split(' ') : undefined;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) ensurePeer();
